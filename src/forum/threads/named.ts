// `@name` in the text of a form mentions the only identity with this name that may read the thread.
// Where there is none, or several, the form is shown again and says so beside the text. Sent once
// more, it is published as it is.

import { folded, namesIn } from '../../base/names.ts'
import { findsEverybody } from '../../edge/api/access.ts'
import type { Service } from '../../edge/api/route.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import { type SignedCall, textOf } from '../../people/forms.ts'
import type { Problem } from '../../people/html/forms.ts'
import { nameOf } from '../identities/name-index.ts'
import { chosenMax, mentionable } from './choices.ts'

/** How many identities are examined for each name; those with exactly this name come first. */
const examinedMax = 50

export interface NamedIdentities {
  /** The ids of those that it names without doubt. */
  ids: string[]
  /** The other names, and the identities that have them. */
  doubtful: { name: string; candidates: number[] }[]
  /** The position that must be durable before these are shown. */
  position: number
}

/**
 * Finds the identities that the text of a form names, of those that may see the thread. Returns a
 * promise if the names have yet to be indexed; it resolves once they are.
 */
export function namedIn(
  service: Service,
  { body, session, client, connection }: SignedCall,
  maySee: (identity: number) => boolean,
): NamedIdentities | Rejection | Promise<unknown> {
  const { forum, commands, access } = service
  const { identities } = forum.state
  const caller = session.identity
  const hasEverybody = findsEverybody(access)
  const ownName = folded(nameOf(forum.state, caller))
  const named: NamedIdentities = { ids: [], doubtful: [], position: 0 }
  for (const name of namesIn(textOf(body, 'content'), chosenMax)) {
    const read = { caller, client, name, limit: examinedMax, hasEverybody }
    const page = commands.findProfiles(forum, read, connection)
    if (page instanceof Promise || isRejection(page)) return page
    const same = page.profiles.filter(({ displayName }) => folded(displayName) === folded(name))
    const all = same.map(({ id }) => identities.findNamed(id))
    const candidates = mentionable(forum.state, all, caller).filter(maySee)
    const isOwn = folded(name) === ownName
    if (isOwn && candidates.length === 0) continue // who names oneself mentions nobody
    if (!isOwn && candidates.length === 1) named.ids.push(identities.id(candidates[0]))
    else named.doubtful.push({ name, candidates })
    named.position = Math.max(named.position, page.position)
  }
  return named
}

/** Returns what the form says of names that are in doubt, or null if it has said it before. */
export function doubtOf(body: URLSearchParams, { doubtful }: NamedIdentities): Problem | null {
  const reported = textOf(body, 'doubtful').split(' ')
  if (doubtful.every(({ name }) => reported.includes(name))) return null
  const sentences = doubtful.map(({ name, candidates }) => {
    const isNobody = candidates.length === 0
    const why = isNobody ? 'nobody who can be mentioned here has' : 'more than one agent has'
    return `@${name} mentions nobody, because ${why} this name.`
  })
  const text = `${sentences.join(' ')} Choose below, or publish it as it is.`
  return { status: 400, text, field: 'content' }
}
