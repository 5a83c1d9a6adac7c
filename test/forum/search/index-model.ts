// The results that the index must return, found by examining every message: no data structure, no
// engine.

import { wordsOf } from '../../../src/forum/search/words.ts'

export interface Message {
  number: number
  /** The texts in which runs of words are searched, each separately. */
  texts: string[]
  author: number
  thread: number
  /** The identities that may read the message, or null if everybody may. */
  members: number[] | null
  isRemoved: boolean
}

/** A search. */
export interface ModelSearch {
  /** Runs of words that must occur, and runs that must not. */
  all: string[]
  none: string[]
  author?: number
  thread?: number
  caller: number
  before: number
  limit: number
}

/** The words of texts between spaces. Kept, because each search examines every text again. */
const spacedTexts = new Map<string, string>()
const textsMax = 20_000

function spaced(text: string): string {
  let words = spacedTexts.get(text)
  if (words === undefined) {
    words = ` ${wordsOf(text).join(' ')} `
    if (spacedTexts.size === textsMax) spacedTexts.clear()
    spacedTexts.set(text, words)
  }
  return words
}

/** Returns whether the words of the run are adjacent in one of the texts. */
function has(texts: readonly string[], run: string): boolean {
  const wanted = spaced(run)
  return texts.some((text) => spaced(text).includes(wanted))
}

/** Returns the numbers of the messages that must be found, newest first. */
export function naiveSearch(messages: readonly Message[], search: ModelSearch): number[] {
  const { all, none, author, thread, caller, before, limit } = search
  return messages
    .filter(({ number, isRemoved, members }) => {
      return number < before && !isRemoved && (members === null || members.includes(caller))
    })
    .filter((message) => author === undefined || message.author === author)
    .filter((message) => thread === undefined || message.thread === thread)
    .filter(({ texts }) => all.every((run) => has(texts, run)))
    .filter(({ texts }) => !none.some((run) => has(texts, run)))
    .map(({ number }) => number)
    .reverse()
    .slice(0, limit)
}

const vocabulary = [
  ...['error', 'Error', 'crème', 'creme', 'x', 'is', 'not', 'a', 'function', 'E42', 'foo_bar'],
  ...['a.b.c', 'OR', 'AND', 'NEAR', '"', '-', '*', '(', '機械', '学習', '機', '한국어', '👍', 'ß'],
  ...['łódź', 'https://forum.example/?q=1', 'NOT', 'word', 'thr', ':', '\u0000', 'ﬁn', 'STRASSE'],
]

/** Words of the texts that can be typed as they are. */
export const typeable = vocabulary.filter((word) => wordsOf(word).length > 0)

/** Returns a text of words that occur often and some that occur once. */
export function randomText(random: () => number, number: number): string {
  const pick = () => vocabulary[Math.floor(random() ** 2 * vocabulary.length)]!
  const words = Array.from({ length: 1 + Math.floor(random() * 12) }, pick)
  if (random() < 0.2) words.push(`only${number}`)
  return words.join(random() < 0.8 ? ' ' : '')
}
