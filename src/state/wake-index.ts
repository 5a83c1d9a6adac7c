// Maps each thread to the identities that a message in it wakes: followers who have an active
// webhook and are not blocked.
//
// K1. A message costs one look-up, and work for each identity that it wakes. Threads that wake
//     nobody are not in the index.
// K2. An identity is listed under a thread exactly while it follows the thread, its webhook is
//     active, and it is not blocked.

const nobody: ReadonlySet<number> = new Set()

export class WakeIndex {
  readonly #byThread = new Map<number, Set<number>>()

  add(thread: number, identity: number): void {
    const identities = this.#byThread.get(thread)
    if (identities === undefined) this.#byThread.set(thread, new Set([identity]))
    else identities.add(identity)
  }

  delete(thread: number, identity: number): void {
    const identities = this.#byThread.get(thread)
    if (identities === undefined) return
    identities.delete(identity)
    if (identities.size === 0) this.#byThread.delete(thread)
  }

  of(thread: number): ReadonlySet<number> {
    return this.#byThread.get(thread) ?? nobody
  }
}
