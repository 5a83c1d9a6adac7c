// The treatment of the end of a log. The rule is a table; the code runs it.
//
//   … frame │ frame │ last good frame │ what follows
//           ▲ base                    ▲ end
//           everything before it      more bytes than zeros? does a good frame or header among
//           is known to be synced     them say that bytes from `end` on had been synced?
//
// A crash can reach one segment beyond the base, never two: less than half a segment is ever
// written beyond what a frame calls synced (see `journalLimits`). And a segment is made only when
// the one before it has a synced header (P1 in spare.ts): one may follow the end, not two.

import assert from 'node:assert/strict'
import { lastNonZero, readFrame, sectorBytes } from './format.ts'
import type { SegmentFile } from './segments.ts'
import type { LogPlace } from './types.ts'

interface Tail {
  /** Other bytes than zeros follow the last good frame. */
  follows: boolean
  /** A good frame or header further on has a watermark above the last good position. */
  promised: boolean
  /** Some bytes lie more than one segment beyond the base, or a segment two behind the end. */
  far: boolean
  /** The last good frame is a seal: all records are known to be synced. */
  sealed: boolean
}

export type TailVerdict = 'continue' | 'settle' | 'cut' | 'damage'

const _ = null
type Row = { why: string; when: [boolean | null, boolean | null, boolean | null, boolean | null] }

// biome-ignore format: a table
export const tailRule: readonly (Row & { do: TailVerdict })[] = [
  //                                                 follows promised far   sealed
  { why: 'closed, or idle when it died',       when: [false, _,     false, true ], do: 'continue' },
  { why: 'died before the seal',               when: [false, _,     false, false], do: 'settle' },
  { why: 'a segment that had begun is empty',  when: [false, _,     true,  _    ], do: 'damage' },
  { why: 'a torn tail',                        when: [true,  false, false, _    ], do: 'cut' },
  { why: 'synced bytes have changed',          when: [true,  true,  _,     _    ], do: 'damage' },
  { why: 'bytes where no crash can leave any', when: [true,  false, true,  _    ], do: 'damage' },
]

/** The one row that fits. */
export function judgeTail(tail: Tail): (typeof tailRule)[number] {
  const facts = [tail.follows, tail.promised, tail.far, tail.sealed]
  const rows = tailRule.filter((row) =>
    row.when.every((want, i) => want === _ || want === facts[i]),
  )
  assert(rows.length === 1)
  return rows[0]
}

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
export async function scanRest(
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
