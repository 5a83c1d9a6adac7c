// Promises that resolve when the log is synced up to a position. Positions only grow, so they are
// resolved in the order in which they were added.

import { Queue } from '../../src/base/queue.ts'

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

  /** Resolves the promises for positions up to `synced`. */
  advance(synced: number): void {
    const waiters = this.#waiters
    while (waiters.length > 0 && waiters.first.position <= synced) waiters.shift().resolve()
  }

  /** Rejects all promises. */
  fail(error: Error): void {
    while (this.#waiters.length > 0) this.#waiters.shift().reject(error)
  }
}
