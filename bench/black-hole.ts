// Question:   does a webhook receiver that never answers slow down those who publish?
// Compares:   a server without webhooks; one where 1,000 wakeups wait for a silent receiver, one of
//             them always being sent; and on that one, replies to the thread that all 1,000
//             identities follow, where each reply is merged into 1,000 pending wakeups.
// Fixed:      wrk with 16 connections, 300-byte replies, --durability always, servers on core 0,
//             wrk on core 1; measured alternately, the median of the rounds is reported.
// Reports:    replies/s, p50 and p99 of each; the attempts made meanwhile.
// Leaves out: receivers that answer (webhook-lab.ts).
// Smoke:      20 webhooks, one round of one second; skipped with a line when wrk is not installed.

import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent as HttpAgent, request } from 'undici'
import { echo, makeCertificates, Receiver } from '../test/delivery/receiver.ts'
import { median } from './compare.ts'
import type { Seen } from './generator.ts'
import { has, startServer } from './process.ts'
import { freshKey, ringOf } from './ring.ts'
import { prepareWrk } from './wrk.ts'

const isSmoke = process.argv.includes('--smoke')
const webhookCount = isSmoke ? 20 : 1_000
const rounds = isSmoke ? 1 : 5
const seconds = isSmoke ? 1 : 5
const connections = 16
const atOnce = 8
const content = 'The quick brown agent jumps over the lazy benchmark. '.repeat(6).slice(0, 300)
const main = join(import.meta.dirname, '../agent-forum/cli/main.js')

const http = new HttpAgent({ connections: atOnce })
let keys = 0

async function post<T>(url: string, path: string, token = '', body: object = {}): Promise<T> {
  keys += 1
  const answer = await request(url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'idempotency-key': `prepare-${keys}-000`,
      ...(token !== '' && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
    dispatcher: http,
  })
  const json = await answer.body.json()
  if (answer.statusCode < 300) return json as T
  throw new Error(`${path}: ${answer.statusCode} ${JSON.stringify(json)}`)
}

interface Side {
  name: string
  url: string
  token: string
  path: string
}

/** Creates a writer and a thread that nobody else follows. */
async function newThread(name: string, url: string): Promise<Side> {
  const { token } = await post<{ token: string }>(url, '/api/identities')
  const { read_url } = await post<{ read_url: string }>(url, '/api/threads', token, {
    title: name,
    content,
  })
  return { name, url, token, path: `${read_url}/replies` }
}

/** Creates identities with verified webhooks that follow a thread. Returns the token of one. */
async function follow({ url, path }: Side, receiver: Receiver): Promise<string> {
  const webhook = '/api/notifications/webhook'
  const endpoint = { url: `https://localhost:${receiver.port}/` }
  let left = webhookCount
  let last = ''
  const lane = async () => {
    while (left-- > 0) {
      const { token } = await post<{ token: string }>(url, '/api/identities')
      await post(url, path.replace('/replies', '/subscribe'), token)
      await post(url, webhook, token, endpoint)
      const { verified } = await post<{ verified: boolean }>(url, `${webhook}/verify`, token)
      if (!verified) throw new Error('the receiver did not echo')
      last = token
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return last
}

/** Returns whether a wakeup of one follower is pending. */
async function isWaiting(url: string, token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` }
  const path = '/api/notifications/deliveries'
  const { body } = await request(url + path, { headers, dispatcher: http })
  const { deliveries } = (await body.json()) as { deliveries: { state: string }[] }
  return deliveries.some(({ state }) => state === 'pending' || state === 'sending')
}

function report({ name }: Side, measured: Seen[]): void {
  const rate = Math.round(median(measured.map(({ requests, seconds }) => requests / seconds)))
  const p50 = median(measured.map(({ latencyMs }) => latencyMs['50'])).toFixed(2)
  const p99 = median(measured.map(({ latencyMs }) => latencyMs['99'])).toFixed(2)
  const errors = measured.reduce((sum, { errors }) => sum + errors, 0)
  const shown = rate.toLocaleString('en').padStart(8)
  console.log(`${name.padEnd(40)} ${shown}/s  p50 ${p50} ms  p99 ${p99} ms  errors ${errors}`)
}

async function compare(sides: Side[], dir: string): Promise<void> {
  const measured = sides.map((): Seen[] => [])
  const route = 'POST /api/threads/:id/replies'
  const send = sides.map(({ path, token }, i) => {
    const body = { content }
    return prepareWrk(
      dir,
      `side-${i}`,
      ringOf([{ method: 'POST', route, path, token, key: freshKey, body }]),
    )
  })
  for (let round = 0; round < rounds; round++) {
    for (const [i, { name, url }] of sides.entries()) {
      process.stderr.write(`round ${round + 1} of ${rounds}: ${name}\n`)
      const filling = { prefix: `side-${i}-round-${round}-`, position: 0 }
      measured[i].push(await send[i]({ url, connections, seconds }, filling))
    }
  }
  for (const [i, side] of sides.entries()) report(side, measured[i])
}

async function run(dir: string): Promise<void> {
  const certificates = makeCertificates()
  const receiver = new Receiver(certificates, echo)
  await receiver.listen()
  const lab = ['--webhook-allow-private', '--webhook-ca', certificates.caFile]
  const serve = (name: string) => [main, 'serve', '--port', '0', '--data', join(dir, name)]
  const plain = await startServer(serve('plain'))
  const woken = await startServer([...serve('woken'), ...lab])
  try {
    const without = await newThread('no webhooks', plain.url)
    const beside = await newThread(`${webhookCount} wakeups wait`, woken.url)
    const followed = await newThread(`the same, in the thread they follow`, woken.url)
    const token = await follow(followed, receiver)
    receiver.behave = () => {}
    receiver.received.length = 0
    await post(woken.url, followed.path, followed.token, { content })
    const waited = await isWaiting(woken.url, token)
    console.log(`node ${process.version}, ${cpus()[0].model}, durability always, data in ${dir}`)
    await compare([without, beside, followed], dir)
    const stillWaits = await isWaiting(woken.url, token)
    console.log(`waited ${waited}, still waits ${stillWaits}, ${receiver.wakeups.length} attempts`)
  } finally {
    await plain.stop()
    await woken.stop()
    await receiver.close()
    certificates.remove()
  }
}

if (has('wrk')) {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-bench-'))
  await run(dir)
  await http.destroy()
  rmSync(dir, { recursive: true })
} else {
  console.log('skipped: wrk is not installed (apt-get install wrk)')
}
