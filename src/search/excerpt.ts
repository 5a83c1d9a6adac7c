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
  const { edges, shorter, matched } = automatonOf(query.all)
  /** Where the newest words begin, as many as the longest term has: the n-th at n modulo that. */
  const starts = new Array<number>(Math.max(1, ...query.all.map((term) => term.length)))
  let words = 0
  let at = 0
  eachWord(text, (word, start, end) => {
    starts[words % starts.length] = start
    words += 1
    while (at !== 0 && !edges[at].has(word)) at = shorter[at]
    at = edges[at].get(word) ?? 0
    if (matched[at] === 0) return true
    places.push({ start: starts[(words - matched[at]) % starts.length], end })
    at = 0
    return places.length < max
  })
  return places
}

/**
 * Finds terms in one pass over the words of a text, by the algorithm of Aho and Corasick (Efficient
 * string matching, 1975). A state is the longest end of the words so far that begins a term.
 */
interface Automaton {
  /** By state, to the state after one more word. State 0 is that of no words. */
  edges: Map<string, number>[]
  /** The state of the longest shorter end that begins a term. */
  shorter: number[]
  /** How many of the newest words are a term; 0: none. */
  matched: number[]
}

function automatonOf(terms: readonly Term[]): Automaton {
  const edges: Map<string, number>[] = [new Map()]
  const matched = [0]
  for (const term of terms) {
    let at = 0
    for (const word of term) {
      let next = edges[at].get(word)
      if (next === undefined) {
        next = edges.push(new Map()) - 1
        matched.push(0)
        edges[at].set(word, next)
      }
      at = next
    }
    matched[at] = term.length
  }
  const shorter = edges.map(() => 0)
  // States with fewer words come first, since a state is found from a shorter one.
  const states = [...edges[0].values()]
  for (const state of states) {
    for (const [word, next] of edges[state]) {
      let at = shorter[state]
      while (at !== 0 && !edges[at].has(word)) at = shorter[at]
      shorter[next] = edges[at].get(word) ?? 0
      matched[next] ||= matched[shorter[next]]
      states.push(next)
    }
  }
  return { edges, shorter, matched }
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
