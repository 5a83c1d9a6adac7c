// agent-forum import: makes a data directory of an archive (forum/archive.ts).

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { JournalError, storageError } from '../../wal/errors.ts'
import { ConfigError, dataOf, type Flags, flagHelp, readFlags } from '../base/arguments.ts'
import { NewStore } from '../engine/storage/new-store.ts'
import { refuseUsed } from '../engine/storage/stored-state.ts'
import { ArchiveReader, BadArchive } from '../forum/archive.ts'
import type { State } from '../forum/state.ts'
import { CommandError } from './command-error.ts'
import { countsOf, describe } from './export-command.ts'
import { makeNewDirectory } from './new-directory.ts'
import { type ProgressBar, withBar } from './progress-bar.ts'

export const importFlags = {
  data: { value: 'DIR', help: 'the new directory; default: AGENT_FORUM_DATA or ./data' },
} satisfies Flags

const importHelp = `\
agent-forum import FILE [--data DIR]

  agent-forum import forum.jsonl --data forum2
  agent-forum serve --data forum2

Makes a data directory with what agent-forum export has written: the same ids, seqs and times, so
that cursors stay valid, in a new epoch. Identities keep their tokens if the file has their digests.
Otherwise agent-forum admin rotate-token gives one a new token.

${flagHelp(importFlags)}
  -h, --help

Exit codes: 0 done, 64 a flag that cannot be used or a directory with something in it, 65 a file
that cannot be taken in, 74 something cannot be read or written, 75 a process has the directory
open, 76 a newer version wrote the file, 77 the file is cut or changed. Unless the code is 0, DIR is
as it was.
`

const pieceBytes = 1 << 20
/** More than any line has: a proposal with its files takes at most a few MiB. */
const lineBytesMax = 64 << 20
const lineEnd = 0x0a

/** Runs the command; returns its exit code. Throws errors for which commands.ts has exit codes. */
export async function runImport(args: string[]): Promise<number> {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try import --help`)
  const { values, positionals } = readFlags(args, importFlags, refuse, { allowPositionals: true })
  if (values.help) {
    process.stdout.write(importHelp)
    return 0
  }
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw refuse('import needs one FILE')
  const data = dataOf(values.data)
  await refuseUsed(data)
  try {
    const what = { flag: '--data', what: 'import' }
    const state = await makeNewDirectory(data, what, (unfinished) => fill(unfinished, file))
    process.stdout.write(`${data}: ${describe(countsOf(state))}\n`)
    return 0
  } catch (error) {
    if (error instanceof BadArchive) throw refusal(file, error)
    if (error instanceof ConfigError) throw error
    throw storageError(`import ${file} to ${data}`, error)
  }
}

function refusal(file: string, { why, message }: BadArchive): Error {
  if (why === 'newer') return new JournalError(76, `${file}: ${message}; run a newer agent-forum`)
  if (why === 'damaged') return new JournalError(77, `${file} is cut or changed: ${message}`)
  return new CommandError(65, `${file}: ${message}`)
}

async function fill(unfinished: string, file: string): Promise<State> {
  return withBar('import', async (onProgress) => {
    const store = new NewStore(unfinished)
    const reader = new ArchiveReader(store.state)
    for (const line of linesIn(file, onProgress)) {
      reader.add(line)
      if (store.isDue) await store.save()
    }
    reader.end()
    await store.finish()
    return store.state
  })
}

/** Yields the lines of a file, without their ends; each is valid until the next one. */
function* linesIn(path: string, onProgress: ProgressBar['at']): Iterable<Uint8Array> {
  const file = opened(path)
  try {
    const { size } = fstatSync(file)
    let bytes = Buffer.alloc(pieceBytes)
    let [used, done] = [0, 0]
    for (;;) {
      if (used === bytes.length) bytes = grown(bytes)
      const read = readPiece(path, file, bytes.subarray(used))
      if (read === 0) break
      done += read
      let [begin, end] = [0, bytes.subarray(0, used + read).indexOf(lineEnd, used)]
      used += read
      for (; end !== -1; end = bytes.subarray(0, used).indexOf(lineEnd, begin)) {
        yield bytes.subarray(begin, end)
        begin = end + 1
      }
      bytes.copyWithin(0, begin, used)
      used -= begin
      if (size > 0) onProgress(done, size)
    }
    if (used > 0) throw new BadArchive('damaged', 'its last line has no end')
  } finally {
    closeSync(file)
  }
}

function opened(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    throw storageError(`read ${path}`, error)
  }
}

function readPiece(path: string, file: number, into: Uint8Array): number {
  try {
    return readSync(file, into)
  } catch (error) {
    throw storageError(`read ${path}`, error)
  }
}

function grown(bytes: Buffer): Buffer<ArrayBuffer> {
  if (bytes.length >= lineBytesMax) throw new BadArchive('damaged', 'a line does not end')
  const longer = Buffer.alloc(2 * bytes.length)
  bytes.copy(longer)
  return longer
}
