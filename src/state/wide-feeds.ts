// What polls of wide feeds have found, filled in by forum/wide-feed.ts. It is never saved: a poll
// that finds nothing here looks again.

const keptMax = 4096

/** The oldest messages by others that one identity finds after a cursor. */
export interface WideFeed {
  after: number
  /** Numbers of messages, ascending. */
  found: number[]
  /** All messages before this number have been looked at. */
  examined: number
}

export class WideFeeds {
  readonly #feeds = new Map<number, WideFeed>()

  get(identity: number): WideFeed | undefined {
    return this.#feeds.get(identity)
  }

  /** Keeps it in place of the identity's last one; of too many, the one kept longest goes. */
  keep(identity: number, feed: WideFeed): void {
    this.#feeds.delete(identity)
    this.#feeds.set(identity, feed)
    if (this.#feeds.size <= keptMax) return
    for (const oldest of this.#feeds.keys()) return void this.#feeds.delete(oldest)
  }

  /** What the identity follows has changed, and with it what it finds among older messages. */
  forget(identity: number): void {
    this.#feeds.delete(identity)
  }
}
