// Connects the forum, which decides who is woken, with delivery/, which sends: neither imports the
// other.

import type { Config } from '../../config/config.ts'
import type { Forum } from '../../forum/forum.ts'
import {
  type AddressRules,
  labResolve,
  publicResolve,
  refuseEndpoint,
} from '../../forum/webhooks/address.ts'
import { Challenger } from '../../forum/webhooks/challenge.ts'
import { beginAttempt, finishAttempt, nextDueAt, takeDue } from '../../forum/webhooks/deliveries.ts'
import { Schedule } from '../../forum/webhooks/schedule.ts'
import { createSender, type Send, timeoutMs } from '../../forum/webhooks/send.ts'
import { timeOf } from '../../kernel/clock.ts'

export type WakeupConfig = Pick<Config, 'webhookAllowPrivate' | 'webhookCa'>

export interface Wakeups {
  /** Returns why a webhook may not have this URL, as a sentence, or null if it may. */
  refuseUrl(url: string): string | null
  challenge: Challenger['verify']
  /**
   * Sends the wakeups that a crash or a takeover interrupted, and those that have become due
   * meanwhile. Call it once, when the node begins to decide.
   */
  resume(): void
  /** Must be called when the log has become durable up to this position. */
  onDurable(durable: number): void
  /** Sends nothing more; resolves when the attempts in flight have ended, within 5 seconds. */
  stop(): Promise<void>
}

/** Starts to send wakeups; `send` replaces the network. */
export function startWakeups(
  forum: Forum,
  config: WakeupConfig,
  publicUrl: string,
  send: Send = networkSend(forum, config, publicUrl),
): Wakeups {
  const rules = rulesOf(config, publicUrl)
  const challenger = new Challenger(send)
  const schedule = new Schedule(
    {
      now: () => timeOf(forum),
      nextDueAt: () => nextDueAt(forum),
      takeDue: () => takeDue(forum),
      begin: (webhook) => beginAttempt(forum, webhook, inboxUrl(publicUrl)),
      finish: (attempt, sent) => finishAttempt(forum, attempt, sent),
    },
    send,
  )
  return {
    refuseUrl: (url) => refuseEndpoint(url, rules),
    challenge: (challenge) => challenger.verify(challenge),
    resume() {
      forum.dueWebhooks.resume()
      schedule.poke()
    },
    onDurable: (durable) => schedule.onDurable(durable),
    async stop() {
      await Promise.all([schedule.stop(), challenger.settled()])
    },
  }
}

/** The URL that a wakeup asks its receiver to poll. */
export function inboxUrl(publicUrl: string): string {
  return `${publicUrl}/api/notifications`
}

function rulesOf(
  { webhookAllowPrivate: allowPrivate }: WakeupConfig,
  publicUrl: string,
): AddressRules {
  return { allowPrivate, ownHost: new URL(publicUrl).hostname }
}

function networkSend({ stamps }: Forum, config: WakeupConfig, publicUrl: string): Send {
  const resolve = config.webhookAllowPrivate ? labResolve : publicResolve(timeoutMs)
  const rules = rulesOf(config, publicUrl)
  return createSender({ rules, resolve, ca: config.webhookCa, clock: () => stamps.clock.wall() })
}
