// A column: one number per row, typed, outside the JS heap, for millions of rows.
//
//   chunks   [ 0 … 65,535 ] [ 65,536 … 131,071 ] [ 131,072 …
//              row i is chunks[i >>> 16][i & 0xffff]
//
// N1. Growth adds a chunk and copies nothing: a push costs the same at any size.
// N2. Rows are 0 … length - 1; no other row is read or written.
// N3. A column stores exactly what it is given, or throws: no wrapping, no rounding.
//
// Neighbours: tables are made of columns; a checkpoint copies whole chunks.

type Chunk = Uint8Array | Uint16Array | Uint32Array | Float64Array

export const chunkRows = 65_536

/** A growing column of numbers; its four kinds differ only in what one entry can hold. */
export abstract class Column {
  readonly #chunks: Chunk[] = []
  #length = 0

  /** One zeroed chunk of `chunkRows` entries. */
  protected abstract newChunk(): Chunk

  /** Rows pushed so far. */
  get length(): number {
    return this.#length
  }

  /** The chunks in row order, each of `chunkRows` entries; the last one is zero past `length`. */
  get chunks(): readonly Chunk[] {
    return this.#chunks
  }

  /** The value of row `i`; throws RangeError when there is no such row. */
  get(i: number): number {
    if (!(i >= 0 && i < this.#length)) throw noRow(i, this.#length)
    return this.#chunks[i >>> 16][i & 0xffff]
  }

  /** Replaces row `i`; throws RangeError when there is no such row, or it cannot hold `value`. */
  set(i: number, value: number): void {
    if (!(i >= 0 && i < this.#length)) throw noRow(i, this.#length)
    const chunk = this.#chunks[i >>> 16]
    const before = chunk[i & 0xffff]
    chunk[i & 0xffff] = value
    if (chunk[i & 0xffff] === value) return
    chunk[i & 0xffff] = before
    throw noRoom(value, this)
  }

  /** Adds a row and returns its number; throws RangeError when the column cannot hold `value`. */
  push(value: number): number {
    const i = this.#length
    if (i >>> 16 === this.#chunks.length) this.#chunks.push(this.newChunk())
    const chunk = this.#chunks[i >>> 16]
    chunk[i & 0xffff] = value
    if (chunk[i & 0xffff] !== value) {
      chunk[i & 0xffff] = 0
      throw noRoom(value, this)
    }
    this.#length = i + 1
    return i
  }
}

/** Whole numbers 0 … 255. */
export class Uint8Column extends Column {
  protected newChunk(): Chunk {
    return new Uint8Array(chunkRows)
  }
}

/** Whole numbers 0 … 65,535. */
export class Uint16Column extends Column {
  protected newChunk(): Chunk {
    return new Uint16Array(chunkRows)
  }
}

/** Whole numbers 0 … 2^32 - 1. */
export class Uint32Column extends Column {
  protected newChunk(): Chunk {
    return new Uint32Array(chunkRows)
  }
}

/** Any number but NaN; exact for whole numbers up to 2^53 - 1: positions and times. */
export class Float64Column extends Column {
  protected newChunk(): Chunk {
    return new Float64Array(chunkRows)
  }
}

function noRow(i: number, length: number): RangeError {
  return new RangeError(`row ${i} of a column of ${length} rows`)
}

function noRoom(value: number, column: Column): RangeError {
  return new RangeError(`${value} does not fit in a ${column.constructor.name}`)
}
