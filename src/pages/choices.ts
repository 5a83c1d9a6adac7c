// Whom a message is to mention, chosen among names: those who write in the thread, and those whose
// names begin with what was typed into a field beside. Its button sends the form to be shown again.

import type { Service } from '../api/route.ts'
import { nameOf } from '../forum/name-index.ts'
import { isRejection, type Rejection } from '../forum/rejection.ts'
import { type Html, html, nothing } from '../html/html.ts'
import type { State } from '../state/state.ts'
import { type FormCall, field, type Problem, textOf } from './forms.ts'

/** The most that a message can mention, and a private thread can have beside its author. */
export const chosenMax = 10
const foundMax = 10
/** So many of those who write in a thread are offered, among its newest messages. */
const [offeredMax, lookedMax] = [12, 50]
const nameMax = 80

/** Whoever writes in a thread, newest first, or was brought into it. */
export function offeredIn(state: State, thread: number, reader: number): number[] {
  const { threads, messages } = state
  const offered = new Set<number>()
  const count = threads.messageCount(thread)
  for (let i = count - 1; i >= Math.max(0, count - lookedMax); i--) {
    offered.add(messages.author(threads.message(thread, i)))
  }
  if (!threads.isPublic(thread)) for (const each of threads.participants(thread)) offered.add(each)
  return mentionable(state, [...offered], reader).slice(0, offeredMax)
}

/** Those of them who can be mentioned, by what is on record. */
function mentionable(state: State, identities: readonly number[], reader: number): number[] {
  const { now } = state
  return identities.filter((each) => each !== reader && state.identities.mayAct(each, now))
}

/** The ids that are chosen in a form, each once. */
export function chosenIn(body: URLSearchParams): string[] {
  return [...new Set(body.getAll('to'))]
}

/** Whether the form is only to be shown again, with the names that were searched for. */
export function isSearching(body: URLSearchParams): boolean {
  return body.get('do') === 'find'
}

/** Those whose names begin with what was typed, as far as something public is by them. */
export async function findIn(
  { forum, commands }: Service,
  { body, connection }: FormCall,
  reader: number,
): Promise<number[] | Rejection> {
  const name = textOf(body, 'name').trim().slice(0, nameMax)
  if (name === '') return []
  const { identities } = forum.state
  const read = { caller: reader, name, limit: foundMax }
  const found = await commands.findProfiles(forum, read, connection)
  if (isRejection(found)) return found
  const numbers = found.profiles.map(({ id }) => identities.findNamed(id))
  return mentionable(forum.state, numbers, reader)
}

interface Choices {
  /** Nobody else is shown a name: a forum may be of members only. */
  isSignedIn: boolean
  legend: string
  offered: readonly number[]
  /** Null: nobody was searched for. */
  found: readonly number[] | null
  body: URLSearchParams
  problem: Problem | null
}

/** The names to choose from, and the field that finds others. */
export function choices(state: State, shown: Choices): Html {
  const { isSignedIn, legend, offered, found, body, problem } = shown
  const { identities } = state
  const chosen = chosenIn(body).slice(0, 2 * chosenMax)
  const known = isSignedIn ? chosen.map((id) => identities.findNamed(id)) : []
  const kept = known.filter((each) => each !== -1)
  const all = new Set([...offered, ...kept, ...(found ?? [])])
  const box = (id: string, name: Html) => {
    const isChosen = chosen.includes(id) ? html` checked=""` : nothing
    return html`<label><input type="checkbox" name="to" value="${id}"${isChosen}>
${name}<span class="id">${id.slice(0, 12)}</span></label>
`
  }
  const boxes = isSignedIn
    ? Array.from(all, (each) => box(identities.id(each), html`<bdi>${nameOf(state, each)}</bdi> `))
    : chosen.map((id) => box(id, nothing))
  const isNobody = found?.length === 0 && textOf(body, 'name').trim() !== ''
  const nobody = {
    status: 404,
    field: 'name',
    text: 'Nobody who has written here has such a name.',
  }
  const wrong = isNobody && problem === null ? nobody : problem
  const more = html` maxlength="${nameMax}" autocomplete="off"`
  const value = textOf(body, 'name').slice(0, nameMax)
  const label = 'Find others by name'
  return html`<fieldset><legend>${legend}</legend>
${problem?.field === 'to' ? html`<p class="problem" role="alert">${problem.text}</p>\n` : nothing}${
  boxes.length === 0 ? nothing : html`<p class="choices">${boxes}</p>\n`
}${field({ name: 'name', label, value, problem: wrong, more })}<p>${findButton}</p>
</fieldset>
`
}

/** It also sends a form whose required fields are empty still. */
const findButton = html`<button name="do" value="find" formnovalidate="">Find</button>`
