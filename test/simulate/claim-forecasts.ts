// The outcomes that the model predicts for claims, as in docs/interface.md, "Claims".

import { detailsOf } from '../../src/kernel/receipts.ts'
import { type Expected, type ExpectedWrite, type Forecast, refused } from './asking.ts'
import { grantedJson } from './claim-model.ts'
import { absent, writing } from './forecasting.ts'
import type { Model } from './model.ts'
import type { Agent, Thread } from './model-types.ts'
import * as pages from './pages.ts'

interface At {
  model: Model
  /** The time that a record must have if it is made now. */
  at: number
}

/** The body of a request to claim a thread, and the thread. */
export interface Claiming {
  threadId: string
  seconds: number
  fence?: number | undefined
}

export function claiming(now: At, agent: Agent, key: string, wanted: Claiming): Forecast {
  const { model, at } = now
  const { threadId, seconds, fence } = wanted
  const thread = model.visible(agent, threadId)
  if (thread === undefined) return absent(model, threadId)
  const details = detailsOf({ threadId, seconds, fence })
  const use = agent.uses.get(key)
  if (use !== undefined) {
    const isSame = 'granted' in use.made && use.request === JSON.stringify(['claim', details])
    if (!isSame) return refused('idempotency_conflict', use.position)
    const { granted } = use.made as { granted: object }
    const body = JSON.stringify({ ...granted, replayed: true })
    return { status: 200, body, newest: use.position }
  }
  if (thread.isLocked) return refused('thread_locked', pages.lastChange(thread))
  const lost = fence === undefined ? null : lostClaim(now, agent, thread, fence)
  if (lost !== null) return lost
  const { claim } = thread
  const isHeld = claim !== null && at < claim.expiresAt
  if (isHeld && claim.holder !== agent) return refused('claimed', pages.lastChange(thread))
  const ends = at + seconds * 1000
  const expiresAt = agent.expiresAt === 0 ? ends : Math.min(ends, agent.expiresAt)
  const fields = { by: agent.number, thread: thread.number, expiresAt, key, details }
  return writing(now, 'thread.claimed', fields, () => {
    return { status: 201, body: JSON.stringify(grantedJson(thread)) }
  })
}

export function releasing(now: At, agent: Agent, threadId: string): Forecast {
  const thread = now.model.visible(agent, threadId)
  if (thread === undefined) return absent(now.model, threadId)
  const { claim } = thread
  const answer = { status: 200, body: JSON.stringify({ thread_id: threadId, claimed: false }) }
  if (claim === null) return { ...answer, newest: pages.lastChange(thread) }
  if (now.at >= claim.expiresAt) return expiring(now, answer)
  if (claim.holder !== agent) return refused('not_holder', pages.lastChange(thread))
  const fields = { by: agent.number, thread: thread.number }
  return writing(now, 'claim.released', fields, () => answer)
}

/** Returns the refusal of a request that needs this claim of the thread, or null. */
export function lostClaim(now: At, agent: Agent, thread: Thread, fence: number): Forecast | null {
  const { claim } = thread
  if (claim === null || claim.holder !== agent || claim.fence !== fence) {
    return refused('claim_lost', pages.lastChange(thread))
  }
  if (now.at < claim.expiresAt) return null
  return expiring(now, refused('claim_lost'))
}

/** Returns the forecast of a record that keeps time, at which claims expire, and this answer. */
function expiring(now: At, answer: Omit<Expected, 'newest'>): ExpectedWrite {
  const { guestsExpired: before } = now.model
  return writing(now, 'guests.expired', { before }, () => answer)
}
