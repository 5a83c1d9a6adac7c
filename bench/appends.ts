// Question:   what does a durable message cost alone and a hundred at a time, beside other logs?
// Compares:   replies to the node, alone and in batches of 100; XADD to Redis with appendfsync
//             always, alone and in pipelines of 100; appends to the reference server of Durable
//             Streams over files, alone and in arrays of 100. One after the other in each round.
// Fixed:      100 messages in flight: over 100 connections alone, over two a hundred at a time;
//             messages of 300 bytes in 20 threads or streams; servers on core 0; --durability
//             always; a round of each before anything is measured; medians.
// Reports:    messages a second, and processor time of the server for each.
// Leaves out: what a message costs its client: Redis is loaded by redis-benchmark, which is written
//             in C, and the others by this process, which may limit their messages a second.
//             Identities, access and idempotency keys, which only the node has; networks.
// Smoke:      test/bench/appends.test.ts. Run it: node dist/bench/appends.js

import { join } from 'node:path'
import { Caller, type Request } from './caller.ts'
import { median } from './compare.ts'
import { flagsOf } from './flags.ts'
import { durableStreams } from './peers/durable-streams.ts'
import { redis } from './peers/redis.ts'
import { usualSize } from './population.ts'
import { cpuSeconds, runLoad, workDirectory } from './process.ts'
import { startForum } from './sides.ts'

const { seconds, rounds } = flagsOf({ seconds: 4, rounds: 3 })
const inFlight = 100
const sizes = [1, 100]
const threads = 20
const contentBytes = 300
const content = 'x'.repeat(contentBytes)

interface Sent {
  messages: number
  perSecond: number
}

interface Contender {
  name: string
  pid: number
  /** Sends messages, `size` at a time. */
  load(size: number): Promise<Sent>
  stop(): Promise<void>
}

const dir = workDirectory()

/** Sends until the time is over. `send` sends `size` messages. */
async function sendAll(size: number, send: () => Promise<unknown>): Promise<Sent> {
  const begun = performance.now()
  let messages = 0
  const lane = async () => {
    while (performance.now() - begun < seconds * 1000) {
      await send()
      messages += size
    }
  }
  await Promise.all(Array.from({ length: connectionsFor(size) }, lane))
  return { messages, perSecond: (messages * 1000) / (performance.now() - begun) }
}

const connectionsFor = (size: number) => Math.max(2, inFlight / size)

async function startNode(): Promise<Contender> {
  const forum = await startForum(join(dir, 'data'), ['--quotas', 'open'])
  const caller = new Caller(forum.url, inFlight)
  const [token] = await caller.register(1)
  const titles = Array.from({ length: threads }, (_, n) => `Thread ${n}`)
  const ids = await caller.openThreads(titles, content, token)
  let made = 0
  const reply = (): Request => {
    const path = `/api/threads/${ids[made++ % threads]}/replies`
    return { method: 'POST', path, token, key: caller.newKey(), body: { content } }
  }
  const send = (size: number) => {
    return size === 1 ? caller.send(reply()) : caller.batch(Array.from({ length: size }, reply))
  }
  return {
    name: 'node',
    pid: forum.pid,
    load: (size) => sendAll(size, () => send(size)),
    async stop() {
      await caller.close()
      await forum.stop()
    },
  }
}

async function startRedis(): Promise<Contender> {
  const server = await redis.start(dir, { size: { ...usualSize, contentBytes } }, 'always')
  const { pid, port } = server.raw!
  const perSecond = new Map<number, number>()
  const send = async (size: number, messages: number): Promise<Sent> => {
    const connections = connectionsFor(size)
    const text = await runLoad([
      ...['redis-benchmark', '-p', `${port}`, '-c', `${connections}`, '-P', `${size}`, '--csv'],
      ...['-n', `${messages}`, '-r', `${threads}`],
      ...['XADD', 'stream:__rand_int__', '*', 'author_id', 'agt_0', 'content', content],
    ])
    // "command","rps","avg","min","p50","p95","p99","max"
    const cells = text.match(/"([^"]*)"/g)!.slice(-7)
    const rate = Number(cells[0].slice(1, -1))
    perSecond.set(size, rate)
    return { messages, perSecond: rate }
  }
  return {
    name: 'redis',
    pid,
    // redis-benchmark takes a number of messages, not seconds.
    load: (size) => send(size, Math.ceil((perSecond.get(size) ?? 100 * size) * seconds)),
    stop: () => server.stop(),
  }
}

async function startStreams(): Promise<Contender> {
  const server = await durableStreams.start(dir)
  const caller = new Caller(server.url, inFlight)
  for (let n = 0; n < threads; n++) {
    const headers = { 'content-type': 'application/json' }
    await fetch(`${server.url}/stream-${n}`, { method: 'PUT', headers })
  }
  let made = 0
  const message = { author_id: 'agt_0', content }
  return {
    name: 'durable streams',
    pid: server.pid,
    load: (size) => {
      const body = size === 1 ? message : Array.from({ length: size }, () => message)
      const path = () => `/stream-${made++ % threads}`
      return sendAll(size, () => caller.send({ method: 'POST', path: path(), body }))
    },
    async stop() {
      await caller.close()
      await server.stop()
    },
  }
}

const contenders = [await startNode()]
for (const [peer, start] of [
  [redis, startRedis],
  [durableStreams, startStreams],
] as const) {
  const missing = peer.missing()
  if (missing === null) contenders.push(await start())
  else console.log(`${peer.name}: skipped, ${missing} is not installed`)
}

const sides = contenders.flatMap((contender) => {
  return sizes.map((size) => ({ contender, size, rates: [] as number[], us: [] as number[] }))
})
for (let round = 0; round <= rounds; round++) {
  for (const { contender, size, rates, us } of sides) {
    const cpuBefore = cpuSeconds(contender.pid)
    const { messages, perSecond } = await contender.load(size)
    if (round === 0) continue
    rates.push(perSecond)
    us.push(((cpuSeconds(contender.pid) - cpuBefore) * 1e6) / messages)
  }
}
for (const { contender, size, rates, us } of sides) {
  const how = size === 1 ? 'alone' : `${size} at a time`
  const figures = `${Math.round(median(rates))}/s, ${median(us).toFixed(1)} us of the server`
  console.log(`${contender.name}, ${how}: ${figures}`)
}
for (const contender of contenders) await contender.stop()
