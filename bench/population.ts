// A forum with many identities, threads and messages, which is built fast: with the real commands,
// in this process, without waiting for syncs. Everything in it is determined by its size, except
// ids and tokens.
//
//   thread t:      begun by one of its regulars, of whom there are 3 x identities / threads
//   identity i:    a regular of three threads, which follows those in which it has replied
//   the follower:  follows the first 1,000 threads; ten have new messages after `follower.after`

import { subscribe } from '../src/forum/feed/commands.ts'
import type { Forum } from '../src/forum/forum.ts'
import { createIdentity } from '../src/forum/identities/commands.ts'
import type { State } from '../src/forum/state.ts'
import { createThread, reply } from '../src/forum/threads/commands.ts'
import { isRejection, type Rejection } from '../src/kernel/rejection.ts'
import { inForum } from './in-forum.ts'

export interface Size {
  identities: number
  threads: number
  messages: number
  contentBytes: number
}

/** The default size. */
export const usualSize: Size = {
  identities: 10_000,
  threads: 1_000,
  messages: 60_000,
  contentBytes: 300,
}

export interface PopulatedThread {
  id: string
  /** The seqs of its newest messages, at most four, oldest first. */
  newest: number[]
  /** The tokens of some of its regulars. */
  tokens: string[]
}

/** A reply that was sent. */
export interface SentReply {
  token: string
  threadId: string
  content: string
  key: string
}

/** What a load needs to know of a forum; of a large one, a sample. */
export interface Population {
  size: Size
  /** The position of the last record. */
  position: number
  /** Bytes of rendered text: the minimum that the state must hold. */
  renderedBytes: number
  tokens: string[]
  threads: PopulatedThread[]
  /** Threads with 50 messages or more. */
  longThreads: string[]
  /** Threads from all parts of the forum, in no particular order. */
  scattered: string[]
  replies: SentReply[]
  /** The ids of ten identities, which a message may mention. */
  mentioned: string[]
  follower: { token: string; after: number }
}

const pageMessages = 50
/** The most tokens, threads and replies in a population's sample. */
const tokensTold = 10_000
const threadsTold = 1_000
const repliesTold = 1_000
const longThreadsTold = 100
const scatteredTold = 20_000
const followedMax = 1_000
const newsCount = 10
const newestTold = 4
const mentionsPerMessage = 10
const commandsPerTurn = 512
const filler = 'The quick brown agent jumps over the lazy benchmark. '

/** Returns the text of the n-th message: all are different and equally long. */
export function contentOf(n: number, bytes: number): string {
  return `${n} ${filler.repeat(Math.ceil(bytes / filler.length))}`.slice(0, bytes)
}

/**
 * Builds a forum in an empty directory. `onProgress` receives the number of commands done and the
 * total; `textOf` makes the text of the n-th message.
 */
export async function populate(
  dir: string,
  size: Size,
  onProgress: (done: number, total: number) => void = () => {},
  textOf = (n: number) => contentOf(n, size.contentBytes),
): Promise<Population> {
  const total = size.identities + size.messages + followedMax
  const population = await inForum(dir, (forum, pause) =>
    build(forum, size, textOf, async (done) => {
      if (done % commandsPerTurn === 0) onProgress(done, total)
      await pause(done)
    }),
  )
  onProgress(total, total)
  return population
}

async function build(
  forum: Forum,
  size: Size,
  textOf: (n: number) => string,
  pause: (done: number) => Promise<void>,
): Promise<Population> {
  const { state } = forum
  const { identities, threads, messages } = size
  let done = 0
  const tokens: string[] = []
  for (let i = 0; i < identities; i++) {
    tokens.push(newToken(forum, `agent ${i}`))
    await pause(++done)
  }
  for (let t = 0; t < threads; t++) {
    const content = textOf(t)
    const text = { title: `Thread ${t}`, content, key: `thread-${t}` }
    const access = { visibility: 'public', participantIds: [], address: '' } as const
    demand(createThread(forum, { caller: regularOf(size, t, 0), ...text, ...access }))
    await pause(++done)
  }
  const follower = newToken(forum, 'the follower')
  for (let t = 0; t < Math.min(threads, followedMax); t++) {
    demand(subscribe(forum, { caller: identities, threadId: state.threads.id(t) }))
    await pause(++done)
  }
  const replies: SentReply[] = []
  let after = 0
  for (let n = threads; n < messages; n++) {
    const left = messages - n
    if (left === newsCount) after = state.position
    const t = left <= newsCount ? newsCount - left : threadOfReply(size, n)
    const caller = regularOf(size, t, n)
    const threadId = state.threads.id(t)
    const sent = { threadId, content: textOf(n), key: `reply-${n}` }
    demand(reply(forum, { caller, ...sent, address: '' }))
    if (left <= repliesTold) replies.push({ token: tokens[caller], ...sent })
    await pause(++done)
  }
  return {
    size,
    position: state.position,
    renderedBytes: state.text.bytes,
    tokens: spread(identities, tokensTold).map((i) => tokens[i]),
    threads: spread(threads, threadsTold).map((t) => describe(state, size, t, tokens)),
    longThreads: Array.from({ length: longThreadsOf(size) }, (_, t) => state.threads.id(t)),
    scattered: scatter(threads, scatteredTold).map((t) => state.threads.id(t)),
    replies,
    mentioned: spread(identities, tokensTold)
      .slice(0, mentionsPerMessage)
      .map((i) => state.identities.id(i)),
    follower: { token: follower, after },
  }
}

/** Returns the number of a thread's `n`-th regular. */
function regularOf({ identities, threads }: Size, thread: number, n: number): number {
  const apart = Math.max(1, Math.floor(identities / threads))
  return (thread * apart + (n % (3 * apart))) % identities
}

function longThreadsOf({ threads, messages }: Size): number {
  const affordable = Math.floor((messages - threads - newsCount) / pageMessages)
  return Math.max(1, Math.min(longThreadsTold, threads, affordable))
}

/** The first replies go to the long threads; the others are scattered, the same way in each run. */
function threadOfReply(size: Size, n: number): number {
  const long = longThreadsOf(size)
  const nth = n - size.threads
  if (nth < long * pageMessages) return nth % long
  return (Math.imul(nth, 0x9e3779b1) >>> 0) % size.threads
}

function describe(state: State, size: Size, t: number, tokens: string[]): PopulatedThread {
  const { threads, messages } = state
  const count = threads.messageCount(t)
  const length = Math.min(newestTold, count)
  return {
    id: threads.id(t),
    newest: Array.from({ length }, (_, i) => messages.seq(threads.message(t, count - length + i))),
    tokens: [0, 1, 2].map((n) => tokens[regularOf(size, t, n)]),
  }
}

/** Returns up to `max` numbers below `count`, evenly spread. */
function spread(count: number, max: number): number[] {
  const length = Math.min(count, max)
  return Array.from({ length }, (_, i) => Math.floor((i * count) / length))
}

/** Returns the numbers of `spread`, in no particular order. */
function scatter(count: number, max: number): number[] {
  const numbers = spread(count, max)
  const place = (i: number) => Math.imul(i, 0x9e3779b1) >>> 0
  return numbers.sort((a, b) => place(a) - place(b))
}

export function newToken(forum: Forum, displayName: string): string {
  return demand(createIdentity(forum, { kind: 'persistent', displayName, address: '' }, 'open'))
    .token
}

export function demand<T extends object>(outcome: T | Rejection): T {
  if (isRejection(outcome)) throw new Error(`refused: ${outcome.rejected}`)
  return outcome
}
