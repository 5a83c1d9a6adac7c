// Parses a query into phrases: runs of words that a message must have, or must not have.
//
//   error E42        error · e42            both, anywhere
//   "x is not" -js   x is not · without js  the words of the first next to each other
//   foo_bar          foo · bar              punctuation separates words
//   -foo_bar         without foo bar        next to each other
//
// Q1. Nothing but `"` and a `-` at the beginning of a word has a meaning; everything else is data.
//     The expression for the index (`matchOf`) consists of words only, each phrase in quotes.
// Q2. A query has at most `wordsMax` words, and a phrase at most `phraseWordsMax`, because
//     the index compares the places of a phrase's words in every message that has them.
// Q3. Characters without spaces between them form one phrase as far as they are one word of their
//     language, by the dictionary of the platform; in quotes they all do.

import { eachWord, isCharacter, notOfWords, wordsOf } from './words.ts'

/** One word, or several that stand next to each other. */
export type Phrase = readonly string[]

/** The maximum number of words of a query, those included that must not occur. */
export const wordsMax = 32
/** The maximum number of words next to each other. */
export const phraseWordsMax = 16

export interface Query {
  /** Each of these must occur. */
  all: Phrase[]
  /** None of these may occur. */
  none: Phrase[]
}

/** An optional `-` and a text in quotes, maybe unclosed; or a text without spaces and quotes. */
const parts = /(?<![^\s"])(-?)"([^"]*)"?|"([^"]*)"?|([^\s"]+)/g

/** Parses a query. Returns null if nothing could be found by it. */
export function parseQuery(text: string): Query | null {
  /** Keyed by their words, so that each phrase is there once. */
  const [all, none] = [new Map<string, Phrase>(), new Map<string, Phrase>()]
  for (const [, minus, quoted, inner, plain] of text.matchAll(parts)) {
    const inQuotes = quoted ?? inner
    if (inQuotes !== undefined) add(minus === '-' ? none : all, wordsOf(inQuotes))
    else if (isExcluded(plain!)) add(none, wordsOf(plain!))
    else for (const phrase of phrasesOf(plain!)) add(all, phrase)
  }
  return all.size === 0 ? null : { all: [...all.values()], none: [...none.values()] }
}

/** Returns whether the query has more words than it may have (Q2). */
export function isTooLong({ all, none }: Query): boolean {
  const phrases = [...all, ...none]
  return phrases.flat().length > wordsMax || phrases.some(({ length }) => length > phraseWordsMax)
}

/**
 * Returns the number of parts, a power of two, in which the index searches a shard, so that each
 * step is short. Only words next to each other take long: 32 of them 105 ms in a shard of messages
 * of 420 characters, and 12 ms in a part of it; 32 other words take 13 ms in the shard.
 */
export function partsOf({ all, none }: Query): number {
  const words = [...all, ...none].filter((phrase) => phrase.length > 1).flat().length
  return 2 ** Math.ceil(Math.log2(Math.max(1, words)))
}

/** Returns whether a minus stands directly before the first word. */
function isExcluded(plain: string): boolean {
  if (!plain.startsWith('-')) return false
  let isFirst = false
  eachWord(plain, (_, start) => {
    isFirst = start === 1
    return false
  })
  return isFirst
}

function add(phrases: Map<string, Phrase>, phrase: Phrase): void {
  if (phrase.length > 0) phrases.set(phrase.join(' '), phrase)
}

let segmenter: Intl.Segmenter | undefined

/** Returns each word of a text as a phrase, and the characters of one word as one phrase (Q3). */
function phrasesOf(text: string): Phrase[] {
  const phrases: string[][] = []
  let wordEnds: ReadonlySet<number> | undefined
  let lastEnd = -1
  eachWord(text, (word, start, end) => {
    const isJoined = isCharacter(word) && start === lastEnd
    lastEnd = -1
    if (isCharacter(word)) {
      wordEnds ??= endsOfWords(text)
      lastEnd = wordEnds.has(end) ? -1 : end
    }
    if (isJoined) phrases.at(-1)!.push(word)
    else phrases.push([word])
    return true
  })
  return phrases
}

function endsOfWords(text: string): Set<number> {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' })
  const ends = new Set<number>()
  for (const { index, segment } of segmenter.segment(text)) ends.add(index + segment.length)
  return ends
}

/** The marks that the index has of a message beside its words. */
export const marks = {
  author: (identity: number) => `${notOfWords}a${identity}`,
  thread: (thread: number) => `${notOfWords}t${thread}`,
  /** A hyphen would separate words. */
  type: (type: string) => `${notOfWords}k${type.replaceAll('-', notOfWords)}`,
  /** Only in a private thread: an identity that may read it. */
  member: (identity: number) => `${notOfWords}m${identity}`,
  /** The part of its shard in which the message is (index.ts). */
  part: (part: number) => `${notOfWords}p${part}`,
  /** Separates texts, so that no run of words spans two of them. */
  border: `${notOfWords}b`,
}

/** Returns the query in the index's language. `required` are marks that a message must have. */
export function matchOf({ all, none }: Query, required: readonly string[]): string {
  const quoted = (phrase: Phrase) => `"${phrase.join(' ')}"`
  const positive = [...required.map((mark) => [mark]), ...all].map(quoted).join(' AND ')
  if (none.length === 0) return positive
  return `(${positive}) NOT (${none.map(quoted).join(' OR ')})`
}

/** Returns the expression for what `match` finds in `count` parts of a shard, from `from` on. */
export function matchIn(match: string, from: number, count: number): string {
  const parts = Array.from({ length: count }, (_, i) => `"${marks.part(from + i)}"`)
  return `(${parts.join(' OR ')}) AND (${match})`
}
