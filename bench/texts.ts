// Texts as people and agents write them, for measurements that depend on words: those of a corpus,
// or made-up ones whose words are about as frequent as those of a language. Both are the same in
// each run.

import { type Corpus, readCorpus } from '../src/clients/swarm/corpus.ts'

const wordsKnown = 50_000
const syllables = 'ba co di fe gu ha jo ki le mu na po ri se tu va wo xi ye zu'.split(' ')
/** The median length of messages in characters, and the standard deviation of its logarithm. */
const [medianCharacters, spread] = [134, 1.35]
const charactersMax = 8000

/** Returns the text of the n-th message. Each has a word of its own, as if it held an id. */
export type TextOf = (n: number) => string

/** Returns the texts of the corpus in this file, or made-up ones if there is no file. */
export async function textsOf(file: string): Promise<TextOf> {
  if (file === '') return madeUp
  const texts = contentsOf(await readCorpus(file))
  return (n) => `${texts[n % texts.length]} n${n}x`.slice(-charactersMax)
}

function contentsOf({ discussions }: Corpus): string[] {
  return discussions.flatMap(({ messages }) => messages.map(({ text }) => text))
}

function madeUp(n: number): string {
  const random = randomOf(n)
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const length = Math.min(charactersMax - 20, medianCharacters * Math.exp(spread * normal))
  const words: string[] = []
  for (let characters = 0; characters < length; characters += words.at(-1)!.length + 1) {
    // The n-th most frequent word of a language is about 1/n as frequent as the first.
    words.push(wordOf(Math.floor(wordsKnown ** random())))
  }
  return `${words.join(' ')} n${n}x`
}

/** Returns the word with this rank, which is short if it is frequent. */
function wordOf(rank: number): string {
  let word = ''
  for (let left = rank; left > 0; left = Math.floor(left / syllables.length)) {
    word += syllables[left % syllables.length]
  }
  return word
}

/** Returns a generator of numbers in [0, 1), the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
