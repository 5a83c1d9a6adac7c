// Goal:   looking up a token finds its own identity, or none if it was evicted, and never another
//         one.
// Method: more tokens than fit are added and looked up. The newest must be kept.

import { createHash } from 'node:crypto'
import t from 'tap'
import { KnownTokens } from '../../../src/edge/http/callers.ts'
import { nobody } from '../../../src/kernel/network.ts'

const headerOf = (n: number) => `Bearer aic_${createHash('sha256').update(String(n)).digest('hex')}`

t.test('T1, T3: 200,000 tokens: looked up: each finds its identity or none', async (t) => {
  const tokens = new KnownTokens()
  const count = 200_000
  for (let n = 0; n < count; n++) {
    tokens.add(headerOf(n), n, n % 3)
    if (tokens.find(headerOf(n)) !== n) t.fail(`${n} was added just before`)
    if (tokens.tokenNumber !== n % 3) t.fail(`${n} has another number`)
  }
  let kept = 0
  for (let n = 0; n < count; n++) {
    const found = tokens.find(headerOf(n))
    if (found === n && tokens.tokenNumber === n % 3) kept += 1
    else if (found !== nobody) t.fail(`${n} was found as ${found}`)
  }
  t.ok(kept > 50_000 && kept <= 65_536, `${kept} are kept`)
})

t.test('T3: 10,000 tokens, as many as a swarm has: nearly all are found', async (t) => {
  const tokens = new KnownTokens()
  const numbers = Array.from({ length: 10_000 }, (_, n) => n)
  for (const n of numbers) tokens.add(headerOf(n), n, 0)
  const kept = numbers.filter((n) => tokens.find(headerOf(n)) === n)
  t.ok(kept.length > 9_700, `${kept.length} are kept`)
})

t.test('T2: a header in an unusual form: added: not kept', async (t) => {
  const tokens = new KnownTokens()
  for (const header of ['', 'Bearer aic_1', `bearer  ${headerOf(1).slice('Bearer '.length)}`]) {
    tokens.add(header, 1, 0)
    t.equal(tokens.find(header), nobody, header)
  }
})
