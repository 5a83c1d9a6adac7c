// The fields of a form besides the text of the message: tags, type, and the identities that are
// mentioned. A form offers those who write in the thread, and those whose names begin with what was
// typed into a search field. The button beside this field, and that of the preview, send the form
// only to show it again with the names that were found.

import { folded, namesIn, tagsMax } from '../../base/text.ts'
import { findsEverybody } from '../../edge/api/access.ts'
import { tagName, typeName } from '../../edge/api/fields.ts'
import type { Service } from '../../edge/api/route.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import { type FormCall, type SignedCall, textOf } from '../../people/forms.ts'
import { field, type Problem } from '../../people/html/forms.ts'
import { emptyHtml, type Html, html } from '../../people/html/html.ts'
import type { Forum, Positioned } from '../forum.ts'
import { nameOf } from '../identities/name-index.ts'
import type { State } from '../state.ts'

/**
 * The maximum number of identities that a message mentions, and of participants that a private
 * thread has besides its author.
 */
export const chosenMax = 10
const foundMax = 10
/** How many authors a thread offers, and how many of its newest messages are examined for them. */
const [offeredMax, lookedMax] = [12, 50]
const nameMax = 80

/**
 * Returns the authors of a thread's newest messages, newest first, and then its participants. The
 * messages are durable, because the page of a refusal that shows them does not wait.
 */
export function offeredIn({ state, journal }: Forum, thread: number, reader: number): number[] {
  const { threads, messages } = state
  const offered = new Set<number>()
  const count = threads.messageCount(thread)
  for (let i = count - 1; i >= Math.max(0, count - lookedMax); i--) {
    const message = threads.message(thread, i)
    if (messages.seq(message) <= journal.durable) offered.add(messages.author(message))
  }
  if (!threads.isPublic(thread)) for (const each of threads.participants(thread)) offered.add(each)
  return mentionable(state, [...offered], reader).slice(0, offeredMax)
}

/**
 * Returns those of the identities, without the reader, that may be mentioned as of the last record.
 */
function mentionable(state: State, identities: readonly number[], reader: number): number[] {
  const { now } = state
  return identities.filter((each) => each !== reader && state.identities.mayAct(each, now))
}

/** Returns the ids that are chosen in a form, without duplicates. */
export function chosenIn(body: URLSearchParams): string[] {
  return [...new Set(body.getAll('to'))]
}

/** Returns whether the form is only to be shown again, with the names that were searched for. */
export function isShownAgain(body: URLSearchParams): boolean {
  return ['find', 'preview'].includes(body.get('do') ?? '')
}

/** Finds identities whose names begin with what was typed, as far as the caller finds them. */
export async function findIn(
  { forum, commands, access }: Service,
  { body, client, connection }: FormCall,
  reader: number,
): Promise<FoundNames | Rejection> {
  const name = textOf(body, 'name').trim().slice(0, nameMax)
  if (name === '') return { found: [], position: 0 }
  const { identities } = forum.state
  const hasEverybody = findsEverybody(access)
  const read = { caller: reader, client, name, limit: foundMax, hasEverybody }
  const found = await commands.findProfiles(forum, read, connection)
  if (isRejection(found)) return found
  const numbers = found.profiles.map(({ id }) => identities.findNamed(id))
  return { found: mentionable(forum.state, numbers, reader), position: found.position }
}

interface FoundNames extends Positioned {
  found: number[]
}

interface Choices {
  /** Names are shown only to people who are signed in: the forum may be for members only. */
  isSignedIn: boolean
  legend: string
  offered: readonly number[]
  /** The identities that were found, or null if none were searched for. */
  found: readonly number[] | null
  body: URLSearchParams
  problem: Problem | null
}

/** Returns the names to choose from, and the field that finds others. */
export function choices(state: State, shown: Choices): Html {
  const { isSignedIn, legend, offered, found, body, problem } = shown
  const { identities } = state
  const chosen = chosenIn(body).slice(0, 2 * chosenMax)
  const known = isSignedIn ? chosen.map((id) => identities.findNamed(id)) : []
  const kept = known.filter((each) => each !== -1)
  const all = new Set([...offered, ...kept, ...(found ?? [])])
  const box = (id: string, name: Html) => {
    const isChosen = chosen.includes(id) ? html` checked=""` : emptyHtml
    return html`<label><input type="checkbox" name="to" value="${id}"${isChosen}>
${name}<span class="id">${id.slice(0, 12)}</span></label>
`
  }
  const boxes = isSignedIn
    ? Array.from(all, (each) => box(identities.id(each), html`<bdi>${nameOf(state, each)}</bdi> `))
    : chosen.map((id) => box(id, emptyHtml))
  const isNobody = found?.length === 0 && textOf(body, 'name').trim() !== ''
  const nobody = {
    status: 404,
    field: 'name',
    text: 'Nobody whom you can mention has such a name.',
  }
  const wrong = isNobody && problem === null ? nobody : problem
  const more = html` maxlength="${nameMax}" autocomplete="off"`
  const value = textOf(body, 'name').slice(0, nameMax)
  const isWrong = problem?.field === 'to'
  const why = isWrong ? html`<p class="problem" role="alert">${problem.text}</p>\n` : emptyHtml
  const label = 'Find others by name'
  return html`<fieldset><legend>${legend}</legend>
${why}${
  boxes.length === 0 ? emptyHtml : html`<p class="choices">${boxes}</p>\n`
}${field({ name: 'name', label, value, problem: wrong, more })}<p>${findButton}</p>
</fieldset>
`
}

/** This button also sends a form whose required fields are still empty. */
const findButton = html`<button name="do" value="find" formnovalidate="">Find</button>`

const [tagPattern, typePattern] = [tagName, typeName].map(({ pattern = '' }) => new RegExp(pattern))
const more = html` autocomplete="off"`

/** Returns the tags that were typed, between spaces or commas, each once. */
export function tagsIn(body: URLSearchParams): string[] {
  const typed = textOf(body, 'tags').split(/[\s,]+/)
  return [...new Set(typed)].filter((tag) => tag !== '')
}

/** Returns the type that was typed, or undefined if there is none. */
export function typeIn(body: URLSearchParams): string | undefined {
  return textOf(body, 'type').trim() || undefined
}

/** Returns what is wrong with the tags or the type of a form, or null. */
export function labelProblem(body: URLSearchParams): Problem | null {
  const wrong = (field: string, text: string) => ({ status: 400, text, field })
  const [tags, type] = [tagsIn(body), typeIn(body)]
  if (tags.length > tagsMax) return wrong('tags', `A thread can have ${tagsMax} tags.`)
  if (!tags.every((tag) => tagPattern!.test(tag))) {
    return wrong('tags', 'A tag has up to 40 of a-z 0-9 _ . : - and begins with a-z or 0-9.')
  }
  if (type !== undefined && !typePattern!.test(type)) {
    return wrong('type', 'A type has up to 32 of a-z 0-9 - and begins with a letter.')
  }
  return null
}

export function tagsField(body: URLSearchParams, problem: Problem | null): Html {
  const hint = `Up to ${tagsMax}, between spaces. Others find and follow threads by them.`
  const value = textOf(body, 'tags')
  return field({ name: 'tags', label: 'Tags (optional)', value, problem, more, hint })
}

export function typeField(body: URLSearchParams, problem: Problem | null): Html {
  const value = textOf(body, 'type')
  const hint = 'What kind of message this is, such as question or result.'
  return field({ name: 'type', label: 'Type (optional)', value, problem, more, hint })
}

/** How many identities are examined for each name; those with exactly this name come first. */
const examinedMax = 50

/**
 * `@name` in the text of a form mentions the only identity with this name that may read the thread.
 * Where there is none, or several, the form is shown again and says so beside the text. Sent once
 * more, it is published as it is.
 */
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
