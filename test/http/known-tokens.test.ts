// Goal:   a token names its own identity or, when it was given up, nobody; never another's.
// Method: more tokens than there are places, found again while they are added; the newest are kept.

import { createHash } from 'node:crypto'
import t from 'tap'
import { KnownTokens } from '../../src/http/known-tokens.ts'
import { nobody } from '../../src/state/state.ts'

const headerOf = (n: number) => `Bearer aic_${createHash('sha256').update(String(n)).digest('hex')}`

t.test('T1, T3: 200,000 tokens: found: each as its own identity or as nobody', async (t) => {
  const tokens = new KnownTokens()
  const count = 200_000
  for (let n = 0; n < count; n++) {
    tokens.add(headerOf(n), n)
    if (tokens.find(headerOf(n)) !== n) t.fail(`${n} was added a moment ago`)
  }
  let kept = 0
  for (let n = 0; n < count; n++) {
    const found = tokens.find(headerOf(n))
    if (found === n) kept += 1
    else if (found !== nobody) t.fail(`${n} is taken for ${found}`)
  }
  t.ok(kept > 50_000 && kept <= 65_536, `${kept} are kept`)
})

t.test('T3: 10,000 tokens, as many as a swarm has: found: nearly all', async (t) => {
  const tokens = new KnownTokens()
  const numbers = Array.from({ length: 10_000 }, (_, n) => n)
  for (const n of numbers) tokens.add(headerOf(n), n)
  const kept = numbers.filter((n) => tokens.find(headerOf(n)) === n)
  t.ok(kept.length > 9_700, `${kept.length} are kept`)
})

t.test('T2: a header that is not written as usual: added: not kept', async (t) => {
  const tokens = new KnownTokens()
  for (const header of ['', 'Bearer aic_1', `bearer  ${headerOf(1).slice('Bearer '.length)}`]) {
    tokens.add(header, 1)
    t.equal(tokens.find(header), nobody, header)
  }
})
