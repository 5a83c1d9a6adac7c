import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Tags, tagsBytesMax } from '../../../src/forum/tags/table.ts'
import { factsOf, fillIndexes, restore, storesOf } from '../../../src/kernel/saved.ts'

interface Model {
  now: string[]
  isPublic: boolean
}

const names = ['a', 'b', 'ab', 'a:b', 'z', '0', 'a-b', 'b2']
const anyTags = fc.uniqueArray(fc.constantFrom(...names), { maxLength: 8, size: 'max' })
const anyStep = fc.oneof(
  fc.record({ does: fc.constant('add' as const), tags: anyTags, isPublic: fc.boolean() }),
  fc.record({ does: fc.constant('change' as const), tags: anyTags, pick: fc.nat() }),
  fc.record({ does: fc.constant('restart' as const) }),
)

/** Returns a copy, made from what a checkpoint saves. */
async function restarted(tags: Tags): Promise<Tags> {
  const copy = new Tags()
  const saved = storesOf({ parts: { tags } })
  for (const [name, store] of storesOf({ parts: { tags: copy } })) {
    const from = saved.get(name)!
    const bytes = from.freeze()
    from.thaw(null)
    store.fill(bytes, undefined as never)
    for (let page = 0; page * from.pageBytes < bytes; page++) {
      store.room(page).set(from.room(page).subarray(0, from.pageBytes))
    }
  }
  restore({ parts: { tags: copy } }, structuredClone(factsOf({ parts: { tags } })))
  await fillIndexes({ parts: { tags: copy } })
  return copy
}

function check(tags: Tags, threads: readonly Model[]): void {
  for (const [thread, { now }] of threads.entries()) {
    assert.deepEqual(tags.of(thread), now)
    assert.equal(tags.json(thread), now.length === 0 ? '' : `,"tags":${JSON.stringify(now)}`)
    assert.ok(tags.json(thread).length <= tagsBytesMax)
  }
  for (const wanted of [...names.map((name) => [name]), ['a', 'b'], ['z', 'b2', '0'], ['a', 'c']]) {
    const { publics, has } = tags.filter(wanted)
    const found = Array.from({ length: publics.length }, (_, i) => publics.get(i)).filter(has)
    const all = [...threads.entries()].filter(([, { now }]) => wanted.every((n) => now.includes(n)))
    const open = all.filter(([, { isPublic }]) => isPublic)
    assert.deepEqual(
      found,
      open.map(([thread]) => thread),
      'T2: oldest first',
    )
    for (const [thread] of all) assert.ok(has(thread))
    if (wanted.length === 1) assert.equal(publics.length, open.length, 'T2: only those')
  }
  const used = names.filter((name) =>
    threads.some(({ now, isPublic }) => isPublic && now.includes(name)),
  )
  for (const [prefix, after, count] of [
    ['', '', 9],
    ['a', '', 9],
    ['a', 'a-b', 1],
    ['', 'b', 2],
  ] as const) {
    const expected = used.filter((name) => name.startsWith(prefix) && name > after).sort()
    assert.deepEqual(tags.publicNames(prefix, after, count), expected.slice(0, count), 'T3')
  }
}

t.test('T1, T2, T3: tags: any steps, with restarts: as plain lists have them', async () => {
  const property = fc.asyncProperty(
    fc.array(anyStep, { maxLength: 40, size: 'max' }),
    async (steps) => {
      let tags = new Tags()
      const threads: Model[] = []
      for (const step of steps) {
        if (step.does === 'restart') tags = await restarted(tags)
        else if (step.does === 'add') {
          tags.add(step.tags, step.isPublic)
          threads.push({ now: step.tags, isPublic: step.isPublic })
        } else if (threads.length > 0) {
          const thread = step.pick % threads.length
          tags.change(thread, step.tags, threads[thread]!.isPublic)
          threads[thread]!.now = step.tags
        }
        check(tags, threads)
      }
    },
  )
  await fc.assert(property, { numRuns: 60 })
})
