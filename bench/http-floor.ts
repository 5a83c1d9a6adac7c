// Question:   how much of the HTTP library's speed is left when answers are durable and checked?
// Compares:   the forum against bare uWebSockets.js handlers that take in and give out the same
//             bytes (floor-server.ts): POST a reply; GET a page of 50 messages.
// Fixed:      64 connections, 300-byte messages, --durability always, one core for the server and
//             one for wrk; both sides measured alternately, the median of the rounds is reported.
// Reports:    requests/s, p50 and p99 of both, and the ratio.
// Leaves out: other routes, other connection counts, other peers.
// Smoke:      one round of one second; skipped with a line when wrk is not installed.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Child, has, type Measured, startServer, wrk } from './wrk.ts'

const isSmoke = process.argv.includes('--smoke')
const rounds = isSmoke ? 1 : 5
const seconds = isSmoke ? 1 : 5
const connections = 64
const here = import.meta.dirname
const content = 'The quick brown agent jumps over the lazy benchmark. '.repeat(6).slice(0, 300)

const postScript = `
local token, counter = "", 0
local body = '{"content":"${content}"}'
local path
function init(args)
  path = args[1]
  token = args[2]
  prefix = args[3]
end
function request()
  counter = counter + 1
  return wrk.format("POST", path, {
    ["Content-Type"] = "application/json",
    ["Authorization"] = "Bearer " .. token,
    ["Idempotency-Key"] = prefix .. "-" .. counter,
  }, body)
end
`
const getScript = `
local path
function init(args) path = args[1] end
function request() return wrk.format("GET", path) end
`

interface Prepared {
  token: string
  threadPath: string
  page: Buffer
  publication: Buffer
}

/** An identity, a thread of 50 messages, and what the forum answers about them. */
async function prepare(url: string): Promise<Prepared> {
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return Buffer.from(await response.arrayBuffer())
  }
  const { token } = JSON.parse((await post('/api/identities', {})).toString())
  const authorization = { Authorization: `Bearer ${token}` }
  const key = (n: number) => ({ ...authorization, 'Idempotency-Key': `prepare-${n}` })
  const created = await post('/api/threads', { title: 'Bench', content }, key(0))
  const { read_url: threadPath } = JSON.parse(created.toString())
  let publication = created
  for (let n = 1; n < 50; n++)
    publication = await post(`${threadPath}/replies`, { content }, key(n))
  const page = Buffer.from(await (await fetch(url + threadPath)).arrayBuffer())
  return { token, threadPath, page, publication }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

/** Measures both sides alternately and prints a line for each, and the ratio. */
async function compare(
  what: string,
  measure: (side: 'floor' | 'forum', round: number) => Promise<Measured>,
): Promise<void> {
  const results = { floor: [] as Measured[], forum: [] as Measured[] }
  for (let round = 0; round < rounds; round++) {
    for (const side of ['floor', 'forum'] as const) {
      process.stderr.write(`${what}: round ${round + 1} of ${rounds}, ${side}\n`)
      results[side].push(await measure(side, round))
    }
  }
  const rate = (side: 'floor' | 'forum') => median(results[side].map((r) => r.requestsPerSecond))
  for (const side of ['floor', 'forum'] as const) {
    const p50 = median(results[side].map((r) => r.p50Ms)).toFixed(2)
    const p99 = median(results[side].map((r) => r.p99Ms)).toFixed(2)
    const errors = results[side].reduce((sum, r) => sum + r.errors, 0)
    console.log(
      `${what.padEnd(24)} ${side}  ${Math.round(rate(side)).toLocaleString('en').padStart(8)}/s` +
        `  p50 ${p50} ms  p99 ${p99} ms  errors ${errors}`,
    )
  }
  console.log(`${what.padEnd(24)} ratio  ${(rate('forum') / rate('floor')).toFixed(2)}`)
}

async function main(): Promise<void> {
  if (!has('wrk')) {
    console.log('skipped: wrk is not installed (apt-get install wrk)')
    return
  }
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-bench-'))
  const children: Child[] = []
  try {
    const serve = ['serve', '--port', '0', '--data', join(dir, 'data')]
    const forum = await startServer([join(here, '../src/main.js'), ...serve])
    children.push(forum)
    const { token, threadPath, page, publication } = await prepare(forum.url)
    const files = { post: 'post.lua', get: 'get.lua', page: 'page', publication: 'publication' }
    const path = (name: keyof typeof files) => join(dir, files[name])
    writeFileSync(path('post'), postScript)
    writeFileSync(path('get'), getScript)
    writeFileSync(path('page'), page)
    writeFileSync(path('publication'), publication)
    const floorArgs = [join(here, 'floor-server.js'), path('page'), path('publication')]
    const floor = await startServer(floorArgs)
    children.push(floor)
    const urls = { floor: floor.url, forum: forum.url }

    console.log(`node ${process.version}, ${cpus()[0].model}, durability always, data in ${dir}`)
    await compare(`page of 50, ${page.length} bytes`, (side) => {
      const load = { url: urls[side], connections, seconds }
      return wrk({ ...load, script: path('get'), scriptArgs: [threadPath] })
    })
    await compare('reply, durable', (side, round) => {
      const load = { url: urls[side], connections, seconds }
      const scriptArgs = [`${threadPath}/replies`, token, `${side}-${round}-0000`]
      return wrk({ ...load, script: path('post'), scriptArgs })
    })
  } finally {
    for (const child of children) await child.stop()
    rmSync(dir, { recursive: true })
  }
}

await main()
