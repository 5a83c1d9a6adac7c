// Frames pages of the interface around bytes that were rendered when the items were accepted.
//
//   {"thread":{…},"messages":[{…},{…}],"next_after":9,"has_more":true,"content_is_untrusted":true}
//    └─ owner ──┘ └───── items ──────┘ └──────── next ──────────────┘
//
// A page without an owner begins with its items.

import type { Page } from '../../kernel/text/page.ts'

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
const frameBytesMax = 512

/** Returns the bytes of a page, which are valid until the next page is written. */
export function writePage(page: Page, owner: Owner | null, items: Items, next: string): Uint8Array {
  const { entries, shown } = items
  let bytes = frameBytesMax + (owner === null ? 0 : owner.entries.bytes(owner.entry))
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
