// The page cache: P1 a page is found only while it is current, P2 it is cached once it has been
// added often enough, P3 the size is bounded, P4 dropped pages are overwritten.

import { setImmediate as nextIteration } from 'node:timers/promises'
import t from 'tap'
import { PageCache, type PageKey } from '../../../src/forum/threads/page-cache.ts'
import { Generations } from '../../../src/kernel/generations.ts'

const key: PageKey = { thread: 3, first: 50, end: 100, position: 7 }

function read(pages: PageCache, key: PageKey, text: string): string {
  const bytes = pages.get(key) ?? pages.add(key, Buffer.from(text)) ?? Buffer.from(text)
  return Buffer.from(bytes).toString()
}

t.test('P2: 50 messages, added again: cached, as a copy in its own memory', async (t) => {
  const pages = new PageCache()
  const scratch = Buffer.from('a page')
  t.equal(pages.add(key, scratch), null)
  t.equal(pages.get(key), null)
  const copy = pages.add(key, scratch)!
  scratch.fill(0)
  t.equal(pages.get(key), copy)
  t.equal(Buffer.from(copy).toString(), 'a page')
  t.equal(copy.buffer.byteLength, copy.length)
})

t.test('P2: the shorter the page: the more often it is added before it is cached', async (t) => {
  const pages = new PageCache()
  for (const [messages, times] of [
    [1, 10],
    [2, 8],
    [10, 4],
    [26, 2],
    [100, 2],
  ]) {
    const page = { ...key, end: key.first + messages }
    for (let i = 1; i < times; i++) t.equal(pages.add(page, Buffer.from('a page')), null)
    t.not(pages.add(page, Buffer.from('a page')), null, `${messages} messages: ${times} times`)
  }
})

t.test('P2: a short page, the thread grows before it was added often: not cached', async (t) => {
  const pages = new PageCache()
  for (let position = 1; position < 5; position++) {
    const page = { ...key, end: 52, position }
    for (let i = 0; i < 7; i++) t.equal(pages.add(page, Buffer.from('a page')), null)
  }
})

t.test('P1: another thread, beginning, end or position: another page', async (t) => {
  const pages = new PageCache()
  const backwards = [{ nextBefore: null }, { nextBefore: 40 }]
  const others = [{ thread: 4 }, { first: 51 }, { end: 99 }, { position: 8 }, {}, ...backwards]
  for (let turn = 0; turn < 2; turn++) {
    for (const other of others) {
      const changed = { ...key, ...other }
      const text = JSON.stringify(changed)
      for (let i = 0; i < 3; i++) t.equal(read(pages, changed, text), text)
    }
  }
  t.throws(() => pages.add({ ...key, end: 50 }, Buffer.from('empty')), { code: 'ERR_ASSERTION' })
})

t.test('P3: more than fit: the oldest are evicted, what is read stays', async (t) => {
  const pages = new PageCache(10_000)
  const page = Buffer.alloc(700)
  const of = (thread: number) => ({ ...key, thread })
  for (let thread = 0; thread < 1000; thread++) {
    for (let i = 0; i < 2; i++) pages.add(of(thread), page)
    if (thread > 1 && pages.get(of(1)) === null) t.fail(`what is read was evicted at ${thread}`)
  }
  const cached = Array.from({ length: 1000 }, (_, thread) => pages.get(of(thread)) !== null)
  t.ok(cached[999])
  t.notOk(cached[0])
  t.ok(cached.filter(Boolean).length <= 21, 'two generations of ten')
})

t.test('pages: cleared: gone, and cached again later', async (t) => {
  const pages = new PageCache()
  for (let i = 0; i < 2; i++) pages.add(key, Buffer.from('a page'))
  pages.clear()
  t.equal(pages.get(key), null)
  t.not(pages.add(key, Buffer.from('a page')), null)
  t.not(pages.get(key), null)
})

t.test('P3: one thread that grows and is read: takes the space of one page', async (t) => {
  const pages = new PageCache(10_000)
  const page = Buffer.alloc(700)
  for (let i = 0; i < 2; i++) pages.add(key, page)
  for (let position = 1; position < 1000; position++) {
    for (let i = 0; i < 2; i++) pages.add({ ...key, thread: 9, position }, page)
  }
  t.not(pages.get(key), null)
})

/** Two entries of 64 bytes fit into a generation of this size. */
const entryRoom = 2 * (256 + 64)
const newEntry = () => ({ bytes: new Uint8Array(64).fill(1) })
const isWhole = ({ bytes }: { bytes: Uint8Array }) => bytes.every((byte) => byte === 1)

t.test('P4: cleared: answers of this tick have the bytes, then they are zeros', async (t) => {
  const generations = new Generations<string, { bytes: Uint8Array }>(entryRoom)
  const entries = [newEntry(), newEntry(), newEntry()]
  for (const [i, entry] of entries.entries()) generations.put(`${i}`, entry)
  generations.clear()
  t.ok(entries.every(isWhole), 'an answer may show them')
  await nextIteration()
  t.notOk(entries.some(isWhole), 'both generations are overwritten')
})

t.test(
  'P4: replaced, or dropped with its generation: zeros; found there before: whole',
  async (t) => {
    const generations = new Generations<string, { bytes: Uint8Array }>(entryRoom)
    const [old, found, dropped] = [newEntry(), newEntry(), newEntry()]
    generations.put('replaced', old)
    generations.put('replaced', newEntry())
    generations.put('found', found)
    generations.put('dropped', dropped)
    for (let i = 0; i < 6; i++) {
      t.equal(generations.get('found'), found)
      generations.put(`${i}`, newEntry())
    }
    await nextIteration()
    t.same([old, found, dropped].map(isWhole), [false, true, false])
  },
)
