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

import { join } from 'node:path'
import { Caller, type Request } from './caller.ts'
import { median } from './compare.ts'
import { flagsOf } from './flags.ts'
import { cpuSeconds, workDirectory } from './process.ts'
import { startForum } from './sides.ts'

const { seconds, rounds } = flagsOf({ seconds: 4, rounds: 3 })
const identities = 200
const threads = 20
const inFlight = 100
const sizes = [1, 10, 100, 1000]
const content = 'x'.repeat(300)

interface Measured {
  us: number
  rate: number
}

const dir = workDirectory()
const forum = await startForum(join(dir, 'data'), ['--quotas', 'open'])
const caller = new Caller(forum.url, inFlight)
const tokens = await caller.register(identities)
const titles = Array.from({ length: threads }, (_, n) => `Thread ${n}`)
const threadIds = await caller.openThreads(titles, content, tokens[0])

let made = 0
const loads: Record<string, () => Request> = {
  reply() {
    made += 1
    const path = `/api/threads/${threadIds[made % threads]}/replies`
    const token = tokens[made % identities]
    return { method: 'POST', path, token, key: caller.newKey(), body: { content } }
  },
  'empty poll'() {
    made += 1
    const path = '/api/notifications?after=9007199254740991'
    return { method: 'GET', path, token: tokens[made % identities] }
  },
}

async function measure(make: () => Request, size: number): Promise<Measured> {
  const cpuBefore = cpuSeconds(forum.pid)
  const begun = performance.now()
  let requests = 0
  const work = async () => {
    while (performance.now() - begun < seconds * 1000) {
      if (size === 1) await caller.send(make())
      else await caller.batch(Array.from({ length: size }, make))
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
      if (round > 0) measured.get(size)!.push(found)
    }
  }
  for (const [size, found] of measured) {
    const middle = (of: keyof Measured) => median(found.map((each) => each[of]))
    const how = size === 1 ? 'alone' : `in batches of ${size}`
    const figures = `${middle('us').toFixed(1)} us of the node, ${Math.round(middle('rate'))}/s`
    console.log(`${name}, ${how}: ${figures}`)
  }
}
await caller.close()
await forum.stop()
