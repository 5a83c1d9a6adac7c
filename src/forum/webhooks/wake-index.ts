// Maps each thread to the followers that may have to be woken for its messages: those who have an
// active webhook.
//
// K1. A message costs one look-up (forum/webhooks/due-webhooks.ts). Threads without such followers
//     are not in the index.
// K2. An identity is listed under a thread exactly while it follows the thread and its webhook is
//     active.

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
