// Rows of plain objects, saved one by one while the objects go on changing.
//
//   freeze ──▶ next, next, …, null ──▶ thaw       each object there was at `freeze`, once, as it
//                                                 was then, in no particular order
//
// R1. Who changes or removes an object calls `touch` before: it is packed then, if it still has to
//     be. Who adds one calls `add`.

import type { RowSource } from '../../wal/checkpoint/paged-store.ts'

export class RowSnapshot<T extends object> implements RowSource {
  readonly #all: () => Iterator<T>
  readonly #rowOf: (object: T) => unknown
  #iterator: Iterator<T> | null = null
  /** Those that are packed, or were not there when it was frozen. */
  #passed = new WeakSet<T>()
  #waiting: unknown[] = []
  #filled: unknown[] = []

  /**
   * An iterator of `all` bears that objects come, at its end, and go. What `rowOf` gives shares
   * nothing that changes with the object.
   */
  constructor(all: () => Iterator<T>, rowOf: (object: T) => unknown) {
    this.#all = all
    this.#rowOf = rowOf
  }

  /** The object is about to change, or to go. */
  touch(object: T): void {
    if (this.#iterator === null || this.#passed.has(object)) return
    this.#passed.add(object)
    this.#waiting.push(this.#rowOf(object))
  }

  /** The object is new. */
  add(object: T): void {
    if (this.#iterator !== null) this.#passed.add(object)
  }

  freeze(): void {
    this.#iterator = this.#all()
  }

  next(): unknown {
    if (this.#waiting.length > 0) return this.#waiting.pop()
    for (let next = this.#iterator!.next(); !next.done; next = this.#iterator!.next()) {
      if (this.#passed.has(next.value)) continue
      this.#passed.add(next.value)
      return this.#rowOf(next.value)
    }
    return null
  }

  thaw(): void {
    this.#iterator = null
    this.#passed = new WeakSet()
    this.#waiting = []
  }

  fill(rows: unknown[]): void {
    this.#filled = rows
  }

  /** The rows of a checkpoint, for whoever makes objects of them. */
  takeFilled(): unknown[] {
    return this.#filled.splice(0)
  }
}
