// Parses what a caller types into terms: runs of words that a message must have, or must not have.
//
//   error E42        error · e42            both, anywhere
//   "x is not" -js   x is not · without js  the words of the first next to each other
//   foo_bar          foo · bar              punctuation separates words
//   -foo_bar         without foo bar        next to each other
//
// Q1. Nothing but `"` and a `-` at the beginning of a word has a meaning; everything else is data.
//     The expression for the index (`matchOf`) consists of words only, each term in quotes.
// Q2. A query has at most `wordsMax` words, and a term at most `termWordsMax`, because
//     the index compares the places of a term's words in every message that has them.
// Q3. Characters without spaces between them form one term as far as they are one word of their
//     language, by the dictionary of the platform; in quotes they all do.

import { eachWord, isCharacter, notOfWords, wordsOf } from './words.ts'

/** Words that stand next to each other. */
export type Term = readonly string[]

/** The maximum number of words of a query, those included that must not occur. */
export const wordsMax = 32
/** The maximum number of words next to each other. */
export const termWordsMax = 16

export interface Query {
  /** Each of these must occur. */
  all: Term[]
  /** None of these may occur. */
  none: Term[]
}

/** An optional `-` and a text in quotes, maybe unclosed; or a text without spaces and quotes. */
const parts = /(?<![^\s"])(-?)"([^"]*)"?|"([^"]*)"?|([^\s"]+)/g

/** Parses a query. Returns null if nothing could be found by it. */
export function parseQuery(text: string): Query | null {
  /** Keyed by their words, so that each term is there once. */
  const [all, none] = [new Map<string, Term>(), new Map<string, Term>()]
  for (const [, minus, quoted, inner, plain] of text.matchAll(parts)) {
    const phrase = quoted ?? inner
    if (phrase !== undefined) add(minus === '-' ? none : all, wordsOf(phrase))
    else if (isExcluded(plain!)) add(none, wordsOf(plain!))
    else for (const term of termsOf(plain!)) add(all, term)
  }
  return all.size === 0 ? null : { all: [...all.values()], none: [...none.values()] }
}

/** Returns whether the query has more words than it may have (Q2). */
export function isTooLong({ all, none }: Query): boolean {
  const terms = [...all, ...none]
  return terms.flat().length > wordsMax || terms.some((term) => term.length > termWordsMax)
}

/**
 * Returns the number of parts, a power of two, in which the index searches a shard, so that each
 * step is short. Only words next to each other take long: 32 of them 105 ms in a shard of messages
 * of 420 characters, and 12 ms in a part of it; 32 other words take 13 ms in the shard.
 */
export function partsOf({ all, none }: Query): number {
  const words = [...all, ...none].filter((term) => term.length > 1).flat().length
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

function add(terms: Map<string, Term>, term: Term): void {
  if (term.length > 0) terms.set(term.join(' '), term)
}

let segmenter: Intl.Segmenter | undefined

/** Returns the words of a text, each as a term, but the characters of one word as one term (Q3). */
function termsOf(text: string): Term[] {
  const terms: string[][] = []
  let wordEnds: ReadonlySet<number> | undefined
  let lastEnd = -1
  eachWord(text, (word, start, end) => {
    const isJoined = isCharacter(word) && start === lastEnd
    lastEnd = -1
    if (isCharacter(word)) {
      wordEnds ??= endsOfWords(text)
      lastEnd = wordEnds.has(end) ? -1 : end
    }
    if (isJoined) terms.at(-1)!.push(word)
    else terms.push([word])
    return true
  })
  return terms
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
  const quoted = (term: Term) => `"${term.join(' ')}"`
  const positive = [...required.map((mark) => [mark]), ...all].map(quoted).join(' AND ')
  if (none.length === 0) return positive
  return `(${positive}) NOT (${none.map(quoted).join(' OR ')})`
}

/** Returns the expression for what `match` finds in `count` parts of a shard, from `from` on. */
export function matchIn(match: string, from: number, count: number): string {
  const parts = Array.from({ length: count }, (_, i) => `"${marks.part(from + i)}"`)
  return `(${parts.join(' OR ')}) AND (${match})`
}
