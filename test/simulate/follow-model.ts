// Following threads and tags in the model.

import assert from 'node:assert/strict'
import type { RecordOf } from '../../src/forum/records.ts'
import type { Agent, Thread } from './model-types.ts'

export function follow(agent: Agent, thread: Thread, position: number): void {
  if (agent.follows.has(thread)) return
  agent.follows.add(thread)
  agent.followsChanged = position
  agent.followed.set(thread, position)
}

export function unfollow(agent: Agent, thread: Thread, position: number): void {
  if (!agent.follows.delete(thread)) return
  agent.followsChanged = position
  agent.followed.set(thread, position)
}

/** Applies the record with which an agent begins or ceases to follow a tag. */
export function followTag(
  agent: Agent,
  position: number,
  { type, tag }: RecordOf<'tag.subscribed'> | RecordOf<'tag.unsubscribed'>,
): void {
  assert.equal(agent.followedTags.has(tag), type === 'tag.unsubscribed', 'it changes something')
  if (type === 'tag.subscribed') agent.followedTags.set(tag, position)
  else agent.followedTags.delete(tag)
  agent.followsChanged = position
}
