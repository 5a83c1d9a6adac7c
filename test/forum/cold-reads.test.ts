// Requests that wait for text on disk: R1 to R4 of kernel/text/cold-reads.ts, L1 and L2 of
// block-loads.ts.

import fc from 'fast-check'
import t from 'tap'
import type { ReadResult } from '../../src/kernel/text/block-loads.ts'
import { blockBytes, coldPageBytesMax } from '../../src/kernel/text/blocks.ts'
import { Scene } from './cold-reads-scene.ts'

t.test('one request: its blocks are read together, then it runs again', async (t) => {
  const scene = new Scene()
  scene.request('a', 1, [7, 3, 7])
  t.same(scene.ended, [])
  t.same([scene.reads.length, scene.reads.bytes], [1, 2 * blockBytes])
  const [{ reads }] = scene.disk.asked
  t.same(
    reads.map(({ block }) => block),
    [3, 7],
  )
  await scene.finishAll()
  t.same(scene.ended, ['a'])
  t.ok(scene.isAtRest)
  t.equal(scene.reads.blocksRead, 2)
})

t.test('R1: nothing stays cached, each run evicts: requests still end', async (t) => {
  const scene = new Scene()
  scene.request('a', 1, [1, 2, 3])
  scene.request('b', 2, [3, 4])
  await scene.finishAll()
  t.same(scene.ended, ['a', 'b'])
  t.equal(scene.blocks.bytes, 0, 'and nothing stays')
  // The first run finds a block that another request has loaded. The block is evicted before the
  // second run.
  const cached = new Scene({ cached: 2 })
  cached.request('a', 1, [1, 2])
  await cached.finishAll()
  cached.request('b', 1, [1, 2, 3, 4])
  cached.request('c', 1, [5, 6])
  await cached.finishAll()
  t.same(cached.ended.sort(), ['a', 'b', 'c'])
  t.ok(cached.isAtRest)
})

t.test(
  'R1: blocks that were seen in memory are evicted meanwhile: a third run has all',
  async (t) => {
    const scene = new Scene({ cached: 8, parkedMax: 1000 })
    const count = 200
    for (let i = 0; i < count; i++) {
      const wanted = Array.from({ length: 40 }, (_, k) => (i * 7 + k * k + 3 * k) % 101)
      scene.request(`${i}`, i, [...new Set(wanted)])
      while (scene.reads.length > 20) scene.disk.finish()
    }
    await scene.finishAll()
    t.equal(scene.ended.filter((how) => /overloaded/.test(how)).length, 0)
    t.equal(scene.ended.length, count)
    t.ok(scene.roundsMax <= 2, `parked ${scene.roundsMax} times`)
    t.ok(scene.isAtRest)
  },
)

t.test('many requests for the same block: it is read once', async (t) => {
  const scene = new Scene({ parkedMax: 400 })
  for (let i = 0; i < 200; i++) scene.request('a', i, [1])
  await scene.finishAll()
  t.equal(scene.ended.length, 200)
  t.equal(scene.reads.blocksRead, 1)
  t.ok(scene.isAtRest)
})

t.test('R2: too many, of one caller or of all: rejected and counted', async (t) => {
  const scene = new Scene({ parkedMax: 4 })
  for (let i = 0; i < 3; i++) scene.request(`a${i}`, 1, [i])
  t.same(scene.ended, ['a2: overloaded'], 'one caller may have half of them')
  for (let i = 0; i < 2; i++) scene.request(`b${i}`, 2, [10 + i])
  t.same(scene.ended, ['a2: overloaded', 'b1: overloaded'], 'another has half of what is left')
  scene.request('c', 3, [20])
  scene.request('d', 4, [30])
  t.equal(scene.ended.at(-1), 'd: overloaded')
  t.equal(scene.reads.refused, 3)
  await scene.finishAll()
  t.same(scene.ended.slice(3).sort(), ['a0', 'a1', 'b0', 'c'])
  t.ok(scene.isAtRest)
})

t.test('R2: too many bytes: rejected, and the largest alone is not', async (t) => {
  const scene = new Scene()
  const most = Array.from({ length: coldPageBytesMax / blockBytes }, (_, i) => i)
  scene.request('large', 1, most)
  scene.request('small', 2, [100_000])
  t.same(scene.ended, ['small: overloaded'])
  await scene.finishAll()
  scene.request('small', 2, [100_000])
  await scene.finishAll()
  t.same(scene.ended.slice(1), ['large', 'small'])
})

t.test('R2: one caller takes all bytes that it gets: another reads, too', async (t) => {
  const scene = new Scene({ parkedMax: 100, bytesMax: 4 * coldPageBytesMax })
  const blocks = coldPageBytesMax / blockBytes
  const page = (i: number) => Array.from({ length: blocks }, (_, block) => i * blocks + block)
  for (let i = 0; i < 4; i++) scene.request(`a${i}`, 1, page(i))
  t.same(scene.ended, ['a2: overloaded', 'a3: overloaded'], 'it has half of them')
  scene.request('b', 2, page(4))
  await scene.finishAll()
  t.same(scene.ended.slice(2).sort(), ['a0', 'a1', 'b'])
  t.ok(scene.isAtRest)
})

t.test('R2: bodies are kept while their requests wait: they count like blocks', async (t) => {
  const scene = new Scene()
  scene.request('long', 1, [1], coldPageBytesMax)
  scene.request('short', 2, [2], 1)
  t.same(scene.ended, ['short: overloaded'])
  t.equal(scene.reads.bytes, coldPageBytesMax + blockBytes)
  await scene.finishAll()
  t.same(scene.ended, ['short: overloaded', 'long'])
  t.ok(scene.isAtRest)
})

t.test('R3: one caller has many parked: another waits for few of them', async (t) => {
  const scene = new Scene({ parkedMax: 100 })
  for (let i = 0; i < 40; i++) scene.request('many', 1, [i])
  scene.request('other', 2, [100])
  scene.request('third', 3, [101])
  await scene.finishAll()
  t.equal(scene.ended.length, 42)
  t.ok(scene.ended.indexOf('other') < 12, `at ${scene.ended.indexOf('other')}`)
  t.ok(scene.ended.indexOf('third') < 12)
})

t.test('R4: stopped: waiting and later requests are refused; reads may still end', async (t) => {
  const scene = new Scene({ parkedMax: 100 })
  for (let i = 0; i < 10; i++) scene.request('a', 1, [i])
  scene.reads.stop()
  t.same(scene.ended, new Array(10).fill('a: shutting_down'))
  scene.request('late', 1, [50])
  t.equal(scene.ended.at(-1), 'late: shutting_down')
  await scene.finishAll()
  t.equal(scene.ended.length, 11)
  t.ok(scene.isAtRest)
})

t.test('R4: the caller hangs up while its request waits: nothing is read for it', async (t) => {
  const scene = new Scene({ parkedMax: 100 })
  for (let i = 0; i < 20; i++) scene.request(`a${i}`, 1, [i])
  scene.gone.add('a19')
  await scene.finishAll()
  t.equal(scene.reads.blocksRead, 19)
  t.ok(scene.isAtRest)
})

t.test(
  'a file is gone: the block is read at its new place; if it has none, it fails',
  async (t) => {
    const scene = new Scene()
    scene.request('a', 1, [1])
    scene.files.set(1, 2)
    scene.disk.finish({ kind: 'gone', why: 'ENOENT' })
    t.equal(scene.disk.asked[0].reads[0].place.file, 2)
    await scene.finishAll()
    t.same(scene.ended, ['a'])
    scene.request('b', 1, [1])
    await scene.finishAll({ kind: 'gone', why: 'ENOENT' })
    t.same(scene.disk.mended, [1], 'the same place again: it is damage')
  },
)

t.test('damaged where a block lay before it was erased: not reported as damage', async (t) => {
  const damaged: ReadResult = { kind: 'damaged', why: 'CRC mismatch' }
  const scene = new Scene()
  scene.request('a', 1, [1])
  scene.files.set(1, 2) // a checkpoint moved the block
  scene.disk.finish(damaged)
  t.equal(scene.disk.asked[0].reads[0].place.file, 2)
  await scene.finishAll()
  scene.request('b', 1, [2])
  scene.isInMemory = true
  await scene.finishAll(damaged)
  t.same(scene.ended, ['a', 'b: overloaded'])
  t.same(scene.disk.mended, [])
  t.ok(scene.isAtRest)
})

t.test('the page is in memory again: nothing is read', async (t) => {
  const scene = new Scene()
  for (let i = 0; i < 8; i++) scene.request(`a${i}`, i, [i])
  scene.request('b', 9, [20])
  t.equal(scene.ended[0], 'b: overloaded')
  const free = new Scene({ parkedMax: 100 })
  for (let i = 0; i < 9; i++) free.request(`a${i}`, i, [i])
  free.isInMemory = true
  await free.finishAll()
  t.equal(free.ended.length, 9)
  t.equal(free.reads.blocksRead, 1, 'only what was asked for before')
})

t.test('damaged: repaired and shown; lost: 503; another error: overloaded', async (t) => {
  const damaged: ReadResult = { kind: 'damaged', why: 'CRC mismatch' }
  const scene = new Scene()
  scene.request('a', 1, [1])
  await scene.finishAll(damaged)
  t.same(scene.ended, ['a'])
  scene.disk.isMendable = false
  scene.request('b', 1, [2])
  await scene.finishAll(damaged)
  scene.request('c', 1, [3])
  await scene.finishAll({ kind: 'failed', why: 'EMFILE' })
  t.same(scene.ended, ['a', 'b: unreadable', 'c: overloaded'])
  t.ok(scene.isAtRest)
})

t.test('random requests, caches and ends of reads: each ends once and shows its own', async () => {
  const request = fc.record({
    caller: fc.nat(3),
    wanted: fc.array(fc.nat(9), { minLength: 1, maxLength: 6 }),
    finishes: fc.nat(3),
  })
  const property = fc.asyncProperty(
    fc.array(request, { maxLength: 30, size: 'max' }),
    fc.nat(6),
    async (requests, cached) => {
      const scene = new Scene({ cached, parkedMax: 1000 })
      for (const [i, { caller, wanted, finishes }] of requests.entries()) {
        scene.request(`${i}`, caller, wanted)
        for (let n = 0; n < finishes; n++) scene.disk.finish()
        if (wanted[0] === 0) scene.blocks.drop(wanted.at(-1)!)
      }
      await scene.finishAll()
      const expected = requests.map((_, i) => `${i}`).sort()
      if (`${scene.ended.sort()}` !== `${expected}`) throw new Error(`${scene.ended}`)
      if (!scene.isAtRest) throw new Error('something is held')
      if (scene.blocks.bytes > cached * blockBytes) throw new Error('too much is kept')
    },
  )
  await fc.assert(property)
})
