// Numbers names that callers choose, such as the types of messages, in the order in which they
// first occur. Names are short and of ASCII characters, and are never removed.
//
//   bytes   q u e s t i o n b u g …
//   ends    8  11 …                    name 1 is bytes 8 to 10
//
// The map from names to numbers is on the JS heap, where a name takes about 100 bytes: honest
// callers use few, and others are limited by how often they may write.

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { Uint8Column, Uint32Column } from './column.ts'

/** The number of names in one step of `fillIndexes`. */
const stepNames = 4096

export class NameTable {
  readonly #bytes = new Uint8Column()
  readonly #ends = new Uint32Column()
  readonly #numbers = new Map<string, number>()

  get count(): number {
    return this.#ends.length
  }

  get stores(): Record<string, PagedStore> {
    return { bytes: this.#bytes, ends: this.#ends }
  }

  *fillIndexes(): Iterable<void> {
    for (let number = 0; number < this.count; number++) {
      this.#numbers.set(this.name(number), number)
      if (number % stepNames === 0) yield
    }
  }

  /** Returns the number of the name, or -1 if it has none. */
  find(name: string): number {
    return this.#numbers.get(name) ?? -1
  }

  /** Returns the number of the name, which is the next free one if it has none yet. */
  add(name: string): number {
    const known = this.find(name)
    if (known !== -1) return known
    for (let i = 0; i < name.length; i++) this.#bytes.push(name.charCodeAt(i))
    const number = this.#ends.push(this.#bytes.length)
    this.#numbers.set(name, number)
    return number
  }

  name(number: number): string {
    const codes: number[] = []
    const from = number === 0 ? 0 : this.#ends.get(number - 1)
    for (let i = from; i < this.#ends.get(number); i++) codes.push(this.#bytes.get(i))
    return String.fromCharCode(...codes)
  }
}
