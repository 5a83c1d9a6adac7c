// Question:   what does the meter add to a request?
// Compares:   an empty loop (floor), the meter as the edge uses it, one that times every request.
// Fixed:      one route, one status; ten million requests per round; the best of five rounds.
// Reports:    nanoseconds per request above the floor.
// Leaves out: everything else a request does (7,000 ns and more).
// Smoke:      none: the types keep it in step. Run it: node dist/bench/meter-cost.js

import { Meter } from '../src/http/meter.ts'

const requests = 10_000_000
const rounds = 5

const meter = new Meter()
const route = meter.add('route')
let sink = 0

function best(request: () => void): number {
  let nanoseconds = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const startedMs = performance.now()
    for (let i = 0; i < requests; i++) request()
    nanoseconds = Math.min(nanoseconds, ((performance.now() - startedMs) * 1e6) / requests)
  }
  return nanoseconds
}

const floor = best(() => {
  sink += 1
})
const counted = best(() => {
  sink += 1
  route.count(200, meter.start())
})
const timed = best(() => {
  sink += 1
  route.count(200, performance.now())
})

process.stdout.write(
  `counting a request: ${(counted - floor).toFixed(1)} ns; timing every one: ` +
    `${(timed - floor).toFixed(1)} ns (${sink} requests, ${route.answers[2]} counted)\n`,
)
