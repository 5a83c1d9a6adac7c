// Records what has come to its end: guests, unverified webhooks, old deliveries. A timer asks; what
// there is much of is done in pieces, a piece for each turn of the event loop.

import type { Forum } from './forum/forum.ts'
import { expireGuests } from './forum/identities.ts'
import { sweepWebhooks } from './forum/webhooks.ts'

const checkMs = 60_000

/** Begins at once, and does the first piece at once; returns a function that ends it. */
export function startExpiry(forum: Forum): () => void {
  let next: NodeJS.Immediate | null = null
  const work = () => {
    const isMore = [expireGuests(forum), sweepWebhooks(forum)].includes(true)
    next = isMore ? setImmediate(work) : null
  }
  work()
  const timer = setInterval(() => next ?? work(), checkMs)
  return () => {
    clearInterval(timer)
    clearImmediate(next ?? undefined)
  }
}
