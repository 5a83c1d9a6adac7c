// For each thread the identities that follow it and have an active webhook: whom a message wakes.
//
// K1. A message asks one map, and pays for those it wakes; a thread that wakes nobody is not in it.
// K2. An identity is under a thread exactly while it follows the thread and its webhook is active.

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
