// A generated corpus: the same specification yields the same texts on any machine.
//
//   agents=100,threads=50,replies=1000[,seed=1]     all three are totals
//
// Every agent writes at least once; the authors, and the thread of each reply, are random. The
// texts mix short words with input that breaks careless servers: other scripts, emoji, quotes,
// control characters, and now and then the longest message that the interface allows. A shape
// changes how often threads are chosen, and how long the texts are.

import { ConfigError } from '../../base/arguments.ts'
import { partition } from '../../base/partition.ts'
import type { Corpus, Discussion } from './corpus.ts'

const contentCharactersMax = 8000

const words = (
  'the log forum agent thread reply reads writes twice never durable order cursor page ' +
  'feed before after while server answer 返信 讨论 ответ świat naïve ação ' +
  '한국어 مرحبا 👍 🧵 👩‍👩‍👧‍👦 𝔸𝔹 "quoted" \\back\\ ' +
  '</b> &amp; {"json":1} \u2028 \u0001 \u007f a\u0301 %00 \t- \n\n> \n```\ncode()\n```\n'
).split(' ')

/** The shape of a generated corpus, besides its numbers. */
export type Shape = {
  /**
   * The exponent of Zipf's law: how often a reply goes to the thread of number n is proportional to
   * 1 / n ** skew. 0: evenly.
   */
  skew: number
  /** Lengths of texts in characters, and how often each is chosen; null: those described above. */
  sizes: readonly { characters: number; weight: number }[] | null
}

const skewMax = 10

/** Parses the flags of a shape. Throws ConfigError. */
export function parseShape({ skew = '0', sizes }: { skew?: string; sizes?: string }): Shape {
  const exponent = Number(skew)
  if (!/^\d+(\.\d+)?$/.test(skew) || exponent > skewMax) {
    throw new ConfigError(`--skew takes an exponent from 0 to ${skewMax}, like 1.1, not "${skew}"`)
  }
  return { skew: exponent, sizes: sizes === undefined ? null : sizes.split(',').map(parseSize) }
}

function parseSize(text: string): { characters: number; weight: number } {
  const match = /^(\d{1,4}):(\d+(?:\.\d+)?)$/.exec(text)
  const [characters, weight] = [Number(match?.[1]), Number(match?.[2])]
  if (characters >= 1 && characters <= contentCharactersMax && weight > 0) {
    return { characters, weight }
  }
  throw new ConfigError(
    `--sizes: "${text}" is not a number of characters to ${contentCharactersMax} with its share, ` +
      'like 1000:0.25',
  )
}

type Specification = { agents: number; threads: number; replies: number; seed: number }

/** Generates the corpus of a specification. Throws ConfigError if it is malformed. */
export function syntheticCorpus(specification: string, shape: Shape = parseShape({})): Corpus {
  const { skew, sizes } = shape
  const { agents, threads, replies, seed } = parse(specification)
  const random = randomNumbers(seed)
  const upTo = (count: number) => Math.floor(random() * count)

  const authors = Array.from({ length: threads + replies }, (_, index) =>
    authorName(index < agents ? index : upTo(agents)),
  )
  shuffle(authors, upTo)
  const sizeIndex = chooser(sizes?.map(({ weight }) => weight) ?? [], random)
  const text = () => (sizes === null ? content(upTo) : exactly(sizes[sizeIndex()].characters, upTo))
  const message = () => ({ author: authors.pop() as string, text: text() })

  const discussions: Discussion[] = []
  for (let index = 0; index < threads; index++) {
    const title = `Thread ${index + 1}: ${phrase(upTo, 6)}`.replace(/\s+/g, ' ').slice(0, 120)
    discussions.push({ thread: index + 1, title: title.toWellFormed(), messages: [message()] })
  }
  const weights = Array.from({ length: threads }, (_, index) => 1 / (index + 1) ** skew)
  const choose = skew === 0 ? () => upTo(threads) : chooser(weights, random)
  for (let index = 0; index < replies; index++) discussions[choose()].messages.push(message())
  return {
    fingerprint:
      `synthetic agents=${agents},threads=${threads},replies=${replies},seed=${seed}` +
      (skew === 0 ? '' : `,skew=${skew}`) +
      (sizes?.map(({ characters, weight }) => `,${characters}:${weight}`).join('') ?? ''),
    discussions,
  }
}

function parse(specification: string): Specification {
  const numbers: Record<string, number> = { seed: 1 }
  for (const part of specification.split(',')) {
    const match = /^(agents|threads|replies|seed)=(\d{1,7})$/.exec(part)
    if (match === null) {
      const names = 'agents, threads, replies or seed'
      throw new ConfigError(`--synthetic: "${part}" is not ${names} with a number, like agents=100`)
    }
    numbers[match[1]] = Number(match[2])
  }
  const { agents = 0, threads = 0, replies = -1, seed } = numbers
  if (agents < 1 || threads < 1 || replies < 0) {
    throw new ConfigError('--synthetic needs agents=…,threads=…,replies=…, as in --help')
  }
  if (agents > threads + replies) {
    throw new ConfigError('--synthetic: there are more agents than messages for them to write')
  }
  return { agents, threads, replies, seed }
}

const authorName = (index: number) => `agent-${String(index + 1).padStart(4, '0')}`

// Usually a sentence or two, sometimes a page, rarely the maximum length.
function content(upTo: (count: number) => number): string {
  const dice = upTo(500)
  if (dice === 0) return '🧵'.repeat(contentCharactersMax)
  return `${phrase(upTo, dice < 20 ? 600 : 40)}.`
}

/** Returns a text of this many characters. It begins with a letter, so it is never blank. */
function exactly(count: number, upTo: (count: number) => number): string {
  const characters = ['a']
  while (characters.length < count) characters.push(' ', ...words[upTo(words.length)])
  return characters.slice(0, count).join('')
}

function phrase(upTo: (count: number) => number, wordsMax: number): string {
  const count = 1 + upTo(wordsMax)
  return Array.from({ length: count }, () => words[upTo(words.length)]).join(' ')
}

/** Returns a function that chooses an index, each as often as its weight says. */
function chooser(weights: readonly number[], random: () => number): () => number {
  let total = 0
  const sums = weights.map((weight) => (total += weight))
  return () => {
    const at = random() * total
    return partition(sums.length - 1, (index) => sums[index] <= at)
  }
}

// The Fisher-Yates shuffle.
function shuffle(list: string[], upTo: (count: number) => number): void {
  for (let last = list.length - 1; last > 0; last--) {
    const other = upTo(last + 1)
    const kept = list[last]
    list[last] = list[other]
    list[other] = kept
  }
}

// Mulberry32: numbers in [0, 1), the same for the same seed everywhere.
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
