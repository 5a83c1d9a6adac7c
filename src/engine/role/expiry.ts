// Records the expiry of claims, threads, guests and unverified webhooks, and the time while the
// system clock is behind; and forgets registrations (forum/identities/registrations.ts). Timers
// start the work. If there is much to record, each event-loop iteration records a part.

import { recordDueClaims } from '../../forum/claims/commands.ts'
import type { Forum } from '../../forum/forum.ts'
import { expireGuests } from '../../forum/identities/commands.ts'
import { ThreadExpiry } from '../../forum/threads/expiry.ts'
import { sweepWebhooks } from '../../forum/webhooks/commands.ts'
import { keepTime } from '../../forum/write.ts'

const checkMs = 60_000

/** Records the first part at once; returns a function that stops the recording. */
export function startExpiry(forum: Forum): () => void {
  let next: NodeJS.Immediate | null = null
  const work = () => {
    const isMore = [expireGuests(forum), sweepWebhooks(forum)].includes(true)
    next = isMore ? setImmediate(work) : null
  }
  work()
  const timer = setInterval(() => {
    keepTime(forum)
    forum.registrations.expire()
    next ?? work()
  }, checkMs)
  const workOnClaims = () => {
    claims = setTimeout(workOnClaims, recordDueClaims(forum))
  }
  let claims: NodeJS.Timeout
  workOnClaims()
  const expiry = new ThreadExpiry(forum)
  const workOnThreads = () => {
    threads = setTimeout(workOnThreads, expiry.turn())
  }
  let threads: NodeJS.Timeout
  workOnThreads()
  return () => {
    clearInterval(timer)
    clearTimeout(claims)
    clearTimeout(threads)
    forum.registrations.expire(0)
    clearImmediate(next ?? undefined)
  }
}
