// The acts of operators in a program (program.ts): each is a command on the forum, and what it
// changes in the model.

import assert from 'node:assert/strict'
import type { Forum } from '../../src/forum/forum.ts'
import * as commands from '../../src/forum/moderation/commands.ts'
import type { Model } from '../simulate/model.ts'
import type { ActInEffect, Agent, Thread } from '../simulate/model-types.ts'
import { lastChange } from '../simulate/pages.ts'

const reason = 'a test'
const absent = '0'.repeat(32)

interface Both {
  forum: Forum
  model: Model
}

interface Act {
  name: string
  isAbsent: boolean
  run(): commands.ModerationOutcome
  hasEffect(): boolean
  /** The position that the outcome shows. */
  changed(): number
}

/** Makes an act on a subject; undefined is an absent one. `pick` chooses among messages. */
type Make = (both: Both, subject: Agent | Thread | undefined, pick: number) => Act

export const moderation = {
  erase({ forum }, subject, pick) {
    const thread = subject as Thread | undefined
    const message = thread?.messages[pick % thread.messages.length]
    const isAbsent = message === undefined || message.thread.isExpired
    return {
      name: 'erased',
      isAbsent,
      run() {
        const outcome = commands.eraseMessage(forum, { id: message?.id ?? `msg_${absent}`, reason })
        assert.ok(!(outcome instanceof Promise), 'there are few messages')
        return outcome
      },
      hasEffect: () => message!.isErased,
      changed: () => lastChange(thread!),
    }
  },
  lock: (both, subject) => locking(both, subject as Thread | undefined, true),
  unlock: (both, subject) => locking(both, subject as Thread | undefined, false),
  block: (both, subject) => blocking(both, subject as Agent, true),
  unblock: (both, subject) => blocking(both, subject as Agent, false),
} satisfies Record<string, Make>

function locking({ forum }: Both, thread: Thread | undefined, isLocked: boolean): Act {
  const run = isLocked ? commands.lockThread : commands.unlockThread
  return {
    name: isLocked ? 'locked' : 'unlocked',
    isAbsent: thread === undefined || thread.isExpired,
    run: () => run(forum, { id: thread?.id ?? `thr_${absent}`, reason }),
    hasEffect: () => thread!.isLocked === isLocked,
    changed: () => lastChange(thread!),
  }
}

function blocking({ forum, model }: Both, agent: Agent, isBlocked: boolean): Act {
  const run = isBlocked ? commands.blockIdentity : commands.unblockIdentity
  return {
    name: isBlocked ? 'blocked' : 'unblocked',
    isAbsent: isBlocked && agent.isRecordedExpired,
    run: () => run(forum, { id: agent.id, reason }),
    hasEffect: () => agent.isBlocked === isBlocked,
    changed: () => model.position,
  }
}

/** Compares the acts in effect with those of the model. */
export function checkActs(forum: Forum, model: Model): void {
  const { moderation, threads, messages, identities } = forum.state
  const idOf = {
    locked: (thread: number) => threads.id(thread),
    removed: (message: number) => `msg_${messages.id(message)}`,
    blocked: (identity: number) => identities.id(identity),
  }
  const acts = moderation.page(0, Number.POSITIVE_INFINITY).map((act): ActInEffect => {
    const { kind, subject, position, at } = act
    assert.equal(act.reason, reason)
    return { kind, id: idOf[kind](subject), position, at }
  })
  assert.deepEqual(acts, model.acts)
}
