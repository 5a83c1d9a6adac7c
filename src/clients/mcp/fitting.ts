// Shortens the result of a tool to what a model has room for (`max_chars`).
//
//   too long ── contents are cut, the longest first, down to `contentMin` characters
//      └─ still ── items are left out, where the list goes on
//            └─ one is left ── its content is cut further; it is shown however long the rest is
//
// L1. `left_out` says what is missing, and which call shows it.
// L2. A page with fewer items is a shorter page of the same list: its cursor leads to those that
//     are left out, so that a reader who continues misses nothing.

import { contentCharactersMax, cutContent, pluralize, type WithContent } from '../../base/text.ts'
import type { ThreadPage } from '../../client/index.ts'
import { enclosed } from './untrusted.ts'

export const charactersDefault = 12_000
const contentMin = 200
/** Of a result, besides its JSON: the marks around it, and `left_out`. */
const marksLength = enclosed({}).join('').length - '{}'.length
const leftOutMax = 300

interface Item extends Partial<WithContent> {
  seq?: number
  id?: string
}

/** A kind of page. */
interface Listing {
  items: 'messages' | 'notifications' | 'results' | 'identities' | 'threads'
  noun: string
  /** Returns the index of the item that is left out next, of this many. */
  next(count: number): number
  /** Returns the cursors of the page with these items, which leads to those left out. */
  cursors(shown: readonly Item[]): object
  /** The cursor that leads to them. */
  cursor: string
}

const last = (count: number) => count - 1
const forwards = (shown: readonly Item[]) => ({ next_after: shown.at(-1)!.seq, has_more: true })
const messages = { items: 'messages', noun: 'message' } as const

export const listings = {
  messages: { ...messages, next: last, cursors: forwards, cursor: 'next_after' },
  newest: {
    ...messages,
    next: () => 0,
    cursors: ([first]) => ({ next_before: first!.seq, has_more: true }),
    cursor: 'next_before',
  },
  /** The first message, and the newest ones. */
  ends: {
    ...messages,
    next: () => 1,
    cursors: ([, second]) => ({ next_before: second?.seq ?? null, has_more: true }),
    cursor: 'next_before',
  },
  feed: {
    ...{ items: 'notifications', noun: 'message' },
    ...{ next: last, cursors: forwards, cursor: 'next_after' },
  },
  results: {
    ...{ items: 'results', noun: 'result', next: last },
    cursors: (shown) => ({ next_before: shown.at(-1)!.seq, has_more: true }),
    cursor: 'next_before',
  },
  agents: {
    ...{ items: 'identities', noun: 'agent', next: last },
    cursors: (shown) => ({ next_after: shown.at(-1)!.id, has_more: true }),
    cursor: 'next_after',
  },
  /** Only the service can make the cursor of this list. */
  threads: {
    ...{ items: 'threads', noun: 'thread', next: last, cursor: 'next_cursor' },
    cursors: () => ({}),
  },
} satisfies Record<string, Listing>

/** Returns the page as it is, or shortened so that the text of the result has at most `max`. */
export function fitted<Page extends object>(page: Page, listing: Listing, max: number): Page {
  const lengthOf = (value: object) => JSON.stringify(value).length
  const room = max - marksLength
  if (lengthOf(page) <= room) return page
  const all = (page as Record<string, readonly Item[]>)[listing.items]
  let [items, shown, charactersMax] = [all, all, contentCharactersMax]
  const cutTo = (max: number) => {
    charactersMax = max
    shown = items.map((item) => cutItem(item, max))
  }
  for (;;) {
    const isOne = items.length === 1
    const cursors = items === all ? {} : listing.cursors(items)
    const shorter = { ...page, ...cursors, [listing.items]: shown }
    const isLast = items.length === 0 || (isOne && charactersMax === 0)
    if (isLast || lengthOf(shorter) <= room - leftOutMax) {
      return { ...shorter, left_out: leftOut(all.length - items.length, shown, listing) }
    }
    if (charactersMax > contentMin) cutTo(Math.max(contentMin, charactersMax >> 1))
    else if (isOne) cutTo(charactersMax >> 1)
    else {
      const next = listing.next(items.length)
      items = items.toSpliced(next, 1)
      shown = shown.toSpliced(next, 1)
    }
  }
}

function cutItem(item: Item, charactersMax: number): Item {
  return item.content === undefined ? item : cutContent(item as WithContent, charactersMax)
}

function leftOut(count: number, shown: readonly Item[], { noun, cursor }: Listing): string {
  const missing = `${pluralize(count, noun)} of this page left out: ${cursor} leads there.`
  return [...(count > 0 ? [missing] : []), ...aboutCut(shown)].join(' ')
}

/** Fits a page with the first message of a thread and its newest ones. */
export function fittedOverview(page: ThreadPage, max: number): ThreadPage {
  const short = fitted(page, listings.ends, max - leftOutMax)
  const count = page.thread.message_count - short.messages.length
  if (count <= 0) return short
  const missing =
    `${pluralize(count, 'message')} after the first one left out: last, with before ` +
    `${short.next_before}, reads the newest of them, and after the oldest.`
  const left_out = [missing, ...aboutCut(short.messages)].join(' ')
  return { ...short, left_out } as ThreadPage
}

function aboutCut(shown: readonly object[]): string[] {
  return shown.some((item) => 'content_truncated' in item) ? [wholeContent] : []
}

const wholeContent =
  'Contents with content_truncated are cut: read_thread with after one less than the seq, and ' +
  'limit 1, shows one of them whole, or as much of it as max_chars allows.'
