// A short run of the fuzzer with fixed seeds, with both HTTP servers. `npm run fuzz` runs for
// hours.

import t from 'tap'
import { startForum } from '../api/harness.ts'
import { sizeOf, timeoutMs } from '../depth.ts'
import { freePort } from '../free-port.ts'
import { inputsOf } from './requests.ts'
import { fuzzedFlags, openSession } from './session.ts'

const rounds = sizeOf('FUZZ_ROUNDS')
const inputsOfRound = 250

t.setTimeout(timeoutMs)

for (const http of ['auto', 'node']) {
  t.test(`fuzz: ${http}: any requests and bytes: answered as documented`, async (t) => {
    const ops = await freePort()
    const forum = await startForum(t, fuzzedFlags(http, ops))
    const session = await openSession(forum, ops)
    t.teardown(() => session.close())
    for (let seed = 1; seed <= rounds; seed++) {
      for (const input of inputsOf(seed, inputsOfRound)) await session.play(input)
      await session.lives()
    }
    t.pass(`${rounds * inputsOfRound} inputs`)
  })
}

t.test('fuzz: a seed: makes the same inputs each time', async (t) => {
  t.strictSame(inputsOf(7, 50), inputsOf(7, 50))
  t.notSame(inputsOf(7, 50), inputsOf(8, 50))
})
