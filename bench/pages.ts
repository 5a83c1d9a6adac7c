// Question:   how fast are the pages for people, compared with what programs read of the same
//             content?
// Compares:   each page for people with the operation of the interface that reads the same: from
//             the cache, and for threads also when each page has to be rendered anew. The page of
//             an agent has no such operation, and is compared with as many messages of a thread.
// Fixed:      64 connections, 10,000 identities, 1,000 threads, 60,000 messages of 300 bytes, 50
//             proposals; server on one core, load (wrk) on another; both sides measured
//             alternately, medians of the rounds.
// Reports:    pages/s and requests/s, their ratio, p99, processor time for each; the target.
// Leaves out: compression, which is the proxy's task; browsers that have the page already (304).
// Smoke:      test/bench/pages.test.ts. Run it: node dist/bench/pages.js

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compare, type Result } from './compare.ts'
import { bestGenerator, generators } from './load.ts'
import { type Population, populate } from './population.ts'
import { type Request, ringOf } from './ring.ts'
import { type Forum, startForum } from './sides.ts'

const { values } = parseArgs({
  options: {
    identities: { type: 'string', default: '10000' },
    threads: { type: 'string', default: '1000' },
    messages: { type: 'string', default: '60000' },
    connections: { type: 'string', default: '64' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
  },
})
const number = (name: keyof typeof values) => Number(values[name])
const proposals = 50
const agents = 100
const target = 5_000

interface Question {
  name: string
  /** The paths that a browser requests, and those of the interface that read the same. */
  pages: string[]
  operations: string[]
}

/** Returns what is read of a forum. Creates the proposals. */
async function questionsOf(forum: Forum, population: Population): Promise<Question[]> {
  const { longThreads, scattered } = population
  const authors = await Promise.all(scattered.slice(0, agents).map((id) => authorOf(forum, id)))
  const made = await propose(forum, population.tokens[0])
  const threads = (of: string[], query: string) => ({
    pages: of.map((id) => `/t/${id}${query}`),
    operations: of.map((id) => `/api/threads/${id}${query}`),
  })
  // More pages than the caches hold, read cyclically: each is evicted before it is read again.
  const anew = [50, 49, 48].map((limit) => threads(scattered, `?limit=${limit}`))
  return [
    { name: 'thread', ...threads(longThreads, '?limit=50') },
    {
      name: 'thread, made anew',
      pages: anew.flatMap(({ pages }) => pages),
      operations: anew.flatMap(({ operations }) => operations),
    },
    { name: 'list', pages: ['/'], operations: ['/api/threads?limit=20'] },
    {
      name: 'agent',
      pages: authors.map((id) => `/agents/${id}`),
      operations: threads(longThreads, '?limit=20').operations,
    },
    {
      name: 'proposals',
      pages: ['/governance'],
      operations: ['/api/governance/proposals?limit=20&before=1000000'],
    },
    {
      name: 'proposal',
      pages: made.map((id) => `/governance/${id}`),
      operations: made.map((id) => `/api/governance/proposals/${id}`),
    },
  ]
}

async function authorOf({ url }: Forum, threadId: string): Promise<string> {
  const response = await fetch(`${url}/api/threads/${threadId}?limit=1`)
  const { thread } = (await response.json()) as { thread: { author_id: string } }
  return thread.author_id
}

/** Creates the proposals. Returns their ids. */
async function propose({ url }: Forum, token: string): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < proposals; n++) {
    const body = { kind: 'policy', title: `Policy ${n}`, description: 'Because. '.repeat(40) }
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': `proposal-${n}` }
    const response = await fetch(`${url}/api/governance/proposals`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(await response.text())
    ids.push(((await response.json()) as { proposal_id: string }).proposal_id)
  }
  return ids
}

/** Returns the results of the operation and of the page, in this order. */
async function measure(dir: string, forum: Forum, question: Question): Promise<Result[]> {
  const get = (path: string, accept: string): Request => {
    return { method: 'GET', route: question.name, path, accept }
  }
  const side = (name: string, paths: string[], accept: string) => {
    const file = `${question.name}-${name}`.replaceAll(/\W+/g, '-')
    const send = generators[bestGenerator](dir, file, ringOf(paths.map((p) => get(p, accept))))
    const { url, pid } = forum
    const filling = { prefix: '', position: 0 }
    const load = (amount: { connections: number; seconds: number }) =>
      send({ url, ...amount }, filling)
    return { name, pids: [pid], load }
  }
  const sides = [
    side('operation', question.operations, '*/*'),
    side('page', question.pages, 'text/html,*/*;q=0.8'),
  ]
  const amount = { connections: number('connections'), seconds: number('seconds') }
  return compare(sides, amount, number('rounds'))
}

function line({ name }: Question, [operation, page]: Result[]): string {
  const rate = (perSecond: number) => Math.round(perSecond).toLocaleString('en')
  const of = ({ latencyMs, cpuUsPerRequest }: Result) =>
    `p99 ${latencyMs['99'].toFixed(2)} ms, ${cpuUsPerRequest.toFixed(0)} us of processor time`
  const errors = operation.errors + page.errors
  return [
    `${name.padEnd(18)} ${rate(page.perSecond).padStart(7)} pages/s, ${of(page)};`,
    `interface ${rate(operation.perSecond)} requests/s, ${of(operation)};`,
    `ratio ${page.ratio.toFixed(2)}${errors === 0 ? '' : `, ${errors} errors`}`,
  ].join(' ')
}

const dir = mkdtempSync(join(tmpdir(), 'agent-forum-bench-'))
try {
  const data = join(dir, 'data')
  const size = {
    identities: number('identities'),
    threads: number('threads'),
    messages: number('messages'),
    contentBytes: 300,
  }
  const population = await populate(data, size)
  const forum = await startForum(data)
  for (const question of await questionsOf(forum, population)) {
    process.stdout.write(`${line(question, await measure(dir, forum, question))}\n`)
  }
  process.stdout.write(`target: ${target.toLocaleString('en')} pages/s of each from the cache\n`)
  await forum.stop()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
