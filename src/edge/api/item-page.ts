// Frames pages of the interface around bytes that were rendered when the items were accepted.
//
//   {"thread":{…},"messages":[{…},{…}],"next_after":9,"has_more":true,"content_is_untrusted":true}
//    └─ owner ──┘ └───── items ──────┘ └──────── next ──────────────┘
//
// A page without an owner begins with its items.
//
// P1. An answer whose search takes several event-loop iterations (kernel/sliced-work.ts) is sent
//     later, when the page buffer may hold another one, so its body is a copy.
// P2. If a text on such a page has to be read from disk, the request runs again. The result of the
//     search is kept until then, because a second search would take as long, and by its end the
//     text could have left memory again.

import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Page } from '../../kernel/text/page.ts'
import type { Outcome, Service } from './route.ts'

/** Rendered entries of one kind, each identified by its number. */
export interface Entries {
  /** Returns the entry's address in the text. */
  address(entry: number): number
  /** Returns the maximum number of bytes that `write` appends. */
  bytes(entry: number): number
  /** Appends the entry's JSON, preceded by a comma unless it is the first. */
  write(page: Page, entry: number, isFirst: boolean): void
}

interface Owner {
  name: string
  entries: Entries
  entry: number
}

interface Items {
  name: string
  entries: Entries
  shown: ArrayLike<number>
}

/** The maximum number of bytes of a page besides its entries. */
const envelopeBytesMax = 512

/** Returns the bytes of a page, which are valid until the next page is written. */
export function writePage(page: Page, owner: Owner | null, items: Items, next: string): Uint8Array {
  const { entries, shown } = items
  let bytes = envelopeBytesMax + (owner === null ? 0 : owner.entries.bytes(owner.entry))
  for (let i = 0; i < shown.length; i++) bytes += entries.bytes(shown[i])
  page.begin(shown.length > 0 ? entries.address(shown[0]) : 0, bytes)
  page.text('{')
  if (owner !== null) {
    page.text(`"${owner.name}":`)
    owner.entries.write(page, owner.entry, true)
    page.text(',')
  }
  page.text(`"${items.name}":[`)
  for (let i = 0; i < shown.length; i++) entries.write(page, shown[i], i === 0)
  page.text(`],${next},"content_is_untrusted":true}`)
  return page.finish()
}

/** Returns the properties that lead to the page after the items, or to the page before them. */
export function nextPage(position: number, hasMore: boolean, direction = 'after'): string {
  return `"next_${direction}":${position},"has_more":${hasMore}`
}

// The cursor of the thread list. It is opaque to callers, and holds one position of the last thread
// shown: that of its creation or that of its newest message, depending on the order of the list. It
// stays valid while new threads and messages arrive, reveals nothing that the page did not, and is
// rejected in the other order.

const versions = { created: 't1.', activity: 'a1.' }

export type ThreadOrder = keyof typeof versions

/** Returns the cursor for the threads before `position` in this order, or null for null. */
export function encodeCursor(position: number | null, order: ThreadOrder): string | null {
  if (position === null) return null
  return Buffer.from(`${versions[order]}${position}`).toString('base64url')
}

/** Returns the position in a cursor: Infinity without a cursor, null for a malformed one. */
export function decodeCursor(cursor: string | undefined, order: ThreadOrder): number | null {
  if (cursor === undefined) return Number.POSITIVE_INFINITY
  const text = Buffer.from(cursor, 'base64url').toString()
  const position = Number(text.slice(versions[order].length))
  const isOurs = Number.isSafeInteger(position) && encodeCursor(position, order) === cursor
  return isOurs && position > 0 ? position : null
}

/** Results of searches, kept for calls that run again (P2). */
const kept = new WeakMap<object, unknown>()

/**
 * Returns the result that an earlier run of the call has kept, and forgets it. Undefined means that
 * the search has yet to be done.
 */
export function takeFound<Found>(call: object): Found | undefined {
  const found = kept.get(call) as Found | undefined
  kept.delete(call)
  return found
}

/** Keeps the result of a search for a call that is going to run again (P2). */
export function keepFound(call: object, found: object): void {
  kept.set(call, found)
}

/** Resolves with the answer that `write` makes of the search's result. */
export async function answerLater<Found extends object>(
  { forum }: Service,
  call: object,
  finding: Promise<Found | Rejection>,
  write: (found: Found) => Outcome,
): Promise<Outcome> {
  const found = await finding
  if (isRejection(found)) return found
  const outcome = write(found)
  if (isRejection(outcome)) return outcome
  if (forum.coldReads.isNeeded) keepFound(call, found)
  return { ...outcome, body: Buffer.from(outcome.body), isOwn: true }
}
