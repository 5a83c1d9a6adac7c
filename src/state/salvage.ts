// Repairs a state that was loaded from a damaged checkpoint, with zeros in place of the lost bytes.
// `wal repair` (node/salvage.ts) does this when neither parity nor the log can restore them.
//
// H1. Numbers, positions, ids, authors and times stay: an entry whose text is lost is rendered
//     again from the columns, with a sentence in place of the text.
// H2. All idempotency keys are dropped when any part of them is lost.
// H3. Other losses cannot be repaired: columns refer to each other, so a state without some of
//     their rows would be a different one. The error names the stores, and nothing is changed.

import { createHash } from 'node:crypto'
import type { LostBytes } from '../../wal/checkpoint/salvage.ts'
import type { Arena } from './arena.ts'
import { idHexLength } from './id-table.ts'
import type { Reviews } from './reviews.ts'
import type { State } from './state.ts'
import { renderEntry } from './threads.ts'

/** What a state has lost, by kind: the ids that callers know, or the number. */
export interface Losses {
  /** Ids of messages whose text is lost, in their order. */
  messages: string[]
  /** Ids of threads whose title is lost. */
  threads: string[]
  /** Ids of identities whose name is lost. */
  names: string[]
  proposals: string[]
  reviews: string[]
  /** How many idempotency keys were dropped. */
  keys: number
}

/** Thrown when stores have losses that cannot be repaired (H3). */
export class BeyondHealing extends Error {
  readonly stores: string[]

  constructor(stores: string[]) {
    super(`what is lost of ${stores.join(', ')} cannot be replaced`)
    this.stores = stores
  }
}

const lostText = '(This text was lost: the disk it was stored on was damaged.)'
const lostTitle = '(title lost)'
const lostName = '(name lost)'
const nobodyId = `agt_${'0'.repeat(idHexLength)}`
const entriesStore = 'arena.entries'

/** The facts of receipts that are all forgotten: seed, three ends of lists, count. */
const noReceipt = 0xffffffff

/** Whether a state can be healed that has lost these: throws BeyondHealing when it cannot. */
export function refuseBeyondHealing(lost: readonly LostBytes[]): void {
  const stores = new Set(lost.map(({ store }) => store))
  const bad = [...stores].filter((name) => name !== entriesStore && !name.startsWith('receipts.'))
  if (bad.length > 0) throw new BeyondHealing(bad)
}

/** Receipts as a checkpoint's facts tell of them, forgotten when a part of them is lost (H2). */
export function factsWithoutLost(
  facts: Record<string, unknown>,
  lost: readonly LostBytes[],
): { facts: Record<string, unknown>; keys: number } {
  if (!lost.some(({ store }) => store.startsWith('receipts.'))) return { facts, keys: 0 }
  const [seed, , , , count] = facts['receipts.'] as number[]
  const none = [seed, noReceipt, noReceipt, noReceipt, 0]
  return { facts: { ...facts, 'receipts.': none }, keys: count! }
}

/** Renders anew what lies in lost bytes of the arena. The state is filled and restored. */
export function healEntries(state: State, lost: readonly LostBytes[]): Omit<Losses, 'keys'> {
  const ranges = lost.filter(({ store }) => store === entriesStore)
  const isLost = lostIn(state.arena, ranges)
  if (ranges.length === 0) {
    return { messages: [], threads: [], names: [], proposals: [], reviews: [] }
  }
  // Names come first, because all other entries are rendered with them.
  const names = healNames(state, isLost)
  return {
    names,
    threads: healThreads(state, isLost),
    messages: healMessages(state, isLost),
    proposals: healProposals(state, isLost),
    reviews: healReviews(state, isLost),
  }
}

type IsLost = (address: number, from: number, to: number) => boolean

function lostIn(arena: Arena, ranges: readonly LostBytes[]): IsLost {
  const sorted = ranges.toSorted((a, b) => a.from - b.from)
  const ends = sorted.map(({ to }) => to)
  return (address, from, to) => {
    const begin = arena.savedAt(address)
    // The first range that ends behind the entry's begin.
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (ends[middle]! > begin + from) high = middle
      else low = middle + 1
    }
    return low < sorted.length && sorted[low]!.from < begin + to
  }
}

function healNames({ identities, messages, arena }: State, isLost: IsLost): string[] {
  const lost = new Map<number, string>()
  for (let n = 0; n < identities.count; n++) {
    const { address, bytes } = identities.entry(n)
    if (isLost(address, 0, bytes)) lost.set(n, JSON.stringify(lostName))
  }
  // Every message of an author repeats the author's name.
  const sought = new Set(lost.keys())
  for (let n = 0; n < messages.count && sought.size > 0; n++) {
    const author = messages.author(n)
    if (!sought.has(author) || isLost(messages.address(n), 0, messages.bytes(n))) continue
    const text = arena.text(messages.address(n), 1, messages.bytes(n))
    lost.set(author, JSON.stringify(JSON.parse(text).display_name))
    sought.delete(author)
  }
  for (const [n, nameJson] of lost) identities.renderAnew(n, nameJson)
  return [...sought].map((n) => identities.id(n))
}

function healThreads({ threads, messages, identities }: State, isLost: IsLost): string[] {
  const lost: string[] = []
  for (let n = 0; n < threads.count; n++) {
    const { address, bytes } = threads.entry(n)
    if (!isLost(address, 0, bytes)) continue
    const by = threads.actors.columns.author.get(n)
    const id = threads.hex(n)
    const entry = renderEntry({
      id,
      author: identities.id(by),
      nameJson: identities.nameJson(by),
      title: lostTitle,
      visibility: threads.isPublic(n) ? 'public' : 'private',
      at: messages.createdAt(threads.message(n, 0)),
    })
    threads.renderAnew(n, entry)
    lost.push(`thr_${id}`)
  }
  return lost
}

function healMessages({ messages, identities }: State, isLost: IsLost): string[] {
  const lost: string[] = []
  for (let n = 0; n < messages.count; n++) {
    const address = messages.address(n)
    if (!isLost(address, 0, messages.bytes(n))) continue
    // If the id is lost too, the message gets an id that is derived from its position.
    const hasId = !isLost(address, 0, messages.idEnd(n))
    const seq = messages.seq(n)
    const id = hasId ? messages.id(n) : hashOf(`message ${seq}`)
    messages.renderAnew(n, { id, signature: identities.signature(messages.author(n)) }, lostText)
    lost.push(`msg_${id}`)
  }
  return lost
}

function healProposals({ proposals, reviews, identities, arena }: State, isLost: IsLost): string[] {
  const lost: string[] = []
  for (let n = 0; n < proposals.count; n++) {
    if (!isLost(proposals.address(n), 0, proposals.bytes(n))) continue
    // Each review repeats the hash of its proposal.
    let hash = '0'.repeat(64)
    for (let i = 0; i < proposals.actors.columns.reviewCount.get(n); i++) {
      const review = proposals.review(n, i)
      if (isLost(reviews.address(review), 0, reviews.bytes(review))) continue
      const text = arena.text(reviews.address(review), 1, reviews.bytes(review))
      hash = JSON.parse(text).proposal_hash
    }
    const candidate = proposals.actors.columns.candidate.get(n)
    const fields = {
      code: { kind: 'code' as const, base_commit: '0'.repeat(40), files: [] },
      policy: { kind: 'policy' as const },
      maintainer: {
        kind: 'maintainer' as const,
        candidate_id: candidate < 0 ? nobodyId : identities.id(candidate),
      },
    }[proposals.kind(n)]
    const text = { title: lostTitle, description: lostText, supersedes: null }
    proposals.renderAnew(n, hash, { author_id: nobodyId, ...fields, ...text })
    lost.push(proposals.id(n))
  }
  return lost
}

function healReviews({ proposals, reviews }: State, isLost: IsLost): string[] {
  const proposalOf = lostReviews(reviews, isLost)
  if (proposalOf.size === 0) return []
  for (let n = 0; n < proposals.count; n++) {
    for (let i = 0; i < proposals.actors.columns.reviewCount.get(n); i++) {
      if (proposalOf.has(proposals.review(n, i))) proposalOf.set(proposals.review(n, i), n)
    }
  }
  return Array.from(proposalOf, ([review, proposal]) => {
    const [proposal_id, proposal_hash] = [proposals.id(proposal), proposals.hash(proposal)]
    const content = { decision: 'comment' as const, text: lostText }
    reviews.renderAnew(review, { proposal_id, author_id: nobodyId, proposal_hash, ...content })
    return reviews.id(review)
  })
}

/** The lost reviews, mapped to 0; the caller fills in the proposal of each. */
function lostReviews(reviews: Reviews, isLost: IsLost): Map<number, number> {
  const lost = new Map<number, number>()
  for (let n = 0; n < reviews.count; n++) {
    if (isLost(reviews.address(n), 0, reviews.bytes(n))) lost.set(n, 0)
  }
  return lost
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, idHexLength)
}
