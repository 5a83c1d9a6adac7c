// The effects of operators' acts on the model.

import assert from 'node:assert/strict'
import type { ForumRecord } from '../../src/forum/records.ts'
import { endClaim } from './claim-model.ts'
import type { ActInEffect, Agent, Message, Thread } from './model-types.ts'

interface Subjects {
  readonly acts: ActInEffect[]
  readonly agents: readonly Agent[]
  readonly threads: readonly Thread[]
  readonly messages: ReadonlyMap<string, Message>
  erasedPosition: number
  readonly webhooks: { skipTo(owner: Agent, position: number): void }
}

type Act = Extract<
  ForumRecord,
  { type: 'message.erased' | `thread.${'' | 'un'}locked` | `identity.${'' | 'un'}blocked` }
>

/** Applies the record of an act, which must change something. */
export function moderate(of: Subjects, position: number, record: Act): void {
  switch (record.type) {
    case 'message.erased': {
      const message = [...of.messages.values()][record.message]
      assert.ok(!message.isErased, 'a message is erased once')
      message.isErased = true
      message.thread.moderated = position
      of.erasedPosition = position
      of.acts.push({ kind: 'removed', id: message.id, position, at: record.at })
      return
    }
    case 'thread.locked':
    case 'thread.unlocked': {
      const thread = of.threads[record.thread]
      const isLocked = record.type === 'thread.locked'
      assert.equal(thread.isLocked, !isLocked, 'a thread is not locked twice')
      thread.isLocked = isLocked
      thread.moderated = position
      if (!isLocked) return forget(of, 'locked', thread.id)
      of.acts.push({ kind: 'locked', id: thread.id, position, at: record.at })
      return
    }
    case 'identity.blocked':
    case 'identity.unblocked': {
      const agent = of.agents[record.identity]
      const isBlocked = record.type === 'identity.blocked'
      assert.equal(agent.isBlocked, !isBlocked, 'an identity is not blocked twice')
      agent.isBlocked = isBlocked
      if (!isBlocked) {
        of.webhooks.skipTo(agent, position)
        return forget(of, 'blocked', agent.id)
      }
      agent.blocked = position
      for (const thread of of.threads) {
        if (thread.claim?.holder === agent) endClaim(thread, position)
      }
      of.acts.push({ kind: 'blocked', id: agent.id, position, at: record.at })
    }
  }
}

/** Applies the record with which the author of a thread changes its tags. */
export function tag(
  thread: Thread,
  author: Agent,
  position: number,
  { tags }: { tags: readonly string[] },
): void {
  assert.equal(thread.author, author)
  assert.ok(!thread.isLocked)
  thread.tags = tags
  thread.moderated = position
}

/** The act is no longer in effect, if it was. */
export function forget({ acts }: Subjects, kind: ActInEffect['kind'], id: string): void {
  const index = acts.findIndex((act) => act.kind === kind && act.id === id)
  if (index !== -1) acts.splice(index, 1)
}
