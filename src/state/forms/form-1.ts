// Loads checkpoints of form 1 by converting them to form 2, which form-2.ts converts further. In
// form 1, the states of threads, identities and proposals were their kinds, an identity's actor
// held its feed, and an actor object was saved as a map.
//
//   form 1                                     form 2
//   identities.actors.states 1, 2, 3, 4   ──▶  states active or expired, kind, feeds.actors.states
//   identities.actors.following…          ──▶  feeds.actors.following, feeds.actors.changedPosition
//   subscriptions.following.…             ──▶  feeds.threads.…
//   threads.actors.states 1, 2            ──▶  states open, visibility
//   threads.actors.lastPosition           ──▶  newestPosition, changedPosition
//   proposals.actors.states 1, 2, 3       ──▶  states saved, kind
//
// The next checkpoint saves all pages of the renamed and changed stores, in the new form.

import type { PagedStore, RowSource, Rows, Stores } from '../../../wal/checkpoint/paged-store.ts'
import type { AnyActorKind } from '../../actors/actor.ts'
import { delivery } from '../../actors/delivery.ts'
import { feed } from '../../actors/feed.ts'
import { identity, identityKinds } from '../../actors/identity.ts'
import { proposal } from '../../actors/proposal.ts'
import { thread, visibilities } from '../../actors/thread.ts'
import { ticket } from '../../actors/ticket.ts'
import { webhook } from '../../actors/webhook.ts'
import { type Column, pageRows } from '../../columns/column.ts'
import type { OnIndexFilled } from '../saved.ts'
import type { State } from '../state.ts'
import type { TicketRow } from '../tickets.ts'
import { targetOfForm2 } from './form-2.ts'

/** Stores of which only the name changed: their new names, with those of form 1. */
const renamed: Readonly<Record<string, string>> = {
  'feeds.actors.following': 'identities.actors.following',
  'feeds.actors.changedPosition': 'identities.actors.followingChanged',
  'feeds.threads.starts': 'subscriptions.following.starts',
  'feeds.threads.lengths': 'subscriptions.following.lengths',
  'feeds.threads.classes': 'subscriptions.following.classes',
  'feeds.threads.words': 'subscriptions.following.words',
  'threads.actors.newestPosition': 'threads.actors.lastPosition',
  'proposals.actors.newestPosition': 'proposals.actors.lastPosition',
}

/** Stores that form 1 did not have. */
const added = new Set([
  'feeds.actors.states',
  'identities.actors.kind',
  'threads.actors.visibility',
  'threads.actors.changedPosition',
  'proposals.actors.kind',
])

/** Returns the target for loading form 1; its `restore` takes the checkpoint's facts. */
export function targetOfForm1(state: State, onIndexFilled?: OnIndexFilled) {
  const { stores, rows, restore } = targetOfForm2(state, onIndexFilled)
  return {
    stores: storesOfForm1(stores),
    rows: rowsOfForm1(rows),
    restore(facts: unknown) {
      convertStores(state, stores)
      return restore(convertFacts(facts as Record<string, unknown>))
    },
  }
}

/** Returns the stores that form 1 has, by their names in form 1. */
function storesOfForm1(stores: Stores): Stores {
  const of1 = new Map<string, PagedStore>()
  for (const [name, store] of stores) if (!added.has(name)) of1.set(renamed[name] ?? name, store)
  return of1
}

/** Returns the rows, which are converted as they are loaded. */
function rowsOfForm1(rows: Rows): Rows {
  const convert: Record<string, (row: unknown[]) => unknown[]> = {
    'webhooks.webhooks': (row) => [...row.slice(0, 6), ...actorRow(webhook, row[6], row[7])],
    'webhooks.deliveries': ([number, code, context]) => [
      number,
      ...actorRow(delivery, code, context),
    ],
  }
  return new Map(
    Array.from(rows, ([name, source]): [string, RowSource] => [
      name,
      {
        freeze: () => source.freeze(),
        next: () => source.next(),
        thaw: () => source.thaw(),
        fill: (filled) => source.fill((filled as unknown[][]).map(convert[name])),
      },
    ]),
  )
}

/** Fills the stores that form 1 did not have, and marks all pages of renamed stores as dirty. */
function convertStores(state: State, stores: Stores): void {
  convertIdentities(state)
  convertThreads(state)
  convertProposals(state)
  for (const name of Object.keys(renamed)) {
    const store = stores.get(name) as Column
    for (let page = 0; page * pageRows < store.length; page++) store.markDirty(page)
  }
}

function convertFacts(facts: Record<string, unknown>): Record<string, unknown> {
  const tickets = facts['tickets.'] as [string, { state: number; context: object }][]
  return {
    ...facts,
    'feeds.threads.': facts['subscriptions.following.'],
    'tickets.': tickets.map(([nonce, { state, context }]): TicketRow => {
      return [nonce, actorRow(ticket, state, context)]
    }),
  }
}

function convertIdentities({ identities, feeds }: State): void {
  const { states, columns } = identities.actors
  const kinds = [null, ...identityKinds]
  const { expired, active } = identity.codes
  columns.kind.extend(states.length)
  feeds.actors.states.extend(states.length)
  for (let i = 0; i < states.length; i++) {
    const code = states.get(i)
    const kind = kinds[code] ?? 'guest' // only guests expire
    states.set(i, code === expired ? expired : active)
    columns.kind.set(i, identityKinds.indexOf(kind))
    const { absent, open, closed } = feed.codes
    feeds.actors.states.set(i, kind === 'compat' ? absent : code === expired ? closed : open)
  }
}

function convertThreads({ threads }: State): void {
  const { states, columns } = threads.actors
  columns.visibility.extend(states.length)
  columns.changedPosition.extend(states.length)
  for (let i = 0; i < states.length; i++) {
    columns.visibility.set(i, visibilities.indexOf(states.get(i) === 2 ? 'private' : 'public'))
    columns.changedPosition.set(i, columns.newestPosition.get(i))
    states.set(i, thread.codes.open)
  }
}

function convertProposals({ proposals }: State): void {
  const { states, columns } = proposals.actors
  columns.kind.extend(states.length)
  for (let i = 0; i < states.length; i++) {
    columns.kind.set(i, states.get(i) - 1) // a state for each kind, counted from 1
    states.set(i, proposal.codes.saved)
  }
}

/** Returns an actor as a row of the current form (state/actor-objects.ts). */
function actorRow({ layout }: AnyActorKind, code: unknown, context: unknown): unknown[] {
  const values = context as Record<string, unknown>
  return [code, ...Object.keys(layout).map((field) => values[field])]
}
