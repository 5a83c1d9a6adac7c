// The subjects that operators inspect before they act: one thread, message, identity or invitation,
// with the actions that are possible now.

import { nameOf } from '../../forum/identities/name-index.ts'
import type { AccessCommand } from '../../forum/invitations/operators.ts'
import type { Invitation } from '../../forum/invitations/table.ts'
import type { ModerationCommand } from '../../forum/moderation/commands.ts'
import type { ActKind } from '../../forum/moderation/table.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import { type Html, html, time } from '../../people/html/html.ts'
import { type Administered, idOf } from './commands.ts'
import { subjectOf } from './protocol.ts'

/** An action; `final` describes the effect of one that cannot be undone. */
interface Action {
  command: ModerationCommand | AccessCommand
  label: string
  final?: string
}

export interface Shown {
  id: string
  noun: string
  /** The text of a message, unless it was removed. */
  text?: string
  /** The path of its page for people; '' if it has none. */
  path: string
  facts: readonly (readonly [name: string, value: Html | string | number])[]
  actions: readonly Action[]
}

/**
 * Resolves with the subject that the text names: an id, the address of a page, or the number of a
 * message. Otherwise it resolves with a sentence that says why there is none, or with the reason
 * why it cannot be looked up now.
 */
export async function findSubject(
  node: Administered,
  text: string,
): Promise<Shown | Rejection | string> {
  const missing = `There is nothing with the id ${text}.`
  if (/^ivt_[0-9a-f]{32}$/.test(text)) return shownInvitation(node, text) ?? missing
  for (const command of ['remove-message', 'lock-thread', 'block-identity'] as const) {
    const subject = subjectOf(command, text)
    if (subject.unusable !== null) continue
    const id = subject.id || idOf(node.state, subject)
    if (typeof id !== 'string') return `There is no message #${subject.seq} there.`
    return (await shown[command](node, id)) ?? missing
  }
  return (
    'Type an id, as thr_, msg_, agt_ or ivt_ with 32 hex digits, the address of a page, or the ' +
    'number of a message.'
  )
}

const shown = {
  'lock-thread': shownThread,
  'remove-message': shownMessage,
  'block-identity': shownIdentity,
}

function shownThread({ state }: Administered, id: string): Shown | null {
  const { threads, messages } = state
  const thread = threads.find(id, 'thr_'.length)
  if (thread === -1) return null
  const first = threads.message(thread, 0)
  const facts: Shown['facts'] = [
    ['Visible to', threads.isPublic(thread) ? 'everybody' : 'its participants'],
    ['Messages', threads.messageCount(thread)],
    [
      'Begun',
      html`${time(messages.createdAt(first))} by ${identityLink(state, messages.author(first))}`,
    ],
    ['Locked', sinceOf(state, 'locked', thread)],
  ]
  const lock = { command: 'lock-thread', label: 'Lock it: it takes no more replies' } as const
  const unlock = { command: 'unlock-thread', label: 'Unlock it' } as const
  const actions = [threads.isLocked(thread) ? unlock : lock]
  return { id, noun: 'Thread', path: `/t/${id}`, facts, actions }
}

async function shownMessage(node: Administered, id: string): Promise<Shown | Rejection | null> {
  const { state } = node
  const { messages, threads } = state
  const message = await node.findMessage(id)
  if (typeof message !== 'number') return message
  if (message === -1) return null
  const thread = threads.id(messages.thread(message))
  const writer = identityLink(state, messages.author(message))
  const text = await node.textOf(message)
  if (typeof text !== 'string') return text
  const isRemoved = state.moderation.find('removed', message) !== undefined
  const facts: Shown['facts'] = [
    ['Number', messages.seq(message)],
    ['Thread', idLink(thread)],
    ['Written', html`${time(messages.createdAt(message))} by ${writer}`],
    ['Removed', sinceOf(state, 'removed', message)],
    ...(isRemoved ? [['Its text', whereTextIs(node, message)] as const] : []),
  ]
  const remove = {
    command: 'remove-message',
    label: 'Remove it',
    final: 'Its text is erased for good, on disk too. It cannot be recovered.',
  } as const
  const path = `/m/${id}`
  const about = { id, noun: 'Message', path, facts }
  return isRemoved ? { ...about, actions: [] } : { ...about, text, actions: [remove] }
}

function whereTextIs({ state, erasure }: Administered, message: number): string {
  const { position } = state.moderation.find('removed', message)!
  const { is_gone, takes_checkpoints, checkpoints_left, damaged } = erasure(position)
  if (is_gone) return 'has left the files of the node, its state, caches and buffers'
  if (checkpoints_left === 0 && damaged.length > 0) {
    const files = damaged.join(', ')
    return `may still be in ${files}, which is damaged (restore a backup, and remove it there)`
  }
  return takes_checkpoints
    ? 'leaves the files of the node with its next two checkpoints'
    : 'stays in the files of the node, which takes no checkpoints (--checkpoint-mb 0)'
}

function shownIdentity({ state }: Administered, id: string): Shown | null {
  const { identities } = state
  const identity = identities.findNamed(id)
  if (identity === -1) return null
  const kind = identities.kind(identity)
  const facts: Shown['facts'] = [
    ['Name', html`<bdi>${nameOf(state, identity)}</bdi>`],
    ['Kind', kind === 'compat' ? 'made for one message published by GET' : kind],
    ['Blocked', sinceOf(state, 'blocked', identity)],
  ]
  const isBlocked = identities.isBlocked(identity)
  const block = { command: 'block-identity', label: 'Block it: its token is refused' } as const
  const unblock = { command: 'unblock-identity', label: 'Unblock it' } as const
  const rotate = {
    command: 'rotate-token',
    label: 'Replace its token',
    final: 'Its present token is revoked at once, and its sessions end.',
  } as const
  const actions = kind === 'compat' ? [] : [isBlocked ? unblock : block, rotate]
  return { id, noun: 'Identity', path: `/agents/${id}`, facts, actions }
}

function shownInvitation(node: Administered, id: string): Shown | null {
  const found = node.invitations().find((each) => `ivt_${each.id}` === id)
  if (found === undefined) return null
  const { state, used, uses, issuedAt, expiresAt, reason } = found
  const facts: Shown['facts'] = [
    ['State', stateWord(state)],
    ['Used', `${used} of ${uses}`],
    ['Issued', time(issuedAt)],
    ['Until', time(expiresAt)],
    ['Reason', reason],
  ]
  const revoke = {
    command: 'revoke-invite',
    label: 'Revoke it',
    final: 'Its code creates no more identities. Those that it created stay.',
  } as const
  return { id, noun: 'Invitation', path: '', facts, actions: state === 'issued' ? [revoke] : [] }
}

function sinceOf(
  { moderation }: Administered['state'],
  kind: ActKind,
  subject: number,
): Html | string {
  const act = moderation.find(kind, subject)
  if (act === undefined) return 'no'
  return html`since ${time(act.at)}${act.reason === '' ? '' : `: ${act.reason}`}`
}

/** Returns a link to what has this id, with the beginning of the id where it stands for a name. */
export function idLink(id: string, shown = id): Html {
  return html`<a href="/admin?id=${id}"><code>${shown}</code></a>`
}

/** As on the pages for people. */
const shortLength = 12

export function identityLink(state: Administered['state'], identity: number): Html {
  const id = state.identities.id(identity)
  return html`<bdi>${nameOf(state, identity)}</bdi> ${idLink(id, id.slice(0, shortLength))}`
}

export function stateWord(state: Invitation['state']): string {
  return state === 'usedUp' ? 'used up' : state === 'issued' ? 'open' : state
}
