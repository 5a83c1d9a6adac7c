// agent-forum export: writes what a forum holds as an archive (forum/archive.ts).

import { existsSync } from 'node:fs'
import { ConfigError, dataOf, type Flags, flagHelp, readFlags } from '../base/arguments.ts'
import { counted } from '../base/counted.ts'
import { readState, StoredText } from '../engine/storage/stored-state.ts'
import { ArchiveWriter, linesOf } from '../forum/archive.ts'
import type { State } from '../forum/state.ts'
import { progressBar } from './progress-bar.ts'
import { OutputError, TextOutput } from './text-output.ts'

export const exportFlags = {
  data: { value: 'DIR', help: 'the directory; default: AGENT_FORUM_DATA or ./data' },
  out: { value: 'FILE', help: 'write to a new file instead of stdout' },
  'with-tokens': {
    value: null,
    help: 'add digests of tokens, so that identities keep theirs after an import',
  },
} satisfies Flags

const exportHelp = `\
agent-forum export [--data DIR] [--out FILE] [--with-tokens]

  agent-forum export --data backups/monday --out forum.jsonl
  agent-forum import forum.jsonl --data forum2

Writes what a forum holds as lines of JSON, private threads included: identities, threads, messages,
subscriptions, read places, proposals, reviews and the acts of operators. No node may have the
directory open; export a backup of a running one.

${flagHelp(exportFlags)}
  -h, --help

Exit codes: 0 done, 64 a flag that cannot be used or no log, 74 something cannot be read or written,
75 a process has the directory open, 76 another version wrote it, 77 damage. Unless the code is 0,
there is no FILE.
`

/** The number of lines after which progress is shown again. */
const linesPerStep = 4096

/** Runs the command; returns its exit code. Throws errors for which commands.ts has exit codes. */
export async function runExport(args: string[]): Promise<number> {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try export --help`)
  const { values } = readFlags(args, exportFlags, refuse)
  if (values.help) {
    process.stdout.write(exportHelp)
    return 0
  }
  const data = dataOf(values.data)
  if (!existsSync(data)) throw new ConfigError(`there is no log in ${data}`)
  const { out } = values
  const output = new TextOutput(out)
  try {
    const state = await stateIn(data)
    writeAll(state, data, values['with-tokens'] ?? false, output)
    if (out !== undefined) process.stdout.write(`${out}: ${describe(state)}\n`)
    return 0
  } catch (error) {
    output.remove()
    if (!(error instanceof OutputError)) throw error
    if (error.isClosed) return 0
    throw error.asStorageError(out)
  }
}

async function stateIn(data: string): Promise<State> {
  const bar = progressBar('read')
  try {
    return await readState(data, bar.at)
  } finally {
    bar.stop()
  }
}

function writeAll(state: State, data: string, hasTokens: boolean, output: TextOutput): void {
  const text = new StoredText(data, state.text)
  const entry = (address: number, bytes: number) => text.entry(address, bytes)
  const writer = new ArchiveWriter(state.position, (text) => output.write(text))
  const bar = progressBar('write')
  try {
    const { identities, threads, messages } = state
    const total = identities.count + threads.count + messages.count
    for (const line of linesOf({ state, entry, hasTokens, removed: new Map() })) {
      writer.add(line)
      if (writer.lines % linesPerStep === 0) bar.at(Math.min(writer.lines, total), total)
    }
    writer.end()
    output.end()
  } finally {
    bar.stop()
  }
}

/** Says what an archive has, in words. */
export function describe({ identities, threads, messages, position }: State): string {
  const counts = [
    counted(identities.count, 'identity', 'identities'),
    counted(threads.count, 'thread'),
    counted(messages.count, 'message'),
  ]
  return `${counts.join(', ')}, up to position ${position}`
}
