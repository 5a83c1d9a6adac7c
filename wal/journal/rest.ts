// Examines what follows the last good frame: only zeros, or bytes that tail-rule.ts must judge.

import { lastNonZero, readFrame, sectorBytes } from './format.ts'
import type { SegmentFile } from './segments.ts'
import type { LogPlace } from './types.ts'

export interface Rest {
  /** The range of bytes other than zeros, in each segment that has any. */
  torn: { number: number; from: number; to: number }[]
  /** Segments that contain only zeros, ready for use. */
  spares: { number: number; size: number }[]
  /** Which header or frame says that more than the last good frame had been synced; null: none. */
  promise: string | null
}

interface ReadLog {
  files: SegmentFile[]
  /** After the last good frame. */
  end: LogPlace
  seed: number
}

/** `last` is the index of the segment that the log ends in, `bytes` its content. */
export async function lookBehind(
  log: ReadLog,
  last: number,
  bytes: Buffer,
  load: (index: number) => Promise<Buffer>,
): Promise<Rest> {
  const rest: Rest = { torn: [], spares: [], promise: null }
  for (let index = last; index < log.files.length; index++) {
    const { number, size } = log.files[index]
    const segment = index === last ? bytes : await load(index)
    const from = index === last ? log.end.at : 0
    const to = lastNonZero(segment, from)
    if (to > from) {
      rest.torn.push({ number, from, to })
      rest.promise ??= findPromise(log, log.files[index], segment, from)
    } else if (index > last) {
      rest.spares.push({ number, size })
    }
  }
  return rest
}

// A frame within the rest may be good, but only its watermark matters (format.ts, J2).
export function findPromise(
  { end, seed }: Pick<ReadLog, 'end' | 'seed'>,
  { name, head }: Pick<SegmentFile, 'name' | 'head'>,
  bytes: Buffer,
  from: number,
): string | null {
  if (from === 0 && head.kind === 'good' && head.header.watermark > end.position) {
    return `${name} says that position ${head.header.watermark} was synced`
  }
  for (let at = from; at < bytes.length; at += sectorBytes) {
    const frame = readFrame(bytes, at, seed)
    if (frame === null || frame.watermark <= end.position) continue
    return `the frame at ${name}:${at} says that position ${frame.watermark} was synced`
  }
  return null
}
