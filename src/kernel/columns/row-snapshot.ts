// A snapshot of many plain objects, saved row by row while the objects continue to change.
//
//   freeze ──▶ next, next, …, null ──▶ thaw       each object that existed at `freeze`, once, in
//                                                 its state at that time, in no defined order
//
// R1. `touch` must be called before an object is changed or removed: it makes the object's row,
//     unless `next` has returned that already. `add` must be called when an object is added.

import type { RowSource } from '../../../wal/checkpoint/paged-store.ts'

export class RowSnapshot<T extends object> implements RowSource {
  readonly #all: () => Iterator<T>
  readonly #rowOf: (object: T) => unknown
  #iterator: Iterator<T> | null = null
  /** Objects whose row has been made, or that did not exist at `freeze`. */
  #passed = new WeakSet<T>()
  #waiting: unknown[] = []
  #filled: unknown[] = []

  /**
   * The iterator of `all` must tolerate that objects are appended and removed meanwhile. Rows made
   * by `rowOf` must not share mutable data with the object.
   */
  constructor(all: () => Iterator<T>, rowOf: (object: T) => unknown) {
    this.#all = all
    this.#rowOf = rowOf
  }

  /** Must be called before the object is changed or removed. */
  touch(object: T): void {
    if (this.#iterator === null || this.#passed.has(object)) return
    this.#passed.add(object)
    this.#waiting.push(this.#rowOf(object))
  }

  /** Must be called for each new object. */
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

  /** Returns, once, the rows that were loaded from a checkpoint. */
  takeFilled(): unknown[] {
    return this.#filled.splice(0)
  }
}
