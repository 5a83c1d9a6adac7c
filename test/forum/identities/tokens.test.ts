// Goal:   a token finds its identity, and so does the previous token while its grace period lasts,
//         whatever the order and times of rotations, also after the tokens were saved and restored.
// Method: random rotations with random pauses between them, compared with a list of all tokens ever
//         made.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import t from 'tap'
import { graceMsMax, Tokens } from '../../../src/forum/identities/table.ts'

const packr = new Packr({ useRecords: false })
function digestOf(n: number): string {
  const first = (Math.imul(n + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0')
  return first.padEnd(64, `${n}`)
}

interface Known {
  digest: string
  identity: number
  /** Infinity for the present token; 0 for one that has ended. */
  until: number
}

const rotation = fc.record({
  identity: fc.nat({ max: 3 }),
  graceMs: fc.constantFrom(0, 1, 1000, graceMsMax),
  pauseMs: fc.constantFrom(0, 1, 999, 1000, graceMsMax),
  isSaved: fc.boolean(),
})

/** Returns tokens that were restored from the facts as a checkpoint saves them. */
function restored(tokens: Tokens): Tokens {
  const facts = packr.unpack(packr.pack(tokens.facts()))
  const other = new Tokens()
  other.restore(facts)
  assert.deepEqual(other.facts(), tokens.facts())
  return other
}

t.test('G1, G2, G3: random rotations: each token is known while it is accepted', async () => {
  const property = fc.property(fc.array(rotation, { maxLength: 60, size: 'max' }), (rotations) => {
    const tokens = new Tokens()
    const known: Known[] = []
    const add = (identity: number, until = Number.POSITIVE_INFINITY): string => {
      const digest = digestOf(known.length)
      known.push({ digest, identity, until })
      return digest
    }
    for (let identity = 0; identity < 4; identity++) tokens.add(add(identity))
    let at = 1000
    for (const { identity, graceMs, pauseMs, isSaved } of rotations) {
      at += pauseMs
      for (const token of known.filter((each) => each.identity === identity)) {
        const isPresent = token.until === Number.POSITIVE_INFINITY
        token.until = isPresent && graceMs > 0 ? at + graceMs : 0
      }
      tokens.rotate(identity, add(identity), graceMs === 0 ? 0 : at + graceMs, at)
      for (const token of known) {
        const { digest, until } = token
        const isPresent = until === Number.POSITIVE_INFINITY
        assert.equal(tokens.find(digest), isPresent ? token.identity : -1)
        const before = tokens.findGraced(digest)
        if (until > at && !isPresent) {
          assert.deepEqual([before, tokens.graceUntil(token.identity)], [token.identity, until])
        } else if (before !== -1) assert.ok(until !== 0 && until > at - graceMsMax, 'G3')
      }
      const graced = tokens.facts().length
      assert.ok(graced <= 4, 'G2: one for each identity')
      if (isSaved) {
        const other = restored(tokens)
        for (const { digest } of known) {
          assert.equal(other.findGraced(digest), tokens.findGraced(digest))
        }
      }
    }
  })
  fc.assert(property, { numRuns: 200 })
})
