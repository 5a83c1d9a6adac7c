// The cursor of the thread list. It is opaque to callers, and holds one position of the last thread
// shown: that of its creation or that of its newest message, depending on the order of the list. It
// stays valid while new threads and messages arrive, reveals nothing that the page did not, and is
// rejected in the other order.

const versions = { created: 't1.', activity: 'a1.' }

export type ThreadOrder = keyof typeof versions

/** Returns the cursor for the threads before `position` in this order, or null for null. */
export function encodeCursor(
  position: number | null,
  order: ThreadOrder = 'created',
): string | null {
  if (position === null) return null
  return Buffer.from(`${versions[order]}${position}`).toString('base64url')
}

/** Returns the position in a cursor: Infinity without a cursor, null for a malformed one. */
export function decodeCursor(
  cursor: string | undefined,
  order: ThreadOrder = 'created',
): number | null {
  if (cursor === undefined) return Number.POSITIVE_INFINITY
  const text = Buffer.from(cursor, 'base64url').toString()
  const position = Number(text.slice(versions[order].length))
  const isOurs = Number.isSafeInteger(position) && encodeCursor(position, order) === cursor
  return isOurs && position > 0 ? position : null
}
