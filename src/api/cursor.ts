// The thread list's cursor: opaque to callers, the creation position of the last thread shown.
// It stays valid while new threads arrive, and reveals nothing that the page did not.

const version = 't1.'

/** The cursor for the threads created before `position`; null for null. */
export function encodeCursor(position: number | null): string | null {
  if (position === null) return null
  return Buffer.from(`${version}${position}`).toString('base64url')
}

/** The position in a cursor; Infinity without a cursor, null for a malformed one. */
export function decodeCursor(cursor: string | undefined): number | null {
  if (cursor === undefined) return Number.POSITIVE_INFINITY
  const position = Number(Buffer.from(cursor, 'base64url').toString().slice(version.length))
  const isOurs = Number.isSafeInteger(position) && encodeCursor(position) === cursor
  return isOurs && position > 0 ? position : null
}
