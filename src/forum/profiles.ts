// Who is who: an identity by its id, by its token, or by the beginning of its name. Whoever has
// published nothing public is found by its id alone.
//
// Q1. `position` covers what is shown (reads.ts): the last change to what an identity follows is
//     not before its creation.

import type { IdentityKind } from '../actors/identity.ts'
import type { Forum, Positioned, Rejection } from './forum.ts'
import { nameOf } from './name-index.ts'

export interface Profile extends Positioned {
  id: string
  kind: IdentityKind
  displayName: string
  createdAt: number
  expiresAt: number | null
}

export interface PublicProfile extends Profile {
  publicMessages: number
  lastPublicMessageAt: number | null
}

export interface NamesRead {
  caller: number
  /** The beginning of the names. */
  name: string
  /** The id of the last identity of the page before. */
  after?: string
  limit: number
}

export interface ProfilePage extends Positioned {
  profiles: PublicProfile[]
  hasMore: boolean
}

/** A connection whose work ends with it. */
interface Connection {
  readonly isGone: boolean
}

/** What is known of an identity that has a number. */
export function profileOf({ state }: Forum, identity: number): Profile {
  const { identities, feeds } = state
  const { createdAt, expiresAt } = identities.actors.columns
  return {
    position: feeds.actors.columns.changedPosition.get(identity),
    id: identities.id(identity),
    kind: identities.kind(identity),
    displayName: nameOf(state, identity),
    createdAt: createdAt.get(identity),
    expiresAt: expiresAt.get(identity) || null,
  }
}

/** The identity with this id; a promise where its messages have yet to be looked for. */
export function readProfile(
  forum: Forum,
  { caller, id }: { caller: number; id: string },
  connection: Connection,
): PublicProfile | Rejection | Promise<PublicProfile | Rejection> {
  const { state, publishers } = forum
  const identity = state.identities.findNamed(id)
  if (identity === -1) return { rejected: 'not_found' }
  const read = () => publicProfileOf(forum, identity)
  return whenKnown(forum, caller, connection, (isFirst) => publishers.catchUp(isFirst), read)
}

/** Those who have published something public and whose names begin so, in the order of names. */
export function findProfiles(
  forum: Forum,
  { caller, name, after, limit }: NamesRead,
  connection: Connection,
): ProfilePage | Rejection | Promise<ProfilePage | Rejection> {
  const { state, publishers } = forum
  const last = after === undefined ? null : state.identities.findNamed(after)
  if (last === -1) return { rejected: 'invalid_cursor' }
  const read = () => {
    const found = publishers.find(name, last, limit + 1)
    const profiles = found.slice(0, limit).map((identity) => publicProfileOf(forum, identity))
    const position = Math.max(0, ...profiles.map((profile) => profile.position))
    return { position, profiles, hasMore: found.length > limit }
  }
  const catchUp = (isFirst: boolean) => publishers.catchUpWithNames(isFirst)
  return whenKnown(forum, caller, connection, catchUp, read)
}

function publicProfileOf(forum: Forum, identity: number): PublicProfile {
  const { messages } = forum.state
  const { count, newest } = forum.publishers.countOf(identity)
  const { position, ...profile } = profileOf(forum, identity)
  return {
    ...profile,
    position: newest === -1 ? position : Math.max(position, messages.seq(newest)),
    publicMessages: count,
    lastPublicMessageAt: newest === -1 ? null : messages.createdAt(newest),
  }
}

/** Reads when everything is known, in one step or in slices (sliced-work.ts). */
function whenKnown<T extends object>(
  { slicedWork }: Forum,
  caller: number,
  connection: Connection,
  catchUp: (isFirst: boolean) => boolean,
  read: () => T,
): T | Promise<T | Rejection> {
  if (catchUp(true)) return read()
  return slicedWork.add<T | Rejection>(caller, () => {
    if (connection.isGone) return { rejected: 'overloaded' } // which nobody receives
    return catchUp(false) ? read() : null
  })
}
