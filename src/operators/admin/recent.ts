// What is new in the forum, for operators who look for what they should act on: the newest
// messages, the newest identities, and the identities that the rate limits refuse most often.

import { emptyHtml, type Html, html, time } from '../../people/html/html.ts'
import type { Administered } from './commands.ts'
import { section } from './page-parts.ts'
import { identityLink, idLink } from './subjects.ts'

const [messagesShown, identitiesShown, refusedShown] = [20, 10, 5]
/** Messages of threads that have expired are among these. */
const messagesExamined = 1_000
/** The part of a message that is shown, in UTF-16 units. */
const excerptMax = 120

export async function recentSections(node: Administered): Promise<Html> {
  const { state, refusedCallers } = node
  const { identities } = state
  const left = newest(state.messages.count, messagesExamined).filter((each) => !state.isGone(each))
  const messages = await Promise.all(
    left.slice(0, messagesShown).map((each) => messageRow(node, each)),
  )
  const registered = newest(identities.count, identitiesShown).map((each) => {
    const at = time(identities.actors.columns.createdAt.get(each))
    const blocked = identities.isBlocked(each) ? 'blocked' : ''
    return html`<tr><td>${at}</td><td>${identityLink(state, each)}</td>
<td>${identities.kind(each)}</td><td>${blocked}</td></tr>\n`
  })
  const refused = refusedCallers.top(refusedShown).map(([identity, count]) => {
    return html`<tr><td>${count}</td><td>${identityLink(state, identity)}</td></tr>\n`
  })
  return html`${section('messages', 'Newest messages', ['When', 'Who', 'What'], messages)}
${section('identities', 'Newest identities', ['When', 'Who', 'Kind', 'State'], registered)}
${
  refused.length === 0
    ? emptyHtml
    : section('refused', 'Refused most often by rate limits', ['Times', 'Who'], refused)
}`
}

async function messageRow(node: Administered, message: number): Promise<Html> {
  const { state } = node
  const { messages } = state
  const text = await node.textOf(message)
  const isRemoved = state.moderation.find('removed', message) !== undefined
  const shown = isRemoved ? 'removed' : typeof text === 'string' ? text : 'cannot be read now'
  const cut = shown.length > excerptMax ? `${shown.slice(0, excerptMax)}…` : shown
  return html`<tr><td>${time(messages.createdAt(message))}</td>
<td>${identityLink(state, messages.author(message))}</td>
<td><bdi>${cut}</bdi> ${idLink(`msg_${messages.id(message)}`, `#${messages.seq(message)}`)}</td>
</tr>\n`
}

/** Returns the greatest of `count` numbers, up to `most` of them. */
function newest(count: number, most: number): number[] {
  return Array.from({ length: Math.min(count, most) }, (_, i) => count - 1 - i)
}
