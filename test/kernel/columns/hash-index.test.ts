// The hash index, compared with a plain map. There are few distinct hashes, so that runs collide,
// wrap around the end of a table, and leave gaps everywhere.

import fc from 'fast-check'
import t from 'tap'
import { HashIndex, stepRows } from '../../../src/kernel/columns/hash-index.ts'

/** Hashes of two partitions, whose low bits lie around the ends of a table of 16 cells. */
const crowdedHash = fc
  .tuple(fc.constantFrom(0, 255), fc.constantFrom(0, 1, 2, 7, 14, 15, 16, 30, 31))
  .map(([partition, low]) => ((partition << 24) | low) >>> 0)

const change = fc.record({ hash: crowdedHash, adds: fc.boolean(), pick: fc.nat() })

t.test('H3: crowded: numbers are added and removed: exactly the present are found', async () => {
  const property = fc.property(fc.array(change, { maxLength: 120, size: 'max' }), (changes) => {
    const index = new HashIndex()
    const held = new Map<number, number>()
    for (const [number, { hash, adds, pick }] of changes.entries()) {
      if (adds || held.size === 0) {
        index.add(hash, number)
        held.set(number, hash)
      } else {
        const [gone, goneHash] = [...held][pick % held.size]
        index.remove(goneHash, gone)
        held.delete(gone)
        if (index.find(goneHash, (found) => found === gone) !== -1) throw new Error('still there')
      }
      for (const [other, otherHash] of held) {
        const found = index.find(otherHash, (candidate) => candidate === other)
        if (found !== other) throw new Error(`${other} is lost after step ${number}`)
      }
    }
  })
  fc.assert(property, { numRuns: 500 })
})

/** Fills an index with hashes by number: those of `numbers`, or all of them. */
function filled(hashes: Uint32Array, numbers: Uint32Array | null = null): HashIndex {
  const index = new HashIndex()
  const hashesOf = (from: number, to: number) =>
    Uint32Array.from({ length: to - from }, (_, i) => hashes[numbers?.[from + i] ?? from + i])
  for (const _ of index.fill(numbers?.length ?? hashes.length, hashesOf, numbers));
  return index
}

t.test('fill: crowded: some numbers or all: exactly those are found, then changed', async () => {
  const hashes = fc.array(crowdedHash, { maxLength: 60, size: 'max' })
  const property = fc.property(
    hashes,
    fc.boolean(),
    fc.infiniteStream(fc.boolean()),
    (...drawn) => {
      const [all, isWhole, picks] = [Uint32Array.from(drawn[0]), drawn[1], drawn[2]]
      const held = new Set(Array.from(all.keys()).filter(() => isWhole || picks.next().value))
      const index = filled(all, isWhole ? null : Uint32Array.from(held))
      const check = () => {
        for (const [number, hash] of all.entries()) {
          const found = index.find(hash, (candidate) => candidate === number)
          if (found !== (held.has(number) ? number : -1)) throw new Error(`${number}: ${found}`)
        }
      }
      check()
      for (const number of all.keys()) {
        if (picks.next().value) continue
        if (held.delete(number)) index.remove(all[number], number)
        else index.add(all[number], held.add(number) && number)
      }
      check()
    },
  )
  fc.assert(property, { numRuns: 300 })
})

t.test('fill: more numbers than in one step: each is found', async (t) => {
  const hashes = Uint32Array.from({ length: 2 * stepRows + 5 }, (_, i) => Math.imul(i, 0x9e3779b1))
  for (const numbers of [null, Uint32Array.from(hashes.keys()).reverse()]) {
    const index = filled(hashes, numbers)
    let missing = 0
    for (const [number, hash] of hashes.entries()) {
      if (index.find(hash, (found) => found === number) !== number) missing += 1
    }
    t.equal(missing, 0)
  }
})

t.test('H1: one partition: 20,000 numbers are added: all are found after it grew', async (t) => {
  const index = new HashIndex()
  const hashOf = (number: number) => ((7 << 24) | (Math.imul(number, 0x9e3779b1) >>> 8)) >>> 0
  for (let number = 0; number < 20_000; number++) index.add(hashOf(number), number)
  let missing = 0
  for (let number = 0; number < 20_000; number++) {
    if (index.find(hashOf(number), (found) => found === number) !== number) missing += 1
  }
  t.equal(missing, 0)
})

t.test(
  'H2: empty: number 0 is added under hash 0: it is not taken for an empty cell',
  async (t) => {
    const index = new HashIndex()
    t.equal(
      index.find(0, () => true),
      -1,
    )
    index.add(0, 0)
    t.equal(
      index.find(0, () => true),
      0,
    )
    index.remove(0, 0)
    t.equal(
      index.find(0, () => true),
      -1,
    )
  },
)

t.test('index: three numbers under one hash: the caller decides which it means', async (t) => {
  const index = new HashIndex()
  for (const number of [5, 6, 7]) index.add(0xdeadbeef, number)
  t.equal(
    index.find(0xdeadbeef, (number) => number === 6),
    6,
  )
  t.equal(
    index.find(0xdeadbeef, () => false),
    -1,
  )
  t.equal(
    index.find(0xdeadbeee, () => true),
    -1,
    'the complete hash is compared',
  )
})

t.test('index: a number is not under this hash: it is removed: an assertion says so', async (t) => {
  const index = new HashIndex()
  index.add(1, 1)
  t.throws(() => index.remove(1, 2), { code: 'ERR_ASSERTION' })
  t.throws(() => index.remove(17, 1), { code: 'ERR_ASSERTION' })
})
