// Finds the words of a query in a text, and makes an excerpt around the first of them.
//
// X1. The work is linear in the length of the text, however many phrases the query has.

import { excerptCharactersMax } from '../../base/text.ts'
import type { Phrase, Query } from './query.ts'
import { eachWord } from './words.ts'

/** How many code points of it precede the first match. */
const leadMax = 80
/** A word may be cut if it is longer than this many UTF-16 units. */
const wordMax = 30

/** A range of UTF-16 units. */
export interface Range {
  start: number
  end: number
}

/**
 * Returns at most `max` places of the query's phrases in the text, in order and without overlaps.
 */
export function placesOf(text: string, query: Query, max: number): Range[] {
  const places: Range[] = []
  const { edges, shorter, matched } = automatonOf(query.all)
  /** The starts of the newest words, as many as the longest phrase has: the n-th modulo that. */
  const starts = new Array<number>(Math.max(1, ...query.all.map((phrase) => phrase.length)))
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
 * Finds phrases in one pass over the words of a text, by the algorithm of Aho and Corasick
 * (Efficient string matching, 1975). A state is the longest suffix of the words so far that is a
 * prefix of a phrase.
 */
interface Automaton {
  /** For each state, the state after one more word. State 0 is the empty suffix. */
  edges: Map<string, number>[]
  /** For each state, that of the longest shorter suffix that is a prefix of a phrase. */
  shorter: number[]
  /** For each state, how many of the newest words are a phrase; 0: none. */
  matched: number[]
}

function automatonOf(phrases: readonly Phrase[]): Automaton {
  const edges: Map<string, number>[] = [new Map()]
  const matched = [0]
  for (const phrase of phrases) {
    let at = 0
    for (const word of phrase) {
      let next = edges[at].get(word)
      if (next === undefined) {
        next = edges.push(new Map()) - 1
        matched.push(0)
        edges[at].set(word, next)
      }
      at = next
    }
    matched[at] = phrase.length
  }
  const shorter = edges.map(() => 0)
  // States with fewer words come first, because a state is derived from a shorter one.
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

/** Returns the part of the text around the first match, or its beginning if there is no match. */
export function excerptOf(text: string, query: Query | null): string {
  const [first] = query === null ? [] : placesOf(text, query, 1)
  const begin = first === undefined ? 0 : beginOf(text, first.start)
  return text.slice(begin, forward(text, begin, excerptCharactersMax))
}

/** Returns a place at most `leadMax` code points earlier, where a word begins if possible. */
function beginOf(text: string, place: number): number {
  const begin = backward(text, place, leadMax)
  if (begin === 0) return 0
  const space = text.slice(begin, Math.min(begin + wordMax, place)).search(/\s\S/)
  return space === -1 ? begin : begin + space + 1
}

/** Returns the place this many code points after `from`. */
function forward(text: string, from: number, points: number): number {
  let at = from
  for (let i = 0; i < points && at < text.length; i++) at += text.codePointAt(at)! > 0xffff ? 2 : 1
  return at
}

/** Returns the place this many code points before `from`. */
function backward(text: string, from: number, points: number): number {
  let at = from
  for (let i = 0; i < points && at > 0; i++) {
    at -= 1
    const isTail = at > 0 && (text.charCodeAt(at) & 0xfc00) === 0xdc00
    if (isTail && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) at -= 1
  }
  return at
}
