// The samples that the page has received: it requests only new ones, and forgets any that are older
// than ten minutes.
//
// H1. All columns are as long as `at`. Where a column was left out, it has the value
//     `emptyOf(name)`.
// H2. The numbers of the samples have no gap. After a gap, or with another process, the history
//     begins anew.

import { emptyOf, type Series, samplesMax } from './status.ts'

export class History {
  /** When each sample was taken, in seconds after the start of the node. */
  at: number[] = []
  /** The number of the newest sample. */
  last = 0
  #columns = new Map<string, (number | null)[]>()

  /** Appends the samples that follow the newest one. */
  add({ first, last, at, columns }: Series): void {
    if (first !== this.last + 1) this.clear()
    for (const name of Object.keys(columns)) {
      if (!this.#columns.has(name))
        this.#columns.set(
          name,
          this.at.map(() => emptyOf(name)),
        )
    }
    this.at = newest([...this.at, ...at])
    for (const [name, before] of this.#columns) {
      const more = columns[name] ?? at.map(() => emptyOf(name))
      this.#columns.set(name, newest([...before, ...more]))
    }
    this.last = last
  }

  /** Returns the values of a column, one for each sample. */
  column(name: string): (number | null)[] {
    return this.#columns.get(name) ?? this.at.map(() => emptyOf(name))
  }

  clear(): void {
    this.at = []
    this.last = 0
    this.#columns.clear()
  }
}

function newest<T>(values: T[]): T[] {
  return values.slice(-samplesMax)
}
