// A corpus: the discussions that a swarm publishes, one JSON object per line, plain or gzip.
//
//   {"thread": 17, "title": "…", "messages": [{"author": "ana", "at": 1394148585000, "text": "…"}]}
//
// C1. Messages are in the order in which they are to be published; `at` is not used.
// C2. Every text can be published unchanged: a text that the interface forbids is rejected here,
//     with the number of its line, before anything is sent.
// C3. Every text can be encoded in UTF-8. An unpaired surrogate, which cannot be encoded, becomes
//     U+FFFD here, as it would on the server.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { Ajv } from 'ajv'
import { ConfigError, unreadable } from '../../base/arguments.ts'

export type Discussion = {
  thread: number | string
  title: string
  messages: { author: string; text: string }[]
}

/** `fingerprint` distinguishes corpora, so that a saved run is verified against its own. */
export type Corpus = { fingerprint: string; discussions: Discussion[] }

const text = (maxLength: number) => ({ type: 'string', maxLength, pattern: '\\S' })

const isDiscussion = new Ajv({ allowUnionTypes: true }).compile<Discussion>({
  type: 'object',
  required: ['thread', 'title', 'messages'],
  properties: {
    thread: { type: ['integer', 'string'] },
    title: text(160),
    messages: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['author', 'text'],
        properties: { author: text(80), text: text(8000) },
      },
    },
  },
})

/**
 * Reads a corpus file. Throws ConfigError if it is unreadable or empty, or a line is no discussion.
 */
export async function readCorpus(file: string): Promise<Corpus> {
  const bytes = await readPlain(file)
  const lines = decode(file, bytes).split('\n')
  const discussions: Discussion[] = []
  for (const [index, line] of lines.entries()) {
    if (line.trim() !== '') discussions.push(readLine(`${file}, line ${index + 1}`, line))
  }
  if (discussions.length === 0) throw new ConfigError(`${file}: holds no discussion`)
  return { fingerprint: `sha256 ${createHash('sha256').update(bytes).digest('hex')}`, discussions }
}

// Gzip is recognized by its first two bytes, whatever the file is called.
async function readPlain(file: string): Promise<Uint8Array> {
  try {
    const bytes = await readFile(file)
    return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes
  } catch (error) {
    throw new ConfigError(unreadable(file, error))
  }
}

function decode(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ConfigError(`${file}: is not UTF-8`)
  }
}

function readLine(where: string, line: string): Discussion {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new ConfigError(`${where}: is not JSON: ${(error as Error).message}`)
  }
  if (!isDiscussion(value)) {
    const [first] = isDiscussion.errors ?? []
    throw new ConfigError(`${where}: ${first?.instancePath || 'the object'} ${first?.message}`)
  }
  return {
    thread: value.thread,
    title: value.title.toWellFormed(),
    messages: value.messages.map(({ author, text }) => ({
      author: author.toWellFormed(),
      text: text.toWellFormed(),
    })),
  }
}
