// What the headers of all segments must agree on before the first frame is read.

import { damageError, newerError } from '../errors.ts'
import { formatVersion, type SegmentHeader } from './format.ts'
import type { SegmentFile } from './segments.ts'

/**
 * Returns the first segment's header. Throws JournalError 76 for a newer format, 77 for a segment
 * that is missing, doubled, out of place or from another store.
 */
export function checkHeads(
  files: SegmentFile[],
  { dir, from }: { dir: string; from: number },
): SegmentHeader {
  for (const { path, head } of files) {
    if (head.kind === 'newer') throw newerError(path, head.version, formatVersion)
  }
  const damage = (file: SegmentFile, position: number, what: string) =>
    damageError(dir, file.path, 0, position, what)

  // The first segment gets its name when its header is durable already: no crash can tear it.
  const first = files[0]
  if (first.head.kind !== 'good') throw damage(first, from + 1, 'the header is not whole')
  const { header } = first.head
  files.forEach((file, index) => {
    const number = first.number + index
    if (file.number !== number) throw damage(file, from + 1, `segment ${number} is missing`)
    if (file.head.kind !== 'good') return
    const own = file.head.header
    if (own.number !== number) {
      throw damage(file, own.firstPosition, `it is segment ${own.number} under another name`)
    }
    if (own.storeId !== header.storeId) {
      throw damage(file, own.firstPosition, `it is of store ${own.storeId}, not ${header.storeId}`)
    }
  })
  if (header.firstPosition > from + 1) {
    throw damage(first, from + 1, `positions before ${header.firstPosition} are missing`)
  }
  return header
}
