// A forum with many identities, threads and messages, built fast: through the real commands, in
// this process, with nobody to wait for. Everything in it follows from its size, but for ids and
// tokens.
//
//   thread t:      begun by one of its regulars, who are 3 x identities / threads in number
//   identity i:    a regular of three threads, and following those in which it has replied
//   the follower:  follows the first 1,000 threads; ten of them have news after `follower.after`

import { setImmediate as nextTurn } from 'node:timers/promises'
import { apply } from '../src/forum/apply.ts'
import { type Forum, isRejection, makeForum, type Rejection } from '../src/forum/forum.ts'
import { createIdentity } from '../src/forum/identities.ts'
import { createThread, reply } from '../src/forum/posts.ts'
import { decode } from '../src/forum/records.ts'
import { randomSeed, systemStamps } from '../src/forum/stamp.ts'
import { subscribe } from '../src/forum/subscriptions.ts'
import { deriveKey, loadSecret } from '../src/node/secret.ts'
import { State } from '../src/state/state.ts'
import { openJournal } from '../wal/journal/journal.ts'

export interface Size {
  identities: number
  threads: number
  messages: number
  contentBytes: number
}

/** What is measured where nothing larger is asked for. */
export const usualSize: Size = {
  identities: 10_000,
  threads: 1_000,
  messages: 60_000,
  contentBytes: 300,
}

export interface PopulatedThread {
  id: string
  /** Seqs of its newest messages, at most four, oldest first. */
  newest: number[]
  /** Tokens of regulars. */
  tokens: string[]
}

/** A reply as it was sent. */
export interface SentReply {
  token: string
  threadId: string
  content: string
  key: string
}

/** What a load has to know; of a large forum a part. */
export interface Population {
  size: Size
  /** Position of the last record. */
  position: number
  /** Bytes of rendered text: what the state cannot do without. */
  renderedBytes: number
  tokens: string[]
  threads: PopulatedThread[]
  /** Threads with 50 messages or more. */
  longThreads: string[]
  replies: SentReply[]
  follower: { token: string; after: number }
}

const pageMessages = 50
/** How many tokens, threads and replies a load is told of, at most. */
const tokensTold = 10_000
const threadsTold = 1_000
const repliesTold = 1_000
const longThreadsTold = 100
const followedMax = 1_000
const newsCount = 10
const newestTold = 4
const commandsPerTurn = 512
const retentionMs = 24 * 3_600_000
const filler = 'The quick brown agent jumps over the lazy benchmark. '

/** The text of the n-th message: all differ, all are as long. */
export function contentOf(n: number, bytes: number): string {
  return `${n} ${filler.repeat(Math.ceil(bytes / filler.length))}`.slice(0, bytes)
}

/** Builds it in an empty directory; `onProgress` hears how many commands are done, of how many. */
export async function populate(
  dir: string,
  size: Size,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<Population> {
  const total = size.identities + size.messages + followedMax
  const population = await inForum(dir, (forum, pause) =>
    build(forum, size, async (done) => {
      if (done % commandsPerTurn === 0) onProgress(done, total)
      await pause(done)
    }),
  )
  onProgress(total, total)
  return population
}

/** Runs commands on a forum in this directory; `pause` is awaited after each, with their count. */
export async function inForum<T>(
  dir: string,
  work: (forum: Forum, pause: (done: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const state = new State({ retentionMs, seed: randomSeed(), limits: {} })
  const journal = await openJournal({
    dir,
    durability: { mode: 'none' },
    onRecord: (position, row) => apply(state, position, decode(row)),
  })
  const secret = loadSecret(dir, undefined)
  const forum = makeForum({
    state,
    journal,
    stamps: systemStamps(),
    webhookKey: deriveKey(secret, 'webhook'),
    ticketKey: deriveKey(secret, 'ticket'),
    addressKey: deriveKey(secret, 'address'),
  })
  const result = await work(forum, async (done) => {
    if (done % commandsPerTurn !== 0) return
    do await nextTurn()
    while (journal.health === 'overloaded')
  })
  await journal.close()
  return result
}

async function build(
  forum: Forum,
  size: Size,
  pause: (done: number) => Promise<void>,
): Promise<Population> {
  const { state } = forum
  const { identities, threads, messages, contentBytes } = size
  let done = 0
  const tokens: string[] = []
  for (let i = 0; i < identities; i++) {
    tokens.push(newToken(forum, `agent ${i}`))
    await pause(++done)
  }
  for (let t = 0; t < threads; t++) {
    const said = { content: contentOf(t, contentBytes) }
    const text = { title: `Thread ${t}`, ...said, key: `thread-${t}` }
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
    const sent = { threadId, content: contentOf(n, contentBytes), key: `reply-${n}` }
    demand(reply(forum, { caller, ...sent, address: '' }))
    if (left <= repliesTold) replies.push({ token: tokens[caller], ...sent })
    await pause(++done)
  }
  return {
    size,
    position: state.position,
    renderedBytes: state.arena.bytes,
    tokens: spread(identities, tokensTold).map((i) => tokens[i]),
    threads: spread(threads, threadsTold).map((t) => describe(state, size, t, tokens)),
    longThreads: Array.from({ length: longThreadsOf(size) }, (_, t) => state.threads.id(t)),
    replies,
    follower: { token: follower, after },
  }
}

/** Number of the identity that is the `n`-th of a thread's regulars. */
function regularOf({ identities, threads }: Size, thread: number, n: number): number {
  const apart = Math.max(1, Math.floor(identities / threads))
  return (thread * apart + (n % (3 * apart))) % identities
}

function longThreadsOf({ threads, messages }: Size): number {
  const affordable = Math.floor((messages - threads - newsCount) / pageMessages)
  return Math.max(1, Math.min(longThreadsTold, threads, affordable))
}

/** The first replies make the long threads long; the others are scattered, alike in each run. */
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

/** Up to `max` numbers below `count`, evenly spread. */
function spread(count: number, max: number): number[] {
  const length = Math.min(count, max)
  return Array.from({ length }, (_, i) => Math.floor((i * count) / length))
}

export function newToken(forum: Forum, displayName: string): string {
  return demand(createIdentity(forum, { kind: 'persistent', displayName, address: '' })).token
}

export function demand<T extends object>(outcome: T | Rejection): T {
  if (isRejection(outcome)) throw new Error(`refused: ${outcome.rejected}`)
  return outcome
}
