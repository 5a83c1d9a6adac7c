// What identities follow, and how far they have read, in an archive (forum/archive.ts).

import { partition } from '../../base/partition.ts'
import { tagName } from '../../edge/api/fields.ts'
import * as is from '../../edge/api/schema.ts'
import {
  BadLine,
  identityOf,
  lineKind,
  position,
  refuseBeyond,
  threadOf,
  twice,
} from '../archive-line.ts'
import type { State } from '../state.ts'
import { addSubscription, addTagSubscription } from './records.ts'

export const subscriptionLine = lineKind<{ identity_id: string; thread_id: string; since: number }>(
  {
    fields: is.object('subscription', {
      identity_id: is.identityId,
      thread_id: is.threadId,
      since: position,
    }),
    *lines({ state }) {
      const { identities, subscriptions, threads } = state
      for (const [identity, thread] of subscriptions.followed()) {
        if (threads.isExpired(thread)) continue
        const since = sinceOf(state, identity, thread)
        yield renderSubscription(identities.id(identity), threads.id(thread), since)
      }
    },
    add({ state }, { identity_id, thread_id, since }) {
      const [identity, thread] = [identityOf(state, identity_id), threadOf(state, thread_id)]
      refuseBeyond(since, state)
      const mayFollow = state.subscriptions.mayFollow(identity, thread)
      if (!mayFollow || !state.maySee(identity, thread)) {
        throw new BadLine(`${identity_id} cannot follow ${thread_id}`)
      }
      addSubscription(state, identity, thread, since)
      return renderSubscription(identity_id, thread_id, sinceOf(state, identity, thread))
    },
  },
)

function renderSubscription(identityId: string, threadId: string, since: number): string {
  const ids = `"identity_id":"${identityId}","thread_id":"${threadId}"`
  return `{"subscription":{${ids},"since":${since}}}`
}

function sinceOf({ subscriptions }: State, identity: number, thread: number): number {
  return subscriptions.changedAt(identity, thread)
}

/** `since`: the position of the newest thread at that time, or 0 if there was none. */
export const tagSubscriptionLine = lineKind<{ identity_id: string; tag: string; since: number }>({
  fields: is.object('tag_subscription', {
    identity_id: is.identityId,
    tag: tagName,
    since: { type: 'integer', minimum: 0 },
  }),
  *lines({ state }) {
    const { identities, feeds, tags } = state
    for (let identity = 0; identity < identities.count; identity++) {
      const id = identities.id(identity)
      for (const { tag, from } of feeds.tagsOf(identity)) {
        yield renderTagSubscription(id, tags.name(tag), newestBefore(state, from))
      }
    }
  },
  add({ state }, { identity_id, tag, since }) {
    const { feeds, tags, threads, position } = state
    const identity = identityOf(state, identity_id)
    refuseBeyond(since, state)
    if (feeds.followsTag(identity, tags.find(tag))) throw twice(`${tag} of ${identity_id}`)
    if (!feeds.actors.may(identity, { type: 'tagFollowed', position })) {
      throw new BadLine(`${identity_id} cannot follow the tag ${tag}`)
    }
    const { firstPosition } = threads.actors.columns
    const from = partition(threads.count, (thread) => firstPosition.get(thread) <= since)
    addTagSubscription(state, identity, { tag, from }, position)
    return renderTagSubscription(identity_id, tag, newestBefore(state, from))
  },
})

function renderTagSubscription(identityId: string, tag: string, since: number): string {
  const fields = `"identity_id":"${identityId}","tag":"${tag}","since":${since}`
  return `{"tag_subscription":{${fields}}}`
}

/** Returns the position of the last thread before the one with this number, or 0. */
function newestBefore({ threads }: State, thread: number): number {
  let before = thread - 1
  while (before >= 0 && threads.isExpired(before)) before -= 1
  return before < 0 ? 0 : threads.actors.columns.firstPosition.get(before)
}

export const readLine = lineKind<{ identity_id: string; through: number }>({
  fields: is.object('read', { identity_id: is.identityId, through: position }),
  *lines({ state }) {
    for (let identity = 0; identity < state.identities.count; identity++) {
      if (state.feeds.actors.columns.readThrough.get(identity) > 0)
        yield renderRead(state, identity)
    }
  },
  add({ state }, { identity_id, through }) {
    const identity = identityOf(state, identity_id)
    const event = { type: 'read', position: state.position, through } as const
    refuseBeyond(through, state)
    if (!state.feeds.actors.may(identity, event)) throw twice(`the place of ${identity_id}`)
    state.feeds.actors.tell(identity, event)
    return renderRead(state, identity)
  },
})

function renderRead({ identities, feeds }: State, identity: number): string {
  const through = feeds.actors.columns.readThrough.get(identity)
  return `{"read":{"identity_id":"${identities.id(identity)}","through":${through}}}`
}
