// agent-forum export: writes what a forum holds as an archive (forum/archive.ts).

import { existsSync, readFileSync } from 'node:fs'
import { isOfSystem, storageError } from '../../wal/errors.ts'
import {
  ConfigError,
  dataOf,
  type Flags,
  flagHelp,
  readFlags,
  unreadable,
} from '../base/arguments.ts'
import { pluralize } from '../base/text.ts'
import { AgentForum, ForumError } from '../client/index.ts'
import { reportingSilence } from '../clients/shell/session.ts'
import { readState, StoredText } from '../engine/storage/stored-state.ts'
import { ArchiveWriter, linesOf } from '../forum/archive.ts'
import type { State } from '../forum/state.ts'
import { PublicContent } from './export-url.ts'
import { commandErrorOf } from './forum-error.ts'
import { withBar } from './progress-bar.ts'
import { OutputError, TextOutput } from './text-output.ts'

export const exportFlags = {
  data: { value: 'DIR', help: 'the directory; default: AGENT_FORUM_DATA or ./data' },
  url: { value: 'URL', help: 'instead of a directory, what a node at this address shows' },
  'token-file': {
    value: 'FILE',
    help: 'with --url: a file with the token of an identity, for a node that asks for one',
  },
  out: { value: 'FILE', help: 'write to a new file instead of stdout' },
  'with-tokens': {
    value: null,
    help: 'add digests of tokens, so that identities keep theirs after an import',
  },
} satisfies Flags

const exportHelp = `\
agent-forum export [--data DIR] [--out FILE] [--with-tokens]
agent-forum export --url URL [--token-file FILE] [--out FILE]

  agent-forum export --data backups/monday --out forum.jsonl
  agent-forum import forum.jsonl --data forum2

Writes what a forum holds as lines of JSON, private threads included: identities, threads, messages,
subscriptions, read places, proposals, reviews, claims that are held, and the acts of operators. No
node may have the directory open; export a backup of a running one. With --url, only what is public.

${flagHelp(exportFlags)}
  -h, --help

Exit codes: 0 done, 64 a flag that cannot be used or no log, 65 the node refuses, 69 no node
answers, 74 something cannot be read or written, 75 a process has the directory open, 76 another
version wrote it, 77 damage. Unless the code is 0, there is no FILE.
`

/** How long a call to a node is retried. */
const timeoutMs = 60_000
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
  const { url, data, out, 'token-file': tokenFile, 'with-tokens': hasTokens = false } = values
  if (url === undefined && tokenFile !== undefined) throw refuse('--token-file needs --url')
  if (url !== undefined && (data !== undefined || hasTokens)) {
    throw refuse(`--url takes no ${hasTokens ? '--with-tokens' : '--data'}`)
  }
  const output = new TextOutput(out)
  try {
    const counts =
      url === undefined
        ? await exportData(dataOf(data), hasTokens, output)
        : await exportUrl(url, tokenFile, output)
    if (out !== undefined) process.stdout.write(`${out}: ${describe(counts)}\n`)
    return 0
  } catch (error) {
    output.remove()
    if (!(error instanceof OutputError)) throw error
    if (error.isClosed) return 0
    throw error.asStorageError(out)
  }
}

async function exportData(data: string, hasTokens: boolean, output: TextOutput): Promise<Counts> {
  if (!existsSync(data)) throw new ConfigError(`there is no log in ${data}`)
  const state = await withBar('read', (onProgress) => readState(data, onProgress))
  const text = new StoredText(data, state.text)
  const entry = (address: number, bytes: number) => text.entry(address, bytes)
  const counts = countsOf(state)
  await writeLines(counts, linesOf({ state, entry, hasTokens }), output)
  return counts
}

async function exportUrl(
  url: string,
  tokenFile: string | undefined,
  output: TextOutput,
): Promise<Counts> {
  const token = tokenFile === undefined ? undefined : tokenIn(tokenFile)
  const forum = clientOf(url, token)
  let content: PublicContent | null = null
  try {
    content = new PublicContent(forum)
    await withBar('read', (onProgress) => content!.read(onProgress))
    const [identities, threads, messages] = ['identity', 'thread', 'message'].map((kind) => {
      return content!.count(kind)
    })
    const counts = { identities, threads, messages, position: content.position }
    await writeLines(counts, content.lines(), output)
    return counts
  } catch (error) {
    if (error instanceof ForumError) throw commandErrorOf(error, url)
    throw isOfSystem(error) ? storageError('write a temporary file', error) : error
  } finally {
    content?.close()
  }
}

function clientOf(url: string, token: string | undefined): AgentForum {
  try {
    return new AgentForum({
      url,
      timeoutMs,
      fetch: reportingSilence(url, timeoutMs),
      ...(token !== undefined && { token }),
    })
  } catch (error) {
    throw new ConfigError(`--url: ${(error as Error).message}`)
  }
}

/** Returns the token in a file, which may have more in it, as the identity of a shell does. */
function tokenIn(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(unreadable(file, error))
  }
  const [token] = /aic_[0-9a-f]{64}/.exec(text) ?? []
  if (token === undefined) throw new ConfigError(`there is no token in ${file}`)
  return token
}

async function writeLines(
  counts: Counts,
  lines: Iterable<string>,
  output: TextOutput,
): Promise<void> {
  await withBar('write', async (onProgress) => {
    const writer = new ArchiveWriter(counts.position, (text) => output.write(text))
    const total = counts.identities + counts.threads + counts.messages
    for (const line of lines) {
      writer.add(line)
      if (writer.lines % linesPerStep === 0) onProgress(Math.min(writer.lines, total), total)
    }
    writer.end()
    output.end()
  })
}

interface Counts {
  identities: number
  threads: number
  messages: number
  position: number
}

/** Counts what an archive of the state has: nothing of threads that have expired. */
export function countsOf({ identities, threads, position }: State): Counts {
  const counts = { identities: identities.count, threads: 0, messages: 0, position }
  for (let thread = 0; thread < threads.count; thread++) {
    if (threads.isExpired(thread)) continue
    counts.threads += 1
    counts.messages += threads.messageCount(thread)
  }
  return counts
}

/** Says what an archive has, in words. */
export function describe({ identities, threads, messages, position }: Counts): string {
  const counts = [
    pluralize(identities, 'identity', 'identities'),
    pluralize(threads, 'thread'),
    pluralize(messages, 'message'),
  ]
  return `${counts.join(', ')}, up to position ${position}`
}
