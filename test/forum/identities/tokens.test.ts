// Goal:   a token finds its identity, and so does the previous token while its grace period lasts,
//         whatever the order and times of rotations and sign-outs, also after the tokens were saved
//         and restored; and each number of a token ends with it.
// Method: random rotations and sign-outs with random pauses between them, compared with a list of
//         all numbers that tokens ever had.

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

/** A number of an identity's token: its position among those of the identity. */
interface Known {
  digest: string
  identity: number
  /** Infinity for the present token; 0 for one that has ended. */
  until: number
}

const rotation = fc.record({
  identity: fc.nat({ max: 3 }),
  graceMs: fc.constantFrom(0, 1, 1000, graceMsMax, 'signs out' as const),
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

t.test(
  'G1 to G4: random rotations and sign-outs: tokens and numbers are valid in time',
  async () => {
    const property = fc.property(
      fc.array(rotation, { maxLength: 60, size: 'max' }),
      (rotations) => {
        const tokens = new Tokens()
        const known: Known[] = []
        for (let identity = 0; identity < 4; identity++) {
          known.push({ digest: digestOf(identity), identity, until: Number.POSITIVE_INFINITY })
          tokens.add(digestOf(identity))
        }
        let at = 1000
        for (const { identity, graceMs, pauseMs, isSaved } of rotations) {
          at += pauseMs
          const signsOut = graceMs === 'signs out'
          const until = signsOut || graceMs === 0 ? 0 : at + graceMs
          const numbers = known.filter((each) => each.identity === identity)
          for (const number of numbers) {
            const isPresent = number.until === Number.POSITIVE_INFINITY
            if (!signsOut) number.until = isPresent ? until : 0
          }
          const digest = signsOut ? numbers.at(-1)!.digest : digestOf(known.length)
          known.push({ digest, identity, until: Number.POSITIVE_INFINITY })
          tokens.rotate(identity, digest, until, at)
          const other = isSaved ? restored(tokens) : tokens
          for (const each of known) {
            assertKnown(tokens, each, at)
            assert.deepEqual(other.findGraced(each.digest), tokens.findGraced(each.digest))
          }
          for (const identity of [0, 1, 2, 3]) {
            const ends = known
              .filter((each) => each.identity === identity)
              .map(({ until }) => until)
            const found = ends.map((_, n) => other.end(identity, ends.length - 1 - n))
            assert.deepEqual(
              found,
              ends.map((until, n) => (found[n] === 0 && until <= at ? 0 : until)),
            )
          }
          assert.ok(tokens.facts()[0].length <= 4, 'G2: one for each identity')
        }
      },
    )
    fc.assert(property, { numRuns: 200 })
  },
)

function assertKnown(tokens: Tokens, { digest, identity, until }: Known, at: number): void {
  const isPresent = until === Number.POSITIVE_INFINITY
  assert.equal(tokens.find(digest), isPresent ? identity : -1)
  const before = tokens.findGraced(digest)?.identity ?? -1
  if (until > at && !isPresent) assert.equal(before, identity)
  else if (before !== -1) assert.ok(until !== 0 && until > at - graceMsMax, 'G3')
}

t.test(
  'facts of 1.0.0, without sign-outs: restored: the replaced token is in its grace',
  async (t) => {
    const tokens = new Tokens()
    tokens.add(digestOf(0))
    tokens.restore([[[0, digestOf(1).slice(0, 32), 2_000]]])
    t.same(
      [tokens.end(0, 0), tokens.end(0, 1), tokens.end(0, 2)],
      [Number.POSITIVE_INFINITY, 2_000, 0],
    )
  },
)

t.test('G4: the sign-outs of the identities that did so last are kept', async (t) => {
  const tokens = new Tokens()
  const count = 10_001
  for (let n = 0; n < count; n++) {
    tokens.add(digestOf(n))
    tokens.rotate(n, digestOf(n), 0, 1000)
  }
  tokens.rotate(1, digestOf(1), 0, 1000)
  t.equal(tokens.facts()[1]!.length, count - 1)
  t.same(
    [0, 1, count - 1].map((n) => tokens.end(n, 1)),
    [0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  )
})
