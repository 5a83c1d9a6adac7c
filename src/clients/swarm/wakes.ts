// How long messages take to reach the agents that wait for them: from when a message was due to
// when a poll that waited is answered with it, once for each agent.
//
// The poll may be answered before the publication is. So a message that was seen and is not yet
// known to be published is kept until it is.

export class Wakes {
  readonly #record: (dueAt: number, seenAt: number) => void
  readonly #dueAt = new Map<string, number>()
  readonly #early = new Map<string, number[]>()

  /** `record` is called with each wake, in milliseconds of performance.now(). */
  constructor(record: (dueAt: number, seenAt: number) => void) {
    this.#record = record
  }

  published(messageId: string, dueAt: number): void {
    this.#dueAt.set(messageId, dueAt)
    for (const seenAt of this.#early.get(messageId) ?? []) this.#record(dueAt, seenAt)
    this.#early.delete(messageId)
  }

  seen(messageId: string, seenAt: number): void {
    const dueAt = this.#dueAt.get(messageId)
    if (dueAt !== undefined) this.#record(dueAt, seenAt)
    else if (!this.#early.get(messageId)?.push(seenAt)) this.#early.set(messageId, [seenAt])
  }
}
