// Where the words of a query stand in a text, and an excerpt around the first of them.
//
// X1. The work is linear in the length of the text, however many terms the query has.

import type { Query, Term } from './query.ts'
import { eachWord } from './words.ts'

/** The most code points of an excerpt. */
export const excerptMax = 240
/** How many code points of it stand before the first match. */
const leadMax = 80
/** A word that is longer than so many UTF-16 units is cut. */
const wordMax = 30

/** A range of UTF-16 units. */
export interface Range {
  start: number
  end: number
}

/** At most `max` places of the query's terms in the text, in their order, without overlaps. */
export function placesOf(text: string, query: Query, max: number): Range[] {
  const places: Range[] = []
  const endingWith = byLastWord(query.all)
  const longest = Math.max(0, ...query.all.map((term) => term.length))
  /** The newest words, as many as the longest term has. */
  const recent: { word: string; start: number }[] = []
  eachWord(text, (word, start, end) => {
    recent.push({ word, start })
    if (recent.length > longest) recent.shift()
    const term = endingWith.get(word)?.find((term) => endsWith(recent, term))
    if (term === undefined) return true
    places.push({ start: recent[recent.length - term.length].start, end })
    recent.length = 0
    return places.length < max
  })
  return places
}

/** So that a word of the text is compared with few terms, however many there are. */
function byLastWord(terms: readonly Term[]): Map<string, Term[]> {
  const found = new Map<string, Term[]>()
  for (const term of terms) {
    const last = term.at(-1)!
    const others = found.get(last)
    if (others === undefined) found.set(last, [term])
    else others.push(term)
  }
  return found
}

function endsWith(recent: readonly { word: string }[], term: Term): boolean {
  const from = recent.length - term.length
  return from >= 0 && term.every((word, i) => recent[from + i].word === word)
}

/** The part of the text around the first match, or its beginning where there is none. */
export function excerptOf(text: string, query: Query | null): string {
  const [first] = query === null ? [] : placesOf(text, query, 1)
  const begin = first === undefined ? 0 : beginOf(text, first.start)
  return text.slice(begin, forward(text, begin, excerptMax))
}

/** At most `leadMax` code points before this place, at the beginning of a word if possible. */
function beginOf(text: string, place: number): number {
  const begin = backward(text, place, leadMax)
  if (begin === 0) return 0
  const space = text.slice(begin, Math.min(begin + wordMax, place)).search(/\s\S/)
  return space === -1 ? begin : begin + space + 1
}

/** The place so many code points behind `from`. */
function forward(text: string, from: number, points: number): number {
  let at = from
  for (let i = 0; i < points && at < text.length; i++) at += text.codePointAt(at)! > 0xffff ? 2 : 1
  return at
}

/** The place so many code points before `from`. */
function backward(text: string, from: number, points: number): number {
  let at = from
  for (let i = 0; i < points && at > 0; i++) {
    at -= 1
    const isTail = at > 0 && (text.charCodeAt(at) & 0xfc00) === 0xdc00
    if (isTail && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) at -= 1
  }
  return at
}
