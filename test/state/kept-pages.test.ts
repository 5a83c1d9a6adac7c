// Kept pages: K1 found only as they are, K2 kept when asked for again, K3 bounded.

import t from 'tap'
import { KeptPages, type PageKey } from '../../src/state/kept-pages.ts'

const key: PageKey = { thread: 3, first: 50, end: 100, position: 7 }

function ask(pages: KeptPages, key: PageKey, text: string): string {
  const bytes = pages.find(key) ?? pages.offer(key, Buffer.from(text)) ?? Buffer.from(text)
  return Buffer.from(bytes).toString()
}

t.test('K2: asked for once: not kept; again: kept, as a copy', async (t) => {
  const pages = new KeptPages()
  const scratch = Buffer.from('a page')
  t.equal(pages.offer(key, scratch), null)
  t.equal(pages.find(key), null)
  t.same(pages.offer(key, scratch), scratch)
  scratch.fill(0)
  t.equal(Buffer.from(pages.find(key)!).toString(), 'a page')
})

t.test('K1: another thread, beginning, end or position: another page', async (t) => {
  const pages = new KeptPages()
  const others = [{ thread: 4 }, { first: 51 }, { end: 99 }, { position: 8 }, {}]
  for (const other of others) {
    const asked = { ...key, ...other }
    const text = JSON.stringify(asked)
    for (let i = 0; i < 3; i++) t.equal(ask(pages, asked, text), text)
  }
  for (const other of others) {
    const asked = { ...key, ...other }
    const text = JSON.stringify(asked)
    t.equal(ask(pages, asked, text), text, 'whatever was kept between')
  }
})

t.test('K3: more than there is room for: the oldest go, what is read goes on', async (t) => {
  const pages = new KeptPages(10_000)
  const page = Buffer.alloc(700)
  const of = (thread: number) => ({ ...key, thread })
  for (let thread = 0; thread < 1000; thread++) {
    for (let i = 0; i < 2; i++) pages.offer(of(thread), page)
    t.ok(thread < 2 || pages.find(of(1)) !== null, 'what is read stays')
    pages.find(of(1))
  }
  const kept = Array.from({ length: 1000 }, (_, thread) => pages.find(of(thread)) !== null)
  t.ok(kept[999])
  t.notOk(kept[0])
  t.ok(kept.filter(Boolean).length <= 21, 'two generations of ten')
})
