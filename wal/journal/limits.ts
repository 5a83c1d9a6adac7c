// How much may be written, given the size of a segment.

import assert from 'node:assert/strict'
import {
  frameBytesMax,
  frameHeaderBytes,
  recordBytesMax,
  recordHeaderBytes,
  sectorBytes,
  segmentBytesMax,
  segmentHeaderBytes,
} from './format.ts'

const segmentBytesMin = 16 * 1024

export interface JournalLimits {
  segmentBytes: number
  recordBytesMax: number
  /** Most that may wait for a sync: the open batch, and frames that are written. */
  unsyncedBytesMax: number
  /** A batch as long as this goes out beside syncs in flight; a shorter one waits for them. */
  besideBytesMin: number
}

/** `segmentBytes` is a whole number of sectors, from 16 KiB to 1 GiB. */
export function journalLimits(segmentBytes: number): JournalLimits {
  assert(segmentBytes % sectorBytes === 0)
  assert(segmentBytes >= segmentBytesMin)
  assert(segmentBytes <= segmentBytesMax)
  const limits = {
    segmentBytes,
    recordBytesMax: Math.min(recordBytesMax, segmentBytes / 16),
    unsyncedBytesMax: Math.min(frameBytesMax, segmentBytes / 4),
    besideBytesMin: Math.min(4096, segmentBytes / 32),
  }
  const largestFrame = frameHeaderBytes + recordHeaderBytes + limits.recordBytesMax + sectorBytes
  // A record of the largest size can be written when nothing waits.
  assert(largestFrame <= limits.unsyncedBytesMax)
  // A new segment has room for any batch, with its header before and a seal after it.
  assert(segmentHeaderBytes + limits.unsyncedBytesMax + sectorBytes <= segmentBytes)
  // What a crash can tear, from the last watermark to the last byte, is less than a segment is
  // filled before the next one begins: so it reaches into one more segment, never into two. A
  // segment that begins early, for `separate`, is preceded by a sync of such a watermark instead.
  assert(2 * limits.unsyncedBytesMax < segmentBytes - limits.unsyncedBytesMax)
  return limits
}
