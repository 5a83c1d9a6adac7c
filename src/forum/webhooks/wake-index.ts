// Maps the topic of each thread and tag (kernel/topics.ts) to the followers that may have to be
// woken for its news: those who have an active webhook.
//
// K1. A message costs one look-up, and as many more as its thread has tags if it begins the thread
//     (forum/webhooks/due-webhooks.ts). Topics without such followers are not in the index.
// K2. An identity is listed under a topic exactly while it follows the thread or tag and its
//     webhook is active.

const nobody: ReadonlySet<number> = new Set()

export class WakeIndex {
  readonly #byTopic = new Map<number, Set<number>>()

  add(topic: number, identity: number): void {
    const identities = this.#byTopic.get(topic)
    if (identities === undefined) this.#byTopic.set(topic, new Set([identity]))
    else identities.add(identity)
  }

  delete(topic: number, identity: number): void {
    const identities = this.#byTopic.get(topic)
    if (identities === undefined) return
    identities.delete(identity)
    if (identities.size === 0) this.#byTopic.delete(topic)
  }

  of(topic: number): ReadonlySet<number> {
    return this.#byTopic.get(topic) ?? nobody
  }
}
