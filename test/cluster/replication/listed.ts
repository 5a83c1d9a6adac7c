// The items of a page of a thread or a feed, as sightings.ts compares them.

import type { Shown } from './sightings.ts'

interface Listed {
  messages?: { seq: number; id: string }[]
  notifications?: { seq: number; message_id: string }[]
  has_more: boolean
}

/** Returns the items of an answer, and whether more follow. */
export function itemsOf(text: string): { items: Shown[]; hasMore: boolean } {
  const { messages, notifications, has_more: hasMore } = JSON.parse(text) as Listed
  const shown = (item: object, seq: number, id: string) => ({ seq, id, json: JSON.stringify(item) })
  const items = messages
    ? messages.map((item) => shown(item, item.seq, item.id))
    : notifications!.map((item) => shown(item, item.seq, item.message_id))
  return { items, hasMore }
}
