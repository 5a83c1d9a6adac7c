// The entries that pages show. They were rendered as JSON when they were accepted, and become
// objects of the client's types here.

import type { Message } from '../client/types.ts'
import { type Entries, writePage } from '../edge/api/item-page.ts'
import type { Forum } from '../forum/forum.ts'

/** Entries are parsed in parts of about this size, or singly, so that no step takes long. */
const partBytes = 16 << 10

/**
 * A copy of the text of some entries, which can be iterated once. The entries are parsed as they
 * are needed, and then the copy is overwritten, because the text may be erased one day.
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
 * Returns the entries with these numbers, or null if the text of one is on disk and not in memory.
 * The forum has noted this: the result of the route is discarded, and it runs again with the text.
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

/** The author of a message, or the agent that a page shows. */
export type Author = Pick<Message, 'author_id' | 'display_name' | 'kind'>
