// Scenarios of what callers do: each is a ring of requests for a population, and targets. Those
// that only read come first, so that they find the population as it was built.

import type { Population } from './population.ts'
import { contentOf } from './population.ts'
import { freshKey, lastSeen, type Request, type Ring, ringOf } from './ring.ts'

export interface Scenario {
  name: string
  title: string
  /** The minimum ratio to the throughput of another side, by that side's name. */
  targets?: Readonly<Record<string, number>>
  /** The maximum ratio to the floor's p99. */
  p99Target?: number
  /** The peers that can run it. */
  peers?: readonly string[]
  /** Whether it is also measured with few and with many connections. */
  isSwept?: boolean
  /** Whether stalls of the event loop are measured while it runs. */
  showsStalls?: boolean
  ring(population: Population): Ring
}

const postsReply = 'POST /api/threads/:id/replies'
const readsThread = 'GET /api/threads/:id'
const pollsFeed = 'GET /api/notifications'
const newsPerPoll = 5
/** The mean for each identity, which follows those of its threads in which it has replied. */
const threadsFollowed = 1.6
const ringLength = 1_000

export const scenarios: readonly Scenario[] = [
  {
    name: 'page',
    title: 'read a page of 50 messages',
    targets: { floor: 0.85, postgres: 10 },
    peers: ['redis', 'postgres'],
    isSwept: true,
    ring: ({ longThreads }) => ringOf(longThreads.map((id) => read(id, 'limit=50'))),
  },
  {
    name: 'page-once',
    title: 'read a page of about 50 that is not cached',
    // The cache keeps a page as last requested (forum/threads/page-cache.ts); here each ends
    // elsewhere.
    ring: ({ longThreads }) =>
      ringOf([50, 49, 48].flatMap((n) => longThreads.map((id) => read(id, `limit=${n}`)))),
  },
  {
    name: 'tail',
    title: 'read a tail, 0 to 3 new',
    targets: { floor: 0.9 },
    ring: ({ threads }) =>
      ringOf(threads.map(({ id, newest }, i) => read(id, `after=${newest.at(-1 - (i % 4))}`))),
  },
  {
    name: 'feed-empty',
    title: 'poll a feed without news',
    targets: { floor: 0.9 },
    ring: ({ tokens, position }) =>
      ringOf(tokens.slice(0, ringLength).map((t) => poll(t, position))),
  },
  {
    name: 'feed-news',
    title: `poll a feed with about ${newsPerPoll} news`,
    ring: (population) => news(population, ''),
  },
  {
    name: 'feed-content',
    title: 'the same, with the texts of the messages',
    ring: (population) => news(population, '&include=content'),
  },
  {
    name: 'feed-1000',
    title: 'poll a feed of 1,000 threads, 10 with news',
    targets: { floor: 0.3 },
    ring: ({ follower }) => ringOf([poll(follower.token, follower.after)]),
  },
  {
    name: 'list',
    title: 'list threads',
    ring: ({ tokens }) =>
      ringOf(
        tokens.slice(0, ringLength).map((token) => {
          return { method: 'GET', route: 'GET /api/threads', path: '/api/threads', token }
        }),
      ),
  },
  {
    name: 'replay',
    title: 'send a reply again, with its key',
    ring: ({ replies }) =>
      ringOf(
        replies.map(({ token, threadId, content, key }) => reply(token, threadId, content, key)),
      ),
  },
  {
    name: 'mixed',
    title: 'swarm: 70% polls, 20% tails, 10% replies',
    targets: { floor: 0.6 },
    showsStalls: true,
    ring: mixed,
  },
  {
    name: 'reply',
    title: 'post a reply',
    targets: { floor: 0.5, redis: 1, postgres: 10 },
    p99Target: 5,
    peers: ['redis', 'postgres'],
    isSwept: true,
    ring: (population) =>
      ringOf(Array.from({ length: ringLength }, (_, i) => replyOf(population, i))),
  },
  {
    name: 'reply-mentions',
    title: 'post a reply that mentions ten identities',
    ring: (population) =>
      ringOf(
        Array.from({ length: ringLength }, (_, i) => {
          const { body, ...request } = replyOf(population, i)
          return { ...request, body: { ...body, mention_ids: population.mentioned } }
        }),
      ),
  },
  {
    name: 'thread',
    title: 'post a thread',
    ring: ({ tokens, size }) =>
      ringOf(
        tokens.slice(0, ringLength).map((token, i) => {
          const body = { title: `Another thread ${i}`, content: contentOf(i, size.contentBytes) }
          return {
            method: 'POST',
            route: 'POST /api/threads',
            path: '/api/threads',
            token,
            key,
            body,
          }
        }),
      ),
  },
  {
    name: 'identity',
    title: 'create an identity',
    ring: () => {
      const path = '/api/identities'
      const body = { kind: 'persistent', display_name: 'one more agent' }
      return ringOf([{ method: 'POST', route: `POST ${path}`, path, body }])
    },
  },
]

export function scenarioNamed(name: string): Scenario {
  return scenarios.find((scenario) => scenario.name === name)!
}

/** Includes pages of scattered threads, which in a large forum are neither cached nor adjacent. */
export const scaleScenarios: readonly Scenario[] = [
  ...scenarios,
  {
    name: 'anywhere',
    title: 'read the first 50 messages of threads anywhere',
    ring: ({ scattered }) => ringOf(scattered.map((id) => read(id, 'after=0&limit=50'))),
  },
]

const key = freshKey

/** Polls of feeds with about `newsPerPoll` news each. */
function news({ tokens, position, size }: Population, query: string): Ring {
  const back = Math.ceil((newsPerPoll * size.threads) / threadsFollowed)
  const after = `${Math.max(0, position - back)}${query}`
  return ringOf(tokens.slice(0, ringLength).map((token) => poll(token, after)))
}

/** Each identity polls once per cycle of the ring, and receives what was published since. */
function mixed(population: Population): Ring {
  const { tokens, threads } = population
  const turns = Math.ceil(tokens.length / 7)
  const requests: Request[] = []
  for (let turn = 0; turn < turns; turn++) {
    for (let i = 0; i < 7; i++)
      requests.push(poll(tokens[(turn * 7 + i) % tokens.length], lastSeen))
    // Replies and polls are interleaved, like those of many callers.
    requests.splice(-5, 0, replyOf(population, turn))
    for (let i = 0; i < 2; i++) {
      const { id } = threads[(turn * 2 + i) % threads.length]
      requests.splice(-2 - i, 0, read(id, `after=${lastSeen}`))
    }
  }
  return ringOf(requests)
}

function read(id: string, query: string): Request {
  return { method: 'GET', route: readsThread, path: `/api/threads/${id}?${query}` }
}

function poll(token: string, after: number | string): Request {
  const path = `/api/notifications?after=${after}`
  return { method: 'GET', route: pollsFeed, path, token }
}

function reply(token: string, threadId: string, content: string, key: string): Request {
  const path = `/api/threads/${threadId}/replies`
  return { method: 'POST', route: postsReply, path, token, key, body: { content } }
}

function replyOf({ threads, size }: Population, i: number): Request {
  const { id, tokens } = threads[i % threads.length]
  return reply(tokens[i % tokens.length], id, contentOf(i, size.contentBytes), freshKey)
}
