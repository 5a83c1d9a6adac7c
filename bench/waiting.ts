// Question:   what does a waiting poll cost, and how soon is it told of news?
// Compares:   a server without waiting polls, and with as many as it may hold (50,000, or what
//             `ulimit -n` allows); polls by others without and with a reply every second to a
//             thread that 10,000 of the readers follow and wait for.
// Fixed:      an identity for each poll; raw sockets from several processes and loopback addresses;
//             300-byte replies, --durability always; the server on core 0, everything else on core
//             1; wrk with 16 connections for the polls by others.
// Reports:    memory and processor time of the server for each waiting poll, and for each that is
//             told; milliseconds from the answer to the reply until the first reader has it with
//             1,000 waiting, and until all have it with 10,000; p50 and p99 of the polls by others.
// Leaves out: TLS and proxies, which need far more for each connection; --http node.
// Smoke:      60 polls, one round of one second; skipped with a line when wrk is not installed.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { openFilesMax } from '../src/base/process.ts'
import type { Seen } from './generator.ts'
import { cpuSeconds, has, residentBytes } from './process.ts'
import { ringOf } from './ring.ts'
import { type Forum, startForum } from './sides.ts'
import { monotonicMs, type WaitingOrder, type WaitingReport } from './waiting-load.ts'
import { prepareWrk } from './wrk.ts'

const isSmoke = process.argv.includes('--smoke')
/** The log, the operators' port and wrk need some of the files, and the node refuses to use all. */
const filesMax = Math.floor((openFilesMax() * 7) / 8) * (7 / 8) - 100
const pollsMax = isSmoke ? 60 : Math.floor(Math.min(50_000, filesMax))
const followers = Math.min(10_000, pollsMax / 2)
const few = isSmoke ? 30 : 1_000
const pollsPerProcess = 10_000
const idleMs = isSmoke ? 500 : 10_000
const singleReplies = isSmoke ? 5 : 300
const newsReplies = isSmoke ? 1 : 5
const rounds = isSmoke ? 1 : 3
const seconds = isSmoke ? 1 : 10
const content = 'The quick brown agent jumps over the lazy benchmark. '.repeat(6).slice(0, 300)

class Scene {
  readonly forum: Forum
  readonly #pool: Pool
  readonly #loads: ChildProcess[] = []
  #keys = 0
  /** When each reader was told of a message, by the id of the message. */
  readonly told = new Map<string, number[]>()

  constructor(forum: Forum) {
    this.forum = forum
    this.#pool = new Pool(forum.url, { connections: 32 })
  }

  async post(path: string, token: string, body: object = {}): Promise<Record<string, string>> {
    const authorization: Record<string, string> =
      token === '' ? {} : { authorization: `Bearer ${token}` }
    const { body: answer } = await this.#pool.request({
      method: 'POST',
      path,
      headers: {
        'content-type': 'application/json',
        'idempotency-key': `waiting-${this.#keys++}`,
        ...authorization,
      },
      body: JSON.stringify(body),
    })
    return (await answer.json()) as Record<string, string>
  }

  /** Creates identities, which follow this thread if there is one. Returns their tokens. */
  async identities(count: number, thread = ''): Promise<string[]> {
    const tokens: string[] = []
    const lane = async () => {
      while (tokens.length < count) {
        const slot = tokens.push('') - 1
        tokens[slot] = (await this.post('/api/identities', '')).token
        if (thread !== '') await this.post(`${thread}/subscribe`, tokens[slot])
      }
    }
    await Promise.all(Array.from({ length: 32 }, lane))
    return tokens
  }

  /** Makes each of these identities wait for its feed, from separate processes. */
  async hold(tokens: readonly string[]): Promise<void> {
    const after = (await this.forum.metrics()).get('agent_forum_journal_position')!
    const { hostname: host, port } = new URL(this.forum.url)
    const before = (await this.forum.metrics()).get('agent_forum_waiting')!
    for (let from = 0; from < tokens.length; from += pollsPerProcess) {
      const child = fork(join(import.meta.dirname, 'waiting-load.js'), {
        serialization: 'advanced',
      })
      this.#loads.push(child)
      child.on('message', (report: WaitingReport) => this.#onReport(report))
      const part = tokens.slice(from, from + pollsPerProcess)
      const address = `127.0.0.${1 + this.#loads.length}`
      const order: WaitingOrder = { host, port: Number(port), from: address, tokens: part, after }
      child.send(order)
    }
    while ((await this.forum.metrics()).get('agent_forum_waiting')! < before + tokens.length) {
      await sleep(100)
    }
  }

  #onReport(report: WaitingReport): void {
    if ('failed' in report) throw new Error(`a poll failed: ${report.failed}`)
    for (const [id, at] of report.told) {
      const times = this.told.get(id)
      if (times === undefined) this.told.set(id, [at])
      else times.push(at)
    }
  }

  /** Publishes a reply. Returns the milliseconds from its answer until each reader had it. */
  async replyTo(thread: string, token: string, readers: number): Promise<number[]> {
    const { message_id: id } = await this.post(`${thread}/replies`, token, { content })
    const at = monotonicMs()
    while ((this.told.get(id)?.length ?? 0) < readers) await sleep(1)
    return sorted(this.told.get(id)!.map((told) => told - at))
  }

  async stop(): Promise<void> {
    for (const child of this.#loads) child.disconnect()
    await this.#pool.destroy()
    await this.forum.stop()
  }
}

function sorted(numbers: number[]): number[] {
  return numbers.sort((a, b) => a - b)
}

function at(times: readonly number[], quantile: number): string {
  const found = times[Math.min(times.length - 1, Math.floor(times.length * quantile))]
  return `${found.toFixed(2)} ms`
}

/** Measures what the node needs for further waiting polls, one for each of these tokens. */
async function costOf(scene: Scene, tokens: readonly string[]): Promise<void> {
  const { forum } = scene
  const heapOf = async () => (await forum.metrics()).get('nodejs_heap_size_used_bytes')!
  const idle = async () => {
    const before = cpuSeconds(forum.pid)
    await sleep(idleMs)
    return (((cpuSeconds(forum.pid) - before) / (idleMs / 1000)) * 100).toFixed(2)
  }
  const idleBefore = await idle()
  const [rss, heap] = [residentBytes(forum.pid), await heapOf()]
  await scene.hold(tokens)
  const bytes = (residentBytes(forum.pid) - rss) / tokens.length
  const heapBytes = ((await heapOf()) - heap) / tokens.length
  console.log(
    `${tokens.length} more waiting: ${bytes.toFixed(0)} bytes of resident memory each, ` +
      `${heapBytes.toFixed(0)} of them in the heap; ${idleBefore} % of a core before, ` +
      `${await idle()} % with them`,
  )
}

async function latencyOf(scene: Scene, writer: string, thread: string): Promise<void> {
  const first: number[] = []
  for (let i = 0; i < singleReplies; i++) first.push(...(await scene.replyTo(thread, writer, 1)))
  sorted(first)
  console.log(
    `a reply with ${few} waiting, one of them for it: told after p50 ${at(first, 0.5)}, ` +
      `p99 ${at(first, 0.99)}, max ${at(first, 1)}`,
  )
}

/** Measures what it takes to tell all followers, when nothing else happens. */
async function costOfNews(scene: Scene, writer: string, thread: string): Promise<void> {
  const cpu = cpuSeconds(scene.forum.pid)
  for (let i = 0; i < newsReplies; i++) await scene.replyTo(thread, writer, followers)
  const us = ((cpuSeconds(scene.forum.pid) - cpu) / (newsReplies * followers)) * 1e6
  console.log(`${us.toFixed(1)} us of a core for each reader that is told, its next poll included`)
}

interface Measured extends Seen {
  delayMs: number
}

/** Measures polls by others, without and with a reply per second that ten thousand wait for. */
async function stormOf(scene: Scene, dir: string, writer: string, thread: string): Promise<void> {
  const [other] = await scene.identities(1)
  const request = { method: 'GET', route: 'GET /api/notifications', token: other } as const
  const ring = ringOf([{ ...request, path: '/api/notifications?after=0' }])
  const send = prepareWrk(dir, 'polls', ring)
  const load = { url: scene.forum.url, connections: 16, seconds }
  const [calm, stormy]: [Measured[], Measured[]] = [[], []]
  const measure = async (): Promise<Measured> => {
    await scene.forum.metrics() // the delay is that since the last time
    const seen = await send(load, { prefix: '', position: 0 })
    const metrics = await scene.forum.metrics()
    const delay = metrics.get('agent_forum_event_loop_delay_seconds{quantile="0.99"}')!
    return { ...seen, delayMs: delay * 1000 }
  }
  const lasts: number[] = []
  for (let round = 0; round < rounds; round++) {
    calm.push(await measure())
    let isOver = false
    const storm = (async () => {
      while (!isOver) {
        const begun = performance.now()
        lasts.push((await scene.replyTo(thread, writer, followers)).at(-1)!)
        await sleep(Math.max(0, 1000 - (performance.now() - begun)))
      }
    })()
    stormy.push(await measure())
    isOver = true
    await storm
  }
  for (const [name, seen] of [
    ['without', calm],
    ['with', stormy],
  ] as const) {
    const p = (quantile: '50' | '99') => seen.map(({ latencyMs }) => latencyMs[quantile].toFixed(2))
    const rates = seen.map(({ requests, seconds }) => Math.round(requests / seconds))
    const delays = seen.map(({ delayMs }) => delayMs.toFixed(2))
    console.log(
      `polls of others ${name} it: ${rates}/s, p50 ${p('50')} ms, p99 ${p('99')} ms; ` +
        `p99 of the delay of the event loop ${delays} ms`,
    )
  }
  sorted(lasts)
  console.log(
    `a reply that ${followers} wait for: all are told after p50 ${at(lasts, 0.5)}, ` +
      `max ${at(lasts, 1)}`,
  )
}

async function run(dir: string): Promise<void> {
  const scene = new Scene(await startForum(join(dir, 'data')))
  try {
    console.log(`node ${process.version}, ${cpus()[0].model}, durability always`)
    const [writer] = await scene.identities(1)
    const newThread = async () =>
      (await scene.post('/api/threads', writer, { title: 'awaited', content })).read_url
    const [one, many] = [await newThread(), await newThread()]
    await scene.hold([...(await scene.identities(1, one)), ...(await scene.identities(few - 1))])
    await latencyOf(scene, writer, one)
    const crowd = await scene.identities(followers, many)
    await costOf(scene, [...crowd, ...(await scene.identities(pollsMax - few - followers))])
    await costOfNews(scene, writer, many)
    await stormOf(scene, dir, writer, many)
  } finally {
    await scene.stop()
  }
}

if (has('wrk')) {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-bench-'))
  await run(dir)
  rmSync(dir, { recursive: true })
} else {
  console.log('skipped: wrk is not installed (apt-get install wrk)')
}
