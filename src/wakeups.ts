// Joins the forum, which knows who is to be woken, and delivery/, which knows how: each is handed
// what it needs of the other.

import type { Config } from './config.ts'
import { labResolve, publicResolve, refuseEndpoint } from './delivery/address.ts'
import { Challenger } from './delivery/challenge.ts'
import { Schedule } from './delivery/schedule.ts'
import { createSender, timeoutMs } from './delivery/send.ts'
import { beginAttempt, finishAttempt, nextDueAt, takeDue } from './forum/deliveries.ts'
import { type Forum, timeOf } from './forum/forum.ts'

export interface Wakeups {
  /** Why a webhook may not be at this URL, as a sentence, or null. */
  refuseUrl(url: string): string | null
  challenge: Challenger['ask']
  /** Sends again what a crash cut off, and what has become due meanwhile. */
  resume(): void
  /** Tells how far the log is durable. */
  onDurable(durable: number): void
  /** Sends nothing more; resolves when what was sent has come to its end, within 5 seconds. */
  stop(): Promise<void>
}

export function startWakeups(forum: Forum, config: Config, publicUrl: string): Wakeups {
  const { webhookAllowPrivate: allowPrivate, webhookCa: ca } = config
  const rules = { allowPrivate, ownHost: new URL(publicUrl).hostname }
  const resolve = allowPrivate ? labResolve : publicResolve(timeoutMs)
  const send = createSender({ rules, resolve, ca, clock: forum.stamps.clock })
  const challenger = new Challenger(send)
  const inboxUrl = `${publicUrl}/api/notifications`
  const schedule = new Schedule(
    {
      now: () => timeOf(forum),
      nextDueAt: () => nextDueAt(forum),
      takeDue: () => takeDue(forum),
      begin: (webhook) => beginAttempt(forum, webhook, inboxUrl),
      finish: (attempt, sent) => finishAttempt(forum, attempt, sent),
    },
    send,
  )
  return {
    refuseUrl: (url) => refuseEndpoint(url, rules),
    challenge: (challenge) => challenger.ask(challenge),
    resume() {
      forum.state.webhooks.resume()
      schedule.poke()
    },
    onDurable: (durable) => schedule.onDurable(durable),
    async stop() {
      await Promise.all([schedule.stop(), challenger.settled()])
    },
  }
}
