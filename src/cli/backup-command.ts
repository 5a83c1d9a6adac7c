// agent-forum backup: copies the data directory of a node, running or not, to a new directory on
// which a node can be started. A running node is neither involved nor affected.
//
// B1. The copy gets its name once it is whole, synced, and read back without a fault.
// B2. It ends at one position, and has everything that was answered before the backup began.
// B3. Existing files are never overwritten.

import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { realDisk } from '../../wal/disk.ts'
import { codeOf, JournalError, storageError } from '../../wal/errors.ts'
import { inspectLog } from '../../wal/tools/inspect.ts'
import { copyCheckpoint, copyLiveLog } from '../../wal/tools/live-copy.ts'
import { ConfigError, dataOf, type Flags, flagHelp, readFlags } from '../base/arguments.ts'
import { pluralize } from '../base/text.ts'
import { beginEpochAt, copySecret } from '../engine/storage/node-files.ts'
import { makeNewDirectory } from './new-directory.ts'
import { progressBar } from './progress-bar.ts'

export const backupFlags = {
  data: { value: 'DIR', help: 'data directory of the node; default: AGENT_FORUM_DATA or ./data' },
  to: { value: 'DIR2', help: 'where the copy goes: a new directory' },
  json: { value: null, help: 'report the contents of the copy as JSON' },
} satisfies Flags

const backupHelp = `\
agent-forum backup [--data DIR] --to DIR2 [--json]

  agent-forum backup --data /var/lib/forum --to backups/monday
  agent-forum serve --data backups/monday     restores it

Copies the data directory of a node, running or not, to the new directory DIR2, reads the copy
back, and says what is in it. To restore it, start a node on DIR2, or on a copy of it.

${flagHelp(backupFlags)}
  -h, --help

Exit codes: 0 done, 64 a flag that cannot be used or no log, 74 something cannot be read or written,
76 another version wrote the data, 77 damage. Unless the code is 0, there is no DIR2.
`

// While files are copied, a starting node or a checkpoint may move them, which takes moments.
const attemptsMax = 5

/** Runs the command; returns its exit code. Throws errors for which commands.ts has exit codes. */
export async function runBackup(args: string[]): Promise<number> {
  const options = parse(args)
  if (options === null) {
    process.stdout.write(backupHelp)
    return 0
  }
  const { data, to, json } = options
  try {
    const what = { flag: '--to', what: 'backup' }
    const copy = await makeNewDirectory(to, what, (unfinished) => makeCopy(data, unfinished))
    process.stdout.write(`${json ? JSON.stringify({ to, ...copy }) : describe(to, copy)}\n`)
    return 0
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw storageError(`back up ${data} to ${to}`, error)
  }
}

/** The content of a copy, as `--json` prints it. */
interface Copy {
  /** The position at which it ends. */
  position: number
  /** The position of its checkpoint, or 0 if it has none. */
  checkpoint: number
  records: number
  segments: number
  bytes: number
  hasSecret: boolean
}

/** Makes the copy at `to`, and reads it back. */
async function makeCopy(data: string, to: string): Promise<Copy> {
  if (!existsSync(data)) throw new ConfigError(`there is no log in ${data}`)
  const { position, checkpoint } = await copyState(data, to)
  const hasSecret = copySecret({ disk: realDisk, dir: data }, to)
  beginEpochAt({ disk: realDisk, dir: to }, position)
  const { log, error, files } = await readBack(to)
  if (error !== null) throw error
  if (log?.end.position !== position) throw new JournalError(74, `${to} does not read back intact`)
  const records = log.segments.reduce((sum, segment) => sum + segment.records, 0)
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  return { position, checkpoint, records, segments: files.length, bytes, hasSecret }
}

function describe(to: string, copy: Copy): string {
  const { position, checkpoint, records, segments, bytes, hasSecret } = copy
  return (
    `${to} ends at position ${position}: ` +
    (checkpoint === 0 ? '' : `a checkpoint at position ${checkpoint}, `) +
    `${pluralize(records, 'record')} in ${pluralize(segments, 'segment')}, ` +
    `${(bytes / 2 ** 20).toFixed(1)} MiB, read back without a fault` +
    (hasSecret ? '' : '; there was no secret to copy: keep AGENT_FORUM_SECRET with it')
  )
}

interface Copied {
  position: number
  /** The position of its checkpoint, after which its log begins, or 0 if there is none. */
  checkpoint: number
}

async function copyState(dir: string, to: string): Promise<Copied> {
  for (let attempt = 1; ; attempt++) {
    mkdirSync(to, { mode: 0o700, recursive: true })
    const bar = progressBar('copy')
    try {
      const manifest = await copyCheckpoint({ disk: realDisk, dir }, to)
      const from = manifest?.position ?? 0
      const position = copyLiveLog({ disk: realDisk, dir, to, from, onProgress: bar.at })
      if (position === null) throw new ConfigError(`there is no log in ${dir}`)
      return { position, checkpoint: from }
    } catch (error) {
      if (attempt === attemptsMax || !isTransient(error)) throw error
      rmSync(to, { recursive: true })
    } finally {
      bar.stop()
    }
  }
}

/** Returns whether files that are being moved may have caused the error. */
function isTransient(error: unknown): boolean {
  const isDamage = error instanceof JournalError && error.exitCode === 77
  return isDamage || codeOf((error as Error).cause ?? error) === 'ENOENT'
}

async function readBack(to: string): Promise<Awaited<ReturnType<typeof inspectLog>>> {
  const bar = progressBar('read back')
  try {
    return await inspectLog(to, { onProgress: bar.at })
  } finally {
    bar.stop()
  }
}

function parse(args: string[]): { data: string; to: string; json: boolean } | null {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try backup --help`)
  const { values } = readFlags(args, backupFlags, refuse)
  if (values.help) return null
  if (values.to === undefined || values.to === '') throw new ConfigError('backup needs --to DIR2')
  return { data: dataOf(values.data), to: join(values.to), json: values.json ?? false }
}
