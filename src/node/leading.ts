// What only the node that decides does: it admits writes, records what has expired, challenges the
// endpoints of webhooks, and sends wakeups. A node that follows another one does none of this until
// it takes over.

import type { Journal } from '../../wal/journal/journal.ts'
import type { Config } from '../config/config.ts'
import type { Send } from '../delivery/send.ts'
import { clearCaches, type Forum } from '../forum/forum.ts'
import type { Gate } from '../http/gate.ts'
import type { Load } from '../http/load.ts'
import { NodeAdmission } from './admission.ts'
import { startExpiry } from './expiry.ts'
import { startWakeups, type Wakeups } from './wakeups.ts'

interface LeadingParts {
  forum: Forum
  journal: Pick<Journal, 'durable'>
  gate: Gate
  load: Load
  config: Config
  publicUrl: string
  /** Posts to webhooks in place of the network. */
  send: Send | undefined
}

export interface Leading {
  wakeups: Wakeups
  /** Warnings for the operator, one sentence each. */
  readonly warnings: string[]
  /** To be called when the log has become durable up to this position. */
  onDurable(durable: number): void
  /** Records and sends nothing more; resolves when the attempts in flight have ended. */
  stop(): Promise<void>
}

/** Starts to lead, on a forum that has applied the whole log and can append to it. */
export function startLeading(parts: LeadingParts): Leading {
  const { forum, journal, gate, load, config, publicUrl, send } = parts
  const free = () => clearCaches(forum)
  const { memoryBytesMax } = config.nodeLimits
  const admission = new NodeAdmission({ load, gate, journal, memoryBytesMax, free })
  forum.admission = admission
  const unwatch = admission.start()
  const wakeups = startWakeups(forum, config, publicUrl, send)
  const stopExpiry = startExpiry(forum)
  wakeups.resume()
  return {
    wakeups,
    get warnings() {
      return admission.warnings
    },
    onDurable: (durable) => wakeups.onDurable(durable),
    async stop() {
      stopExpiry()
      unwatch()
      await wakeups.stop()
    },
  }
}
