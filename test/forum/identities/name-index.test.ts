// Lookup of names by prefix, compared with plain sorting.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { NameIndex } from '../../../src/forum/identities/name-index.ts'
import type { State } from '../../../src/forum/state.ts'
import { isLinear } from '../../linear.ts'

function indexOf(names: readonly string[]): NameIndex {
  const identities = { nameJson: (identity: number) => JSON.stringify(names[identity]) }
  return new NameIndex({ identities } as unknown as State)
}

const folded = (name: string) => name.normalize('NFC').toLowerCase().toUpperCase()

/** Returns the identities whose names have this prefix, in order. */
function naive(names: readonly string[], beginning: string): number[] {
  const [prefix, bytes] = [folded(beginning), (i: number) => Buffer.from(folded(names[i]))]
  return names
    .map((_, identity) => identity)
    .filter((identity) => folded(names[identity]).startsWith(prefix))
    .sort((a, b) => Buffer.compare(bytes(a), bytes(b)) || a - b)
}

const anyName = fc.oneof(
  fc.constantFrom('ana', 'Ana', 'ANABEL', 'agent', 'agent-1', 'é', 'e\u0301', 'straße', 'STRASSE'),
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.nat(300).map((n) => `agent-${n}`),
)

t.test('N1: any names, added in any order: found in pages, each once, in order', async () => {
  const property = fc.property(
    fc.array(anyName, { minLength: 1, maxLength: 60, size: 'max' }),
    anyName,
    fc.integer({ min: 1, max: 7 }),
    fc.nat(),
    (names, beginning, limit, seed) => {
      const index = indexOf(names)
      const order = names.map((_, i) => i).sort((a, b) => ((a * seed) % 61) - ((b * seed) % 61))
      for (const identity of order) index.add(identity)
      for (const prefix of ['', beginning, names[0], Array.from(names[0])[0] ?? '']) {
        const found: number[] = []
        for (let after: number | null = null; ; ) {
          const page: number[] = index.find(prefix, after, limit)
          found.push(...page)
          if (page.length < limit) break
          after = page.at(-1)!
        }
        assert.deepEqual(found, naive(names, prefix), JSON.stringify(prefix))
      }
    },
  )
  fc.assert(property, { numRuns: 200 })
})

t.test('N2: names, some removed and added again: found as long as they are there', async () => {
  const step = fc.record({ identity: fc.nat(1999), isAdded: fc.boolean() })
  const property = fc.property(
    fc.array(step, { minLength: 1, maxLength: 3000, size: 'max' }),
    fc.integer({ min: 0, max: 2000 }),
    (steps, first) => {
      const names = Array.from({ length: 2000 }, (_, n) => `agent-${n % 40}`)
      const index = indexOf(names)
      const there = new Set<number>()
      const change = (identity: number, isAdded: boolean) => {
        if (isAdded === there.has(identity)) return
        if (isAdded) index.add(identity)
        else index.remove(identity)
        if (isAdded) there.add(identity)
        else there.delete(identity)
      }
      const check = () => {
        const expected = naive(names, '').filter((identity) => there.has(identity))
        assert.deepEqual(index.find('', null, 3000), expected)
        const last = expected[expected.length >> 1] ?? null
        const rest = expected.slice((expected.length >> 1) + 1)
        if (last !== null) assert.deepEqual(index.find('', last, 3000), rest)
      }
      for (let identity = 0; identity < first; identity++) change(identity, true)
      for (const { identity, isAdded } of steps) change(identity, isAdded)
      check()
      for (const identity of [...there]) change(identity, false) // empties buckets, all but one
      check()
      for (const { identity, isAdded } of steps) change(identity, isAdded)
      check()
    },
  )
  fc.assert(property, { numRuns: 20 })
})

t.test('N1: 20,000 names, many of them equal: over many buckets', async (t) => {
  const names = Array.from({ length: 20_000 }, (_, n) => {
    return n % 3 === 0 ? 'Anonymous agent' : `agent-${(n * 7919) % 20_000}`
  })
  const index = indexOf(names)
  for (let identity = 0; identity < names.length; identity++) index.add(identity)
  for (const prefix of ['anonymous AGENT', 'agent-12', 'agent-199', 'a', 'b', 'agent-7777']) {
    const expected = naive(names, prefix)
    t.same(index.find(prefix, null, 30_000), expected, prefix)
    const middle = expected[expected.length >> 1]
    if (middle !== undefined) {
      t.same(index.find(prefix, middle, 30_000), expected.slice((expected.length >> 1) + 1))
    }
  }
  t.same(index.find('agent-5', naive(names, 'agent-4')[0], 1), naive(names, 'agent-5').slice(0, 1))
  t.same(index.find('agent-4', naive(names, 'agent-5')[0], 1), [], 'a cursor behind the names')
})

t.test('N2: names are added in proportion to their number, also equal ones', async (t) => {
  const build = (nameOf: (n: number) => string) => (count: number) => {
    const names = Array.from({ length: count }, (_, n) => nameOf(n))
    const index = indexOf(names)
    for (let identity = 0; identity < count; identity++) index.add(identity)
  }
  t.ok(
    isLinear(
      build((n) => `agent-${(n * 7919) % 100_003}`),
      4000,
    ),
  )
  t.ok(
    isLinear(
      build(() => 'Anonymous agent'),
      4000,
    ),
  )
})
