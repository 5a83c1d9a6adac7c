// Who waits until the log is synced up to a position.

interface Waiter {
  position: number
  resolve: () => void
  reject: (error: Error) => void
}

export class Waiters {
  #waiters: Waiter[] = []

  get count(): number {
    return this.#waiters.length
  }

  add(position: number): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ position, resolve, reject }))
  }

  /** The log is synced up to here. */
  advance(synced: number): void {
    if (this.#waiters.length === 0) return
    for (const { position, resolve } of this.#waiters) if (position <= synced) resolve()
    this.#waiters = this.#waiters.filter(({ position }) => position > synced)
  }

  /** It never will be. */
  fail(error: Error): void {
    for (const { reject } of this.#waiters) reject(error)
    this.#waiters = []
  }
}
