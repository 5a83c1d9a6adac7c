// Profiles of identities, which are found by id, by token, or by a prefix of the name. By name,
// everybody finds those that have published something public. A caller with a token also finds
// those that are listed or, where operators decide who takes part, all that have a token
// (name-index.ts).
//
// Q1. `position` covers what is shown (forum/threads/queries.ts): the last change to what an
//     identity follows is not before its creation. The author of a message published by GET has no
//     feed, but is created with its message.

import { holderOf, nobody } from '../../kernel/network.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { nameOf, sortByName } from './name-index.ts'

export type Profile = ReturnType<typeof profileOf>

export interface PublicProfile extends Profile {
  publicMessages: number
  lastPublicMessageAt: number | null
}

interface Read {
  caller: number
  /** The caller's address, by which a caller without a token has a share of long reads. */
  client: string
}

export interface NamesRead extends Read {
  /** The prefix of the names. */
  name: string
  /** The id of the last identity on the previous page. */
  after?: string
  limit: number
  /** Whether a caller with a token finds everybody who has one. */
  hasEverybody: boolean
}

export interface ProfilePage extends Positioned {
  profiles: PublicProfile[]
  hasMore: boolean
}

/** A caller's connection; the work for it ends when it is gone. */
interface Connection {
  readonly isGone: boolean
}

export function profileOf({ state }: Forum, identity: number) {
  const { identities, feeds } = state
  const { createdAt, expiresAt } = identities.actors.columns
  return {
    position: feeds.actors.columns.changedPosition.get(identity),
    id: identities.id(identity),
    kind: identities.kind(identity),
    displayName: nameOf(state, identity),
    createdAt: createdAt.get(identity),
    expiresAt: expiresAt.get(identity) || null,
    listed: identities.isListed(identity),
  }
}

/** Returns the profile for this id, or a promise if many messages have yet to be examined. */
export function readProfile(
  forum: Forum,
  { id, ...read }: Read & { id: string },
  connection: Connection,
): PublicProfile | Rejection | Promise<PublicProfile | Rejection> {
  const { state, publishers } = forum
  const identity = state.identities.findNamed(id)
  if (identity === -1) return { rejected: 'not_found' }
  const profile = () => publicProfileOf(forum, identity)
  return whenKnown(forum, read, connection, (isFirst) => publishers.catchUp(isFirst), profile)
}

/** Finds identities by a prefix of their names, in the order of names. */
export function findProfiles(
  forum: Forum,
  { name, after, limit, hasEverybody, ...read }: NamesRead,
  connection: Connection,
): ProfilePage | Rejection | Promise<ProfilePage | Rejection> {
  const { state, publishers, listed } = forum
  const last = after === undefined ? null : state.identities.findNamed(after)
  if (last === -1) return { rejected: 'invalid_cursor' }
  const isNamed = read.caller !== nobody
  const withListed = (published: readonly number[]) => {
    const both = new Set([...published, ...listed.find(name, last, limit + 1)])
    return sortByName(state, both).slice(0, limit + 1)
  }
  const page = () => {
    const published = publishers.find(name, last, limit + 1)
    const found = isNamed ? withListed(published) : published
    const profiles = found.map((identity) => publicProfileOf(forum, identity))
    // The first one behind the page counts as well: `hasMore` shows it.
    const newest = Math.max(state.expiredPosition, isNamed ? listed.changedPosition : 0)
    const position = Math.max(newest, ...profiles.map((profile) => profile.position))
    return { position, profiles: profiles.slice(0, limit), hasMore: found.length > limit }
  }
  const catchUp = (isFirst: boolean) =>
    publishers.catchUpWithNames(isFirst) && (!isNamed || listed.catchUp(hasEverybody))
  return whenKnown(forum, read, connection, catchUp, page)
}

function publicProfileOf(forum: Forum, identity: number): PublicProfile {
  const { messages, expiredPosition } = forum.state
  const { count, newest } = forum.publishers.countOf(identity)
  const { position, ...profile } = profileOf(forum, identity)
  return {
    ...profile,
    position: Math.max(position, expiredPosition, newest === -1 ? 0 : messages.seq(newest)),
    publicMessages: count,
    lastPublicMessageAt: newest === -1 ? null : messages.createdAt(newest),
  }
}

/** Calls `found` after `catchUp` has finished, in one step or in slices (kernel/sliced-work.ts). */
function whenKnown<T extends object>(
  { slicedWork }: Forum,
  { caller, client }: Read,
  connection: Connection,
  catchUp: (isFirst: boolean) => boolean,
  found: () => T,
): T | Promise<T | Rejection> {
  if (catchUp(true)) return found()
  return slicedWork.add<T | Rejection>(holderOf(caller, client), () => {
    if (connection.isGone) return { rejected: 'overloaded' } // which nobody receives
    return catchUp(false) ? found() : null
  })
}
