// Question:   do agents that follow very many threads, and poll from the beginning, delay others?
// Compares:   a node without pollers, and the same node with eight: at the end of their feed; with
//             `after=0` as the author of everything in 150,000 threads, who finds nothing; and with
//             `after=0` as a reader who follows as many, and has news in each.
// Fixed:      one connection for each poller and one for the other request, which reads a page of a
//             thread; polls follow one another at once; measured alternately, medians of the
//             rounds.
// Reports:    p99 of the other request and its ratio to that without pollers; the longest delay of
//             the event loop; polls/s; and how long the first poll after a start takes.
// Leaves out: more than eight such polls at once by one agent, which are rejected.
// Smoke:      `--threads 5000 --seconds 1`. Run it: node dist/bench/feed-everything.js

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from 'undici'
import { createThread, reply } from '../src/forum/posts.ts'
import { subscribe } from '../src/forum/subscriptions.ts'
import { median } from './compare.ts'
import { inForum } from './in-forum.ts'
import { demand, newToken } from './population.ts'
import { type Forum, startForum } from './sides.ts'

const { values } = parseArgs({
  options: {
    threads: { type: 'string', default: '150000' },
    seconds: { type: 'string', default: '5' },
  },
})
const threads = Number(values.threads)
const seconds = Number(values.seconds)
const rounds = 3
const pollers = 8
const longest = 'agent_forum_event_loop_delay_seconds{quantile="1"}'

/** Creates threads in which only the author wrote, and as many with replies for the reader. */
function populate(dir: string) {
  return inForum(dir, async (forum, pause) => {
    const [author, , reader] = ['author', 'answerer', 'reader'].map((name) => {
      return newToken(forum, name)
    })
    const access = { visibility: 'public', participantIds: [], address: '' } as const
    let done = 0
    for (let t = 0; t < 2 * threads; t++) {
      const isAnswered = t >= threads
      const [title, content, key] = ['T', 'a message', `thread-${t}`]
      demand(createThread(forum, { caller: isAnswered ? 1 : 0, title, content, key, ...access }))
      const threadId = forum.state.threads.id(t)
      if (isAnswered) {
        demand(subscribe(forum, { caller: 2, threadId }))
        demand(reply(forum, { caller: 1, threadId, content, key: `reply-${t}`, address: '' }))
      }
      await pause(++done)
    }
    const { state } = forum
    return { author, reader, page: state.threads.id(0), end: state.position }
  })
}

async function get(client: Client, path: string, token: string): Promise<number> {
  const begun = performance.now()
  const headers = { authorization: `Bearer ${token}` }
  const { statusCode, body } = await client.request({ method: 'GET', path, headers })
  await body.dump()
  if (statusCode !== 200) throw new Error(`${path}: ${statusCode}`)
  return performance.now() - begun
}

interface Compared {
  name: string
  token: string
  /** The path that the pollers request, or null if there are none. */
  path: string | null
}

async function measure(forum: Forum, { path, token }: Compared, page: string) {
  const deadline = performance.now() + seconds * 1_000
  let polls = 0
  const polling = Array.from({ length: path === null ? 0 : pollers }, async () => {
    const client = new Client(forum.url)
    for (; performance.now() < deadline; polls++) await get(client, path!, token)
    await client.close()
  })
  await forum.metrics()
  const client = new Client(forum.url)
  const times: number[] = []
  while (performance.now() < deadline) times.push(await get(client, page, token))
  await Promise.all(polling)
  await client.close()
  times.sort((a, b) => a - b)
  const stallMs = (await forum.metrics()).get(longest)! * 1e3
  const p99Ms = times[Math.floor(times.length * 0.99)]
  return { p99Ms, stallMs, pollsPerSecond: polls / seconds }
}

const dir = mkdtempSync(join(tmpdir(), 'agent-forum-bench-'))
try {
  const { author, reader, page, end } = await populate(dir)
  const forum = await startForum(dir, ['--durability', 'none'])
  const feed = '/api/notifications?after='
  const sides: Compared[] = [
    { name: 'no pollers', token: author, path: null },
    { name: 'at the end', token: author, path: `${feed}${end}` },
    { name: 'author, after=0', token: author, path: `${feed}0` },
    { name: 'reader, after=0', token: reader, path: `${feed}0` },
  ]
  const client = new Client(forum.url)
  for (const { name, path, token } of sides) {
    if (path === null) continue
    const firstMs = await get(client, path, token)
    process.stdout.write(`${name}: the first poll takes ${firstMs.toFixed(1)} ms\n`)
  }
  await client.close()
  const found = new Map(
    sides.map(({ name }) => [name, [] as Awaited<ReturnType<typeof measure>>[]]),
  )
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      found.get(side.name)!.push(await measure(forum, side, `/api/threads/${page}`))
    }
  }
  const alone = found.get('no pollers')!
  for (const [name, measured] of found) {
    const of = (pick: (one: (typeof measured)[0]) => number) => median(measured.map(pick))
    const ratio = median(measured.map(({ p99Ms }, round) => p99Ms / alone[round].p99Ms))
    const p99 = `p99 of a page ${of(({ p99Ms }) => p99Ms).toFixed(2)} ms, ${ratio.toFixed(2)} times`
    process.stdout.write(
      `${name}: ${p99} that without pollers, longest delay ` +
        `${of(({ stallMs }) => stallMs).toFixed(1)} ms, ` +
        `${Math.round(of(({ pollsPerSecond }) => pollsPerSecond))} polls/s\n`,
    )
  }
  await forum.stop()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
