// Records what has expired: guests, unverified webhooks, old deliveries; and the time, while the
// system clock is behind. A timer starts it. Where there is much to record, each iteration of the
// event loop records a piece.

import { keepTime } from '../forum/expiry.ts'
import type { Forum } from '../forum/forum.ts'
import { expireGuests } from '../forum/identities.ts'
import { sweepWebhooks } from '../forum/webhooks.ts'

const checkMs = 60_000

/** Begins at once, and does the first piece at once; returns a function that ends it. */
export function startExpiry(forum: Forum): () => void {
  let next: NodeJS.Immediate | null = null
  const work = () => {
    const isMore = [expireGuests(forum), sweepWebhooks(forum)].includes(true)
    next = isMore ? setImmediate(work) : null
  }
  work()
  const timer = setInterval(() => {
    keepTime(forum)
    next ?? work()
  }, checkMs)
  return () => {
    clearInterval(timer)
    clearImmediate(next ?? undefined)
  }
}
