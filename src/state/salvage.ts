// Repairs a state that was loaded from a damaged checkpoint, with zeros in place of the lost bytes.
// `wal repair` (storage/salvage.ts) does this when neither parity nor the log can restore them.
//
// H1. Numbers, positions, ids, times, and the authors of messages and threads are preserved: an
//     entry whose text is lost is rendered again from the columns, with a sentence in place of the
//     text. A proposal's or review's author is only in its text, so `nobodyId` replaces it.
// H2. If any part of the idempotency keys is lost, all of them are dropped.
// H3. Other losses cannot be repaired: columns refer to each other, so a state that lacks some of
//     their rows would be a different state. The error names the stores, and nothing is changed.

import type { LostBytes } from '../../wal/checkpoint/salvage.ts'
import { idHexLength } from '../columns/id-table.ts'
import { unitBytes } from '../text/page-slots.ts'
import { sumBlocks, textStoreName } from '../text/text.ts'
import type { Reviews } from './reviews.ts'
import type { State } from './state.ts'
import { renderEntry } from './threads.ts'

/** The losses of a state, by kind: the ids that callers know, or a count. */
export interface Losses {
  /** Ids of messages whose text is lost, in the order of the messages. */
  messages: string[]
  /** Ids of threads whose title is lost. */
  threads: string[]
  /** Ids of identities whose name is lost. */
  names: string[]
  proposals: string[]
  reviews: string[]
  /** The number of idempotency keys that were dropped. */
  keys: number
}

/** Thrown when stores have losses that cannot be repaired (H3). */
export class BeyondRepair extends Error {
  readonly stores: string[]

  constructor(stores: string[]) {
    super(`losses in ${stores.join(', ')} cannot be repaired`)
    this.stores = stores
  }
}

const lostText = '(This text was lost: the disk it was stored on was damaged.)'
const lostTitle = '(title lost)'
const lostName = '(name lost)'
const nobodyId = `agt_${'0'.repeat(idHexLength)}`
const namesStoreName = 'names.entries'
/** The stores that can be repaired: texts, names and the CRCs of both. */
const healed = new Set([textStoreName, 'arena.crcs', namesStoreName, 'names.crcs'])

/**
 * Marks the end of a list of receipts. Their facts are the seed, three ends of lists, the count.
 */
const noReceipt = 0xffffffff

/** Throws BeyondRepair if a state that has lost these bytes cannot be repaired (H3). */
export function refuseBeyondRepair(lost: readonly LostBytes[]): void {
  const stores = new Set(lost.map(({ store }) => store))
  const bad = [...stores].filter((name) => !healed.has(name) && !name.startsWith('receipts.'))
  if (bad.length > 0) throw new BeyondRepair(bad)
}

/**
 * Returns the facts of a checkpoint, without receipts if any part of them is lost (H2), and the
 * number of idempotency keys that are dropped.
 */
export function factsWithoutLost(
  facts: Record<string, unknown>,
  lost: readonly LostBytes[],
): { facts: Record<string, unknown>; keys: number } {
  if (!lost.some(({ store }) => store.startsWith('receipts.'))) return { facts, keys: 0 }
  const [seed, , , , count] = facts['receipts.'] as number[]
  const none = [seed, noReceipt, noReceipt, noReceipt, 0]
  return { facts: { ...facts, 'receipts.': none }, keys: count! }
}

/**
 * Renders again all entries of texts and names that overlap lost bytes. The state must have been
 * filled and restored, and all of its text must be in memory.
 */
export function repairEntries(state: State, lost: readonly LostBytes[]): Omit<Losses, 'keys'> {
  const isLost = lostIn(lost, textStoreName)
  // Names come first, because all other entries are rendered with them.
  const losses = {
    names: healNames(state, isLost, lostIn(lost, namesStoreName)),
    threads: healThreads(state, isLost),
    messages: healMessages(state, isLost),
    proposals: healProposals(state, isLost),
    reviews: healReviews(state, isLost),
  }
  for (const text of [state.text, state.names]) for (const _ of sumBlocks(text));
  return losses
}

/** Returns whether any of these bytes of the entry at the address is lost. */
type IsLost = (address: number, bytes: number) => boolean

function lostIn(lost: readonly LostBytes[], storeName: string): IsLost {
  const ranges = lost.filter(({ store }) => store === storeName)
  const sorted = ranges.toSorted((a, b) => a.from - b.from)
  const ends = sorted.map(({ to }) => to)
  return (address, bytes) => {
    const begin = address * unitBytes
    // Finds the first range that ends after the beginning of the entry.
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (ends[middle] > begin) high = middle
      else low = middle + 1
    }
    return low < sorted.length && sorted[low].from < begin + bytes
  }
}

function healNames(
  { identities, messages, text }: State,
  isLost: IsLost,
  isNameLost: IsLost,
): string[] {
  const lost = new Map<number, string>()
  for (let n = 0; n < identities.count; n++) {
    const { address, bytes } = identities.entry(n)
    if (isNameLost(address, bytes)) lost.set(n, JSON.stringify(lostName))
  }
  // Each message repeats the name of its author.
  const sought = new Set(lost.keys())
  for (let n = 0; n < messages.count && sought.size > 0; n++) {
    const author = messages.author(n)
    if (!sought.has(author) || isLost(messages.address(n), messages.bytes(n))) continue
    const json = text.text(messages.address(n), 1, messages.bytes(n))
    lost.set(author, JSON.stringify(JSON.parse(json).display_name))
    sought.delete(author)
  }
  for (const [n, nameJson] of lost) identities.renderAnew(n, nameJson)
  return [...sought].map((n) => identities.id(n))
}

function healThreads({ threads, messages, identities }: State, isLost: IsLost): string[] {
  const lost: string[] = []
  for (let n = 0; n < threads.count; n++) {
    const { address, bytes } = threads.entry(n)
    if (!isLost(address, bytes)) continue
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

function healMessages({ messages, identities, moderation }: State, isLost: IsLost): string[] {
  const lost: string[] = []
  for (let n = 0; n < messages.count; n++) {
    if (!isLost(messages.address(n), messages.bytes(n))) continue
    const signature = identities.signature(messages.author(n))
    // A removed message had no text to lose, and its entry must agree with the act (moderation.ts).
    if (moderation.find('removed', n) !== undefined) {
      messages.renderErased(n, signature)
      continue
    }
    messages.renderAnew(n, signature, lostText)
    lost.push(`msg_${messages.id(n)}`)
  }
  return lost
}

function healProposals({ proposals, identities }: State, isLost: IsLost): string[] {
  const lost: string[] = []
  for (let n = 0; n < proposals.count; n++) {
    if (!isLost(proposals.address(n), proposals.bytes(n))) continue
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
    proposals.renderAnew(n, { author_id: nobodyId, ...fields, ...text })
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

/** Returns the lost reviews, mapped to 0. The caller fills in the proposal of each. */
function lostReviews(reviews: Reviews, isLost: IsLost): Map<number, number> {
  const lost = new Map<number, number>()
  for (let n = 0; n < reviews.count; n++) {
    if (isLost(reviews.address(n), reviews.bytes(n))) lost.set(n, 0)
  }
  return lost
}
