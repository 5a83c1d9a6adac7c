// Question:   what does one request cost the node, and what do other callers still get, if callers
//             choose the worst content and the worst requests?
// Compares:   the requests below, each with an ordinary page and an ordinary request; polls by
//             others without attackers, and beside six attackers that request what costs most.
// Fixed:      threads of 100 messages of 8,000 characters, 50 proposals of 32 KiB that escaping
//             makes six times as long; each page is rendered anew; the server on core 0.
// Reports:    processor time of the server's main thread for each request, the least of the rounds;
//             the rate and waits of polls by others. --main FILE measures another build.
// Leaves out: readers, whose processes render pages like the main one; what a proxy stops before.
// Smoke:      --smoke: ten messages, one round, half a second. Run it: node dist/bench/attacks.js

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { Pool } from 'undici'
import { Caller } from './caller.ts'
import { flagsOf } from './flags.ts'
import { type Server, startServer, workDirectory } from './process.ts'

const { main, smoke } = flagsOf({
  main: join(import.meta.dirname, '../agent-forum/cli/main.js'),
  smoke: false,
})
const messages = smoke ? 10 : 100
const proposals = smoke ? 5 : 50
const rounds = smoke ? 1 : 4
const seconds = smoke ? 0.5 : 5
const attackers = 6
const characters = 8_000

const ideographs = (from: number, length: number) =>
  String.fromCodePoint(...Array.from({ length }, (_, i) => 0x4e00 + ((from + i) % 20_000)))
const filled = (unit: string) =>
  unit.repeat(Math.ceil(characters / unit.length)).slice(0, characters)

/** The contents of a thread's messages; `n` is different for each message. */
const contents: Record<string, (n: number) => string> = {
  'ordinary text': () => filled('The quick brown agent jumps over the lazy forum. '),
  'an address and full stops': () => `http://a${'.'.repeat(7_980)}x`,
  'one host of ideographs': (n) => `http://${ideographs(79 * n, 7_990)}`,
  'short hosts of ideographs': (n) =>
    filled(`http://${[1, 2, 3, 4].map((i) => ideographs(251 * n * i, 62)).join('.')} `),
  'control characters': () => filled('\u0001'),
  'bidirectional marks': () => filled('\u202e'),
  tags: () => '\u{e0041}'.repeat(characters),
  'less-than signs': () => filled('<'),
  addresses: () => filled('http://a.b '),
  'ampersands in an address': () => `http://a/${'&'.repeat(1_900)} `.repeat(4),
  'fences of code': () => filled('```\n'),
}

interface Sent {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}

interface Row {
  name: string
  /** Returns the request of a round, whose answer no cache has. */
  request(round: number): Sent
}

class Scene {
  readonly #server: Server
  readonly #pool: Pool
  readonly #caller: Caller
  #token = ''

  constructor(server: Server) {
    this.#server = server
    this.#pool = new Pool(server.url, { connections: 16, headersTimeout: 0 })
    this.#caller = new Caller(server.url, 16)
  }

  async send({ method, path, headers = {}, body }: Sent): Promise<string> {
    const answer = await this.#pool.request({
      method,
      path,
      headers: { accept: 'text/html', ...headers },
      ...(body !== undefined && { body }),
    })
    return answer.body.text()
  }

  async post(path: string, body: object): Promise<Record<string, string>> {
    const key = this.#caller.newKey()
    const text = await this.#caller.send({ method: 'POST', path, token: this.#token, key, body })
    return JSON.parse(text) as Record<string, string>
  }

  async register(): Promise<void> {
    this.#token = (await this.#caller.register(1))[0]
  }

  get url(): string {
    return this.#server.url
  }

  /** The processor time of the main thread so far, in milliseconds. */
  get cpuMs(): number {
    const { pid } = this.#server
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  }

  async cost(row: Row): Promise<number> {
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < rounds; round++) {
      await sleep(20)
      const before = this.cpuMs
      await this.send(row.request(round))
      least = Math.min(least, this.cpuMs - before)
    }
    return least
  }

  async stop(): Promise<void> {
    await this.#pool.destroy()
    await this.#caller.close()
    await this.#server.stop()
  }
}

/** Creates a thread of such messages. Its page differs with the message after which it begins. */
async function threadOf(scene: Scene, name: string, content: (n: number) => string): Promise<Row> {
  const made = await scene.post('/api/threads', { title: name, content: content(0) })
  for (let n = 1; n < messages; n++) {
    await scene.post(`/api/threads/${made.thread_id}/replies`, { content: content(n) })
  }
  const path = `/api/threads/${made.thread_id}?limit=100`
  const page = JSON.parse(await scene.send({ method: 'GET', path })) as {
    messages: { seq: number }[]
  }
  const seqs = page.messages.map(({ seq }) => seq)
  return {
    name: `page of ${name}`,
    request: (round) => {
      const after = round === 0 ? 0 : seqs[round - 1]
      return { method: 'GET', path: `/t/${made.thread_id}?after=${after}&limit=100` }
    },
  }
}

async function propose(scene: Scene): Promise<string> {
  const of = (n: number) => ({
    kind: 'code',
    title: `A proposal ${n}`,
    description: '\u0001'.repeat(6_000),
    base_commit: '0'.repeat(40),
    files: [{ path: 'a.ts', content: '\u0001'.repeat(26_000) }],
  })
  let id = ''
  for (let n = 0; n < proposals; n++) {
    id = (await scene.post('/api/governance/proposals', of(n))).proposal_id
  }
  return id
}

function otherRows(proposal: string): Row[] {
  const list = (round: number) => 9_000_000 + Math.floor(Math.random() * 1e6) + round
  const json = { 'content-type': 'application/json' }
  const fields = Array.from({ length: 20_000 }, (_, i) => `"f${i}":1`).join()
  const identity = (body: string): Row['request'] => {
    return () => ({ method: 'POST', path: '/api/identities', headers: json, body })
  }
  const header = (name: string, value: string): Row['request'] => {
    return () => ({ method: 'GET', path: '/governance', headers: { [name]: value } })
  }
  const get = (path: (round: number) => string): Row['request'] => {
    return (round) => ({ method: 'GET', path: path(round) })
  }
  return [
    { name: 'list of proposals', request: get((n) => `/governance?before=${list(n)}&limit=50`) },
    { name: 'page of a proposal', request: get(() => `/governance/${proposal}`) },
    {
      name: 'proposals, limit=50',
      request: get(() => '/api/governance/proposals?limit=50'),
    },
    {
      name: 'identity: nested arrays',
      request: identity(`{"a":${'['.repeat(120_000)}${']'.repeat(120_000)}}`),
    },
    { name: 'identity: many fields', request: identity(`{${fields}}`) },
    { name: 'If-None-Match of commas', request: header('if-none-match', ','.repeat(15_000)) },
    { name: 'Accept of commas', request: header('accept', `text/html${','.repeat(15_000)}`) },
    { name: 'ordinary: status', request: get(() => '/api/status') },
  ]
}

/** Measures polls by another caller, in sequence, while another thread of this program attacks. */
async function othersOf(scene: Scene, attack: readonly string[]): Promise<string> {
  const workers = attack.length === 0 ? [] : [new Worker(attackProgram, { eval: true })]
  for (const worker of workers) worker.postMessage({ url: scene.url, attackers, paths: attack })
  const waits: number[] = []
  const [begun, cpuBefore] = [performance.now(), scene.cpuMs]
  while (performance.now() < begun + seconds * 1000) {
    const before = performance.now()
    await scene.send({ method: 'GET', path: '/api/status' })
    waits.push(performance.now() - before)
  }
  const busy = (scene.cpuMs - cpuBefore) / (performance.now() - begun)
  for (const worker of workers) await worker.terminate()
  waits.sort((a, b) => a - b)
  const at = (share: number) => waits[Math.floor((waits.length - 1) * share)].toFixed(2)
  const rate = Math.round(waits.length / seconds)
  const cpu = `${(busy * 100).toFixed(0)} % of a core`
  return `${rate}/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms, ${cpu}`
}

/** Requests these paths cyclically, on its own connections, and discards the answers. */
const attackProgram = `
  const { parentPort } = require('node:worker_threads')
  const http = require('node:http')
  parentPort.once('message', ({ url, attackers, paths }) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: attackers })
    let sent = 0
    const send = () => http.get(url + paths[sent++ % paths.length], { agent }, (answer) => {
      answer.resume().once('end', send)
    })
    for (let i = 0; i < attackers; i++) send()
  })
`

const dir = workDirectory()
const server = await startServer([main, 'serve', '--port', '0', '--data', join(dir, 'data')])
const scene = new Scene(server)
try {
  await scene.register()
  const pages: Row[] = []
  for (const [name, content] of Object.entries(contents)) {
    pages.push(await threadOf(scene, name, content))
  }
  const rows = [...pages, ...otherRows(await propose(scene))]
  for (const row of rows) {
    process.stdout.write(
      `${row.name.padEnd(36)} ${(await scene.cost(row)).toFixed(2).padStart(9)} ms\n`,
    )
  }
  process.stdout.write(`polls of others: ${await othersOf(scene, [])}\n`)
  for (const name of ['control characters', 'short hosts of ideographs', 'tags']) {
    const row = pages.find((each) => each.name === `page of ${name}`)!
    const paths = Array.from({ length: messages }, (_, n) => row.request(n).path)
    const others = await othersOf(scene, paths)
    process.stdout.write(`beside ${attackers} readers of ${name}: ${others}\n`)
  }
} finally {
  await scene.stop()
}
