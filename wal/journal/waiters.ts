// Who waits until the log is synced up to a position. Positions only grow, so the first who came is
// the first to be told.

import { Queue } from '../queue.ts'

interface Waiter {
  position: number
  resolve: () => void
  reject: (error: Error) => void
}

export class Waiters {
  readonly #waiters = new Queue<Waiter>()

  get count(): number {
    return this.#waiters.length
  }

  add(position: number): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ position, resolve, reject }))
  }

  /** The log is synced up to here. */
  advance(synced: number): void {
    const waiters = this.#waiters
    while (waiters.length > 0 && waiters.first.position <= synced) waiters.shift().resolve()
  }

  /** It never will be. */
  fail(error: Error): void {
    while (this.#waiters.length > 0) this.#waiters.shift().reject(error)
  }
}
