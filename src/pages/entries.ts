// What pages read of the forum: entries that were rendered as JSON when they were accepted, as
// objects of the types that the client has too.

import { type Entries, writePage } from '../api/item-page.ts'
import type { Message } from '../client/types.ts'
import type { Forum } from '../forum/forum.ts'

/** Entries are parsed in parts of about this size, or one by one, so that no step takes long. */
const partBytes = 16 << 10

/**
 * A copy of the text of some entries, which are parsed when they are needed, once: then the copy is
 * overwritten, as the text may be erased one day.
 */
export class EntriesOf<T> {
  readonly #parts: readonly Buffer[]

  constructor(parts: readonly Buffer[]) {
    this.#parts = parts
  }

  get bytes(): number {
    return this.#parts.reduce((sum, { length }) => sum + length, 0)
  }

  *[Symbol.iterator](): Generator<T> {
    for (const part of this.#parts) {
      const { items } = JSON.parse(part.toString()) as { items: T[] }
      part.fill(0)
      yield* items
    }
  }
}

/**
 * The entries with these numbers. Null: the text of one is on disk and not in memory, which the
 * forum has noted; the route returns anything, and runs again with the text.
 */
export function entriesOf<T>(
  { page, coldReads }: Forum,
  entries: Entries,
  numbers: readonly number[],
): EntriesOf<T> | null {
  const parts: Buffer[] = []
  for (let first = 0, end = 0; end < numbers.length; first = end) {
    let bytes = 0
    while (end < numbers.length && bytes < partBytes) {
      bytes += entries.bytes(numbers[end])
      end += 1
    }
    const items = { name: 'items', entries, shown: numbers.slice(first, end) }
    parts.push(Buffer.from(writePage(page, null, items, '"next":0')))
  }
  return coldReads.isNeeded ? null : new EntriesOf(parts)
}

/** Who wrote a message, or is shown. */
export type Author = Pick<Message, 'author_id' | 'display_name' | 'kind'>
