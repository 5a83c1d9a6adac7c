// Runs autocannon in a separate process, so that it has its own core. Arguments: the load as JSON,
// the file of the ring, and the values to insert as JSON. Prints its results as JSON.

import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'
import type { Load, Seen } from './generator.ts'
import { type Filling, fill, headersOf, type Ring } from './ring.ts'

const [loadText, ringFile, fillingText] = process.argv.slice(2)
const { url, connections, seconds } = JSON.parse(loadText) as Load
const ring = JSON.parse(readFileSync(ringFile, 'utf8')) as Ring
const filling = JSON.parse(fillingText) as Filling
let sent = 0

/** Returns the ring's next request, whichever connection sends it. Autocannon names no host. */
function next(): autocannon.Request {
  const n = ++sent
  const appended = Math.floor((n * ring.writes) / ring.requests.length)
  const now = { ...filling, position: filling.position + appended }
  const request = fill(ring.requests[n % ring.requests.length], ring, now, n)
  const { method, path, body } = request
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = { Host: '127.0.0.1', ...headersOf(request) }
  return { method, path, headers, ...text }
}

const result = await autocannon({
  url,
  connections,
  duration: seconds,
  requests: [{ setupRequest: next }],
})
const { p50, p90, p99, p99_9, max } = result.latency
const seen: Seen = {
  requests: result.requests.total,
  seconds: result.duration,
  latencyMs: { 50: p50, 90: p90, 99: p99, '99.9': p99_9, 100: max },
  errors: result.errors + result.non2xx, // the former include timeouts
}
process.stdout.write(JSON.stringify(seen))
