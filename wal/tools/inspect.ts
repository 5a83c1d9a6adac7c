// The reports of `agent-forum wal verify`, `inspect` and `export`. Reads only. Refuses a directory
// in use, because a log that is being written looks torn, or worse.

import path from 'node:path'
import { pluralize } from '../../src/base/text.ts'
import { placesOf } from '../checkpoint/manifest.ts'
import { type Disk, realDisk } from '../disk.ts'
import { damageError, isOfSystem, JournalError, storageError } from '../errors.ts'
import { refuseIfInUse } from '../journal/lock.ts'
import { type LogEnd, type ScanOptions, scanLog } from '../journal/scan.ts'
import { checkHeads, listSegments, positionBefore, type SegmentFile } from '../journal/segments.ts'
import { type CheckedCheckpoint, checkCheckpoints } from './checkpoint-check.ts'

export interface LogReport {
  files: SegmentFile[]
  /** Names of torn tails, and of tails that `putAside` cut off, which were put aside. */
  torn: string[]
  /** Newest first. */
  checkpoints: CheckedCheckpoint[]
  /** How the log ends; null when there is none, or an error. */
  log: LogEnd | null
  /** The error that `openJournal` would fail with: exit code 74 to 77 and its message. */
  error: JournalError | null
}

export interface InspectOptions extends Partial<Pick<ScanOptions, 'onRecord' | 'onProgress'>> {
  disk?: Disk
}

/**
 * Reads the whole log in `dir`, checks every byte of it, and passes its records to `onRecord`; for
 * a damaged log only those before the damage. `onRecord` must not throw system errors, which would
 * be reported as failures to read.
 */
export async function inspectLog(
  dir: string,
  { onRecord = () => {}, onProgress, disk = realDisk }: InspectOptions = {},
): Promise<LogReport> {
  const report: LogReport = { files: [], torn: [], checkpoints: [], log: null, error: null }
  try {
    await refuseIfInUse(disk, dir)
    report.torn = namesIn(disk, dir).filter((name) => /\.wal\.(?:torn|replaced)/.test(name))
    report.files = listSegments(disk, dir)
    const from = positionBefore(report.files)
    const { files, error } = beforeBadHead(report.files, { dir, from })
    report.error = error
    const log = await scanLog({ disk, dir, from, onRecord, onProgress, files })
    report.checkpoints = await checkCheckpoints({ disk, dir })
    if (error === null) {
      report.log = log
      report.error = checkpointError(dir, report, from)
    }
  } catch (error) {
    if (error instanceof JournalError) report.error = error
    else if (isOfSystem(error)) report.error = storageError(`read ${dir}`, error)
    else throw error
  }
  return report
}

// The error of a log that is whole, but whose checkpoints are damaged or do not match it.
function checkpointError(dir: string, report: LogReport, begin: number): JournalError | null {
  const { log, checkpoints, files } = report
  const bad = checkpoints.find(({ manifest }) => manifest === null)
  if (bad !== undefined) {
    const next = 'a start puts it aside, and continues from an older one and more of the log'
    return new JournalError(77, `${path.join(dir, bad.name)} is damaged: ${bad.why}; ${next}`)
  }
  const harmless = harmlessDamage(dir, checkpoints)
  if (harmless !== null) return new JournalError(77, harmless)
  const { position = 0, storeId } = checkpoints[0]?.manifest ?? {}
  const end = log?.end.position ?? 0
  if (storeId !== undefined && log !== null && storeId !== log.storeId) {
    return new JournalError(
      77,
      `${checkpoints[0].name} belongs to store ${storeId}, the log to another`,
    )
  }
  const place = (what: string) =>
    damageError(dir, files.at(-1)?.path ?? dir, log?.end.at ?? 0, end + 1, what)
  if (position > end) return place(`the log ends here, but was known to reach ${position}`)
  return begin > position ? place(`positions before ${begin + 1} are missing`) : null
}

/** Damage that parity or a running node repairs, as a sentence; null: there is none. */
function harmlessDamage(dir: string, checkpoints: CheckedCheckpoint[]): string | null {
  const rebuilt = checkpoints.flatMap(({ rebuilt }) => rebuilt)
  if (rebuilt.length > 0) {
    const pages = [
      ...new Map(rebuilt.map((page) => [`${page.file} ${page.offset}`, page])).values(),
    ]
    return `in ${dir} pages are damaged: ${placesOf(pages)}; a start rebuilds them from parity`
  }
  const parity = new Set(checkpoints.flatMap(({ badParity }) => badParity))
  if (parity.size === 0) return null
  return `in ${dir} parity is damaged: ${[...parity].join(', ')}; a running node rewrites it`
}

// The segments before the first one whose header is wrong, and the error of that one.
function beforeBadHead(
  files: SegmentFile[],
  options: { dir: string; from: number },
): { files: SegmentFile[]; error: JournalError | null } {
  let error: JournalError | null = null
  for (let count = files.length; count > 0; count--) {
    try {
      checkHeads(files.slice(0, count), options)
      return { files: files.slice(0, count), error }
    } catch (thrown) {
      if (!(thrown instanceof JournalError)) throw thrown
      error ??= thrown
    }
  }
  return { files: [], error }
}

/** One line per segment, torn tail and checkpoint, and one for the end of the log. */
export function describeReport({ files, torn, checkpoints, log, error }: LogReport): string[] {
  const lines = files.map((file) => {
    const { number, name, size, head } = file
    const summary = log?.segments.find((segment) => segment.number === number)
    if (summary !== undefined) {
      const { firstPosition, lastPosition, records, frames } = summary
      const contents = `${pluralize(records, 'record')} in ${pluralize(frames, 'frame')}`
      if (records === 0) return `${name}: ${size} bytes, ${contents}`
      return `${name}: ${size} bytes, ${rangeOf(firstPosition, lastPosition)}, ${contents}`
    }
    if (head.kind === 'zero') return `${name}: ${size} bytes, not used yet`
    if (head.kind !== 'good') return `${name}: ${size} bytes, its header cannot be read`
    return `${name}: ${size} bytes, from position ${head.header.firstPosition}`
  })
  for (const name of torn) {
    const what = name.includes('.torn') ? 'a torn tail' : 'a tail of the log'
    lines.push(`${name}: ${what} that was put aside`)
  }
  for (const { name, manifest, why } of checkpoints) {
    lines.push(`${name}: ${manifest === null ? why : `whole, position ${manifest.position}`}`)
  }
  if (error !== null) return [...lines, error.message]
  if (log === null) return [...lines, 'no log here']
  const { storeId, end, verdict } = log
  const place = `${path.basename(files.find((file) => file.number === end.number)!.name)}:${end.at}`
  return [
    ...lines,
    `store ${storeId} ends at ${place}, position ${end.position}: ${endings[verdict]}`,
  ]
}

/**
 * Returns the report for programs, as `--json` prints it: without the fields that only further
 * reading of the log needs.
 */
export function summarizeReport(report: LogReport) {
  const { files, torn, checkpoints, log, error } = report
  const segments = files.map(({ number, name, size }) => {
    const summary = log?.segments.find((segment) => segment.number === number)
    return {
      name,
      bytes: size,
      firstPosition: summary?.firstPosition ?? null,
      lastPosition: summary?.lastPosition ?? null,
      records: summary?.records ?? null,
      frames: summary?.frames ?? null,
    }
  })
  return {
    /** The fault, in a sentence; null: there is none. */
    error: error?.message ?? null,
    storeId: log?.storeId ?? null,
    /** The position of the last good record; null with an error. */
    position: error === null ? (log?.end.position ?? null) : null,
    /** How the log ends: sealed, whole (not sealed) or torn; null with an error. */
    end: error === null && log !== null ? ends[log.verdict] : null,
    /** Positions and counts are null where a segment was not read, or is not used yet. */
    segments,
    /** Names of torn tails, and of tails that `putAside` cut off, which were put aside. */
    torn,
    /** Newest first; one whose position is null is damaged, and `error` says why. */
    checkpoints: checkpoints.map(({ name, manifest, why }) => ({
      name,
      position: manifest?.position ?? null,
      error: manifest === null ? why : null,
    })),
  }
}

const ends = { continue: 'sealed', settle: 'whole', cut: 'torn' } as const

function rangeOf(first: number, last: number): string {
  return first === last ? `position ${first}` : `positions ${first}..${last}`
}

function namesIn(disk: Disk, dir: string): string[] {
  try {
    return disk.list(dir)
  } catch (error) {
    throw storageError(`read ${dir}`, error)
  }
}

const endings = {
  continue: 'sealed',
  settle: 'not sealed, whole',
  cut: 'a torn tail follows, which the next start puts aside',
}
