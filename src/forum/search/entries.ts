// Converts the JSON of messages to entries of the index: their words, and marks.

import type { Texts } from './protocol.ts'
import { marks } from './query.ts'
import type { Entry } from './shard.ts'
import { spacedWords } from './words.ts'

interface MessageJson {
  content: string
  type?: string
  removed?: true
}

interface ThreadJson {
  id: string
  title: string
}

/** Returns the entries of a batch. Messages without text have none. */
export function entriesOf(batch: Texts, texts: Buffer): Entry[] {
  const { from, bytes, authors, threads, threadBytes } = batch
  const members = new Map(batch.members)
  const entries: Entry[] = []
  let at = 0
  for (let i = 0; i < bytes.length; i++) {
    const [message, end, threadEnd] = [from + i, at + bytes[i], at + bytes[i] + threadBytes[i]]
    const readers = members.get(message)
    if (bytes[i] > 0) {
      const json = JSON.parse(texts.toString('utf8', at, end)) as MessageJson
      const thread = threadBytes[i] === 0 ? null : texts.toString('utf8', end, threadEnd)
      if (!json.removed) {
        const parts = [marks.author(authors[i]), marks.thread(threads[i])]
        if (json.type !== undefined) parts.push(marks.type(json.type))
        if (readers !== undefined) parts.push(...readers.map(marks.member))
        if (thread !== null) parts.push(...ofThread(thread))
        parts.push(spacedWords(json.content))
        entries.push({ message, isPublic: readers === undefined, words: parts.join(' ') })
      }
    }
    at = threadEnd
  }
  return entries
}

/** Returns the words and marks by which a thread's first message is found, beside its own words. */
function ofThread(json: string): string[] {
  const { id, title } = JSON.parse(json) as ThreadJson
  return [spacedWords(id), marks.border, spacedWords(title), marks.border]
}
