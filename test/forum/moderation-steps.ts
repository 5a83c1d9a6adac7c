// The acts of operators in a program (program.ts), run on the forum and on the model, and compared.

import assert from 'node:assert/strict'
import type { Forum } from '../../src/forum/forum.ts'
import { isRejection } from '../../src/forum/forum.ts'
import {
  blockIdentity,
  eraseMessage,
  lockThread,
  type Moderated,
  type ModerationOutcome,
  unblockIdentity,
  unlockThread,
} from '../../src/forum/moderation.ts'
import type { Model, ModelAct, ModelAgent, ModelThread } from './model.ts'
import { lastChange } from './pages.ts'

const reason = 'a test'
const absent = '0'.repeat(32)

interface Both {
  forum: Forum
  model: Model
}

/** Removes a message of a thread (undefined: an absent one). Returns the name of the outcome. */
export function erase(both: Both, thread: ModelThread | undefined, pick: number): string {
  const { forum, model } = both
  const message = thread?.messages[pick % thread.messages.length]
  const outcome = eraseMessage(forum, { id: message?.id ?? `msg_${absent}`, reason })
  assert.ok(!(outcome instanceof Promise), 'there are few messages')
  if (message === undefined) return rejected(outcome, 'not_found')
  const isNew = !message.isErased
  if (isNew && forum.state.text.isFrozen && model.health === 'ok') {
    return rejected(outcome, 'overloaded')
  }
  if (isNew && model.health !== 'ok') return rejected(outcome, model.health)
  if (isNew) model.erase(thread!, message)
  check(both, outcome, { isNew, position: lastChange(thread!) })
  return isNew ? 'erased, once' : 'erased, twice'
}

/** Locks or unlocks a thread (undefined: an absent one). Returns the name of the outcome. */
export function setLocked(both: Both, thread: ModelThread | undefined, isLocked: boolean): string {
  const { forum, model } = both
  const command = isLocked ? lockThread : unlockThread
  const outcome = command(forum, { id: thread?.id ?? `thr_${absent}`, reason })
  if (thread === undefined) return rejected(outcome, 'not_found')
  const isNew = thread.isLocked !== isLocked
  if (isNew && model.health !== 'ok') return rejected(outcome, model.health)
  if (isNew) model.setLocked(thread, isLocked)
  check(both, outcome, { isNew, position: lastChange(thread) })
  return `${isLocked ? 'locked' : 'unlocked'}, ${isNew ? 'once' : 'twice'}`
}

/** Blocks or unblocks an identity. Returns the name of the outcome. */
export function setBlocked(both: Both, agent: ModelAgent, isBlocked: boolean): string {
  const { forum, model } = both
  const command = isBlocked ? blockIdentity : unblockIdentity
  const outcome = command(forum, { id: agent.id, reason })
  if (isBlocked && agent.isRecordedExpired) return rejected(outcome, 'not_found')
  const isNew = agent.isBlocked !== isBlocked
  if (isNew && model.health !== 'ok') return rejected(outcome, model.health)
  if (isNew) model.setBlocked(agent, isBlocked)
  check(both, outcome, { isNew, position: model.position })
  return `${isBlocked ? 'blocked' : 'unblocked'}, ${isNew ? 'once' : 'twice'}`
}

function rejected(outcome: ModerationOutcome, expected: string): string {
  assert.ok(isRejection(outcome))
  assert.equal(outcome.rejected, expected)
  return expected
}

function check(
  { forum, model }: Both,
  outcome: ModerationOutcome,
  expected: Omit<Moderated, 'act'>,
): void {
  assert.ok(!isRejection(outcome), JSON.stringify(outcome))
  const { act, ...rest } = outcome
  assert.deepEqual(rest, expected)
  assert.ok(act === null || forum.state.moderation.find(act.kind, act.subject) === act)
  checkActs({ forum, model })
}

/** Compares the acts in effect with those of the model. */
export function checkActs({ forum, model }: Both): void {
  const { moderation, threads, messages, identities } = forum.state
  const idOf = {
    locked: (thread: number) => threads.id(thread),
    removed: (message: number) => `msg_${messages.id(message)}`,
    blocked: (identity: number) => identities.id(identity),
  }
  const acts = moderation.page(0, Number.POSITIVE_INFINITY).map((act): ModelAct => {
    const { kind, subject, position, at } = act
    assert.equal(act.reason, reason)
    return { kind, id: idOf[kind](subject), position, at }
  })
  assert.deepEqual(acts, model.acts)
}
