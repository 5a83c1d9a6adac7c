// What the benchmark of the search looks for: words that are rare or common among the messages of a
// forum, words of one message, phrases of messages, and the authors and threads of messages.

import { eachWord } from '../src/forum/search/words.ts'
import type { TextOf } from './texts.ts'

/** Paths of searches, by kind. */
export type Kinds = Record<string, string[]>

const sampled = 20_000
const eachKind = 200
const commonest = 20
/** A word is rare if it occurs in at most so many messages of the sample. */
const rareMax = 2
const phraseWords = 3

export function kindsOf(textOf: TextOf, messages: number): Kinds {
  const length = Math.min(sampled, messages)
  const texts = Array.from({ length }, (_, n) => wordsIn(textOf(n)))
  const counts = new Map<string, number>()
  for (const words of texts) {
    for (const word of new Set(words)) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  const byCount = [...counts].sort(([, a], [, b]) => b - a)
  const common = byCount.slice(0, commonest).map(([word]) => word)
  const isRare = ([word, count]: [string, number]) => count <= rareMax && /^[a-z]{4,}$/.test(word)
  const rare = byCount.filter(isRare).map(([word]) => word)
  const between = (word: string) => counts.get(word)! > rareMax && !common.includes(word)
  const long = spread(texts.filter((words) => words.length > 10))
  const phrases = long.map((words) => {
    return `"${words.slice(2, 2 + phraseWords).join(' ')}"`
  })
  return {
    'rare word': spread(rare).map(pathOf),
    'common word': common.map(pathOf),
    'two words': long.map((words) => pathOf(words.filter(between).slice(0, 2).join(' ') || 'x')),
    phrase: phrases.map(pathOf),
    'two common words': common.slice(1).map((word, i) => pathOf(`${common[i]} ${word}`)),
    'no hit': [pathOf('nowordofthisforum'), pathOf(`"${common[0]} nowordofthisforum"`)],
  }
}

/** Returns searches limited to authors and threads of what was found, alone and with a word. */
export function narrowed(
  found: readonly { author_id: string; thread_id: string }[],
  word: string,
): Kinds {
  const of = (name: 'author_id' | 'thread_id') => [...new Set(found.map((hit) => hit[name]))]
  const paths = (name: 'author_id' | 'thread_id', q: string) =>
    of(name).map((id) => `/api/search?${q}${name}=${id}`)
  return {
    author: paths('author_id', ''),
    'author and a common word': paths('author_id', `q=${encodeURIComponent(word)}&`),
    thread: paths('thread_id', ''),
  }
}

function pathOf(q: string): string {
  return `/api/search?q=${encodeURIComponent(q)}`
}

function wordsIn(text: string): string[] {
  const words: string[] = []
  eachWord(text, (word) => {
    words.push(word)
    return true
  })
  return words
}

function spread<T>(items: readonly T[]): T[] {
  const length = Math.min(items.length, eachKind)
  return Array.from({ length }, (_, i) => items[Math.floor((i * items.length) / length)])
}
