// Question:   what does a request cost the node in a batch, beside a request of its own?
// Compares:   durable replies and empty polls by 200 identities: alone over 100 connections, and in
//             batches of 10, 100 and 1,000 over so many connections that as many are in flight;
//             alternately.
// Fixed:      the node on core 0 and the load on core 1, messages of 300 bytes in 20 threads,
//             --durability always, and a round of each before anything is measured; medians.
// Reports:    processor time of the node for each request, and requests a second.
// Leaves out: what a batch saves its client, which depends on the client; networks; how long others
//             wait meanwhile (test/edge/http/batch.test.ts).
// Smoke:      test/bench/batches.test.ts (npm run test:deep). Run it: node dist/bench/batches.js

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { median } from './compare.ts'
import { cpuSeconds } from './process.ts'
import { startForum } from './sides.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
  },
})
const [seconds, rounds] = [values.seconds, values.rounds].map(Number)
const identities = 200
const threads = 20
const inFlight = 100
const sizes = [1, 10, 100, 1000]
const content = 'x'.repeat(300)

interface Listed {
  method: 'GET' | 'POST'
  path: string
  token: string
  key?: string
  body?: object
}

interface Measured {
  us: number
  rate: number
}

const dir = mkdtempSync(join(tmpdir(), 'agent-forum-batches-'))
process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
const forum = await startForum(join(dir, 'data'), ['--quotas', 'open'])
const pool = new Pool(forum.url, { connections: inFlight })

async function ask(method: string, path: string, body: object, headers: Record<string, string>) {
  const text = JSON.stringify(body)
  const json = { 'content-type': 'application/json', prefer: 'return=minimal', ...headers }
  const answer = await pool.request({ method: method as 'POST', path, body: text, headers: json })
  const read = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${read}`)
  return read
}

async function askAlone({ method, path, token, key, body = {} }: Listed): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, ...(key && { 'idempotency-key': key }) }
  if (method === 'POST') await ask(method, path, body, headers)
  else await (await pool.request({ method, path, headers })).body.text()
}

async function askTogether(requests: readonly Listed[]): Promise<void> {
  const read = await ask('POST', '/api/batch', { requests }, {})
  if (/"status":[45]/.test(read)) throw new Error(read.slice(0, 500))
}

const tokens: string[] = []
for (let i = 0; i < identities; i++) {
  tokens.push(JSON.parse(await ask('POST', '/api/identities', {}, {})).token)
}
const paths: string[] = []
for (let i = 0; i < threads; i++) {
  const headers = { authorization: `Bearer ${tokens[i]}`, 'idempotency-key': `thread-${i}` }
  paths.push(
    JSON.parse(await ask('POST', '/api/threads', { title: 't', content }, headers)).read_url,
  )
}

let made = 0
const loads: Record<string, () => Listed> = {
  reply() {
    made += 1
    const [path, token] = [paths[made % threads], tokens[made % identities]]
    return {
      method: 'POST',
      path: `${path}/replies`,
      token,
      key: `key-of-reply-${made}`,
      body: { content },
    }
  },
  'empty poll'() {
    made += 1
    const path = '/api/notifications?after=9007199254740991'
    return { method: 'GET', path, token: tokens[made % identities] }
  },
}

async function measure(make: () => Listed, size: number): Promise<Measured> {
  const cpuBefore = cpuSeconds(forum.pid)
  const begun = performance.now()
  let requests = 0
  const work = async () => {
    while (performance.now() - begun < seconds * 1000) {
      const listed = Array.from({ length: size }, make)
      if (size === 1) await askAlone(listed[0])
      else await askTogether(listed)
      requests += size
    }
  }
  await Promise.all(Array.from({ length: Math.max(2, inFlight / size) }, work))
  const took = (performance.now() - begun) / 1000
  const us = ((cpuSeconds(forum.pid) - cpuBefore) * 1e6) / requests
  return { us, rate: requests / took }
}

for (const [name, make] of Object.entries(loads)) {
  const measured = new Map<number, Measured[]>(sizes.map((size) => [size, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const size of sizes) {
      const found = await measure(make, size)
      if (round > 0 || rounds === 1) measured.get(size)!.push(found)
    }
  }
  for (const [size, found] of measured) {
    const middle = (of: keyof Measured) => median(found.map((each) => each[of]))
    const how = size === 1 ? 'alone' : `in batches of ${size}`
    const figures = `${middle('us').toFixed(1)} us of the node, ${Math.round(middle('rate'))}/s`
    console.log(`${name}, ${how}: ${figures}`)
  }
}
await pool.close()
await forum.stop()
