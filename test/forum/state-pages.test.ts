// Goal:   a store that is saved while it changes is saved as it was at one instant, and only pages
//         that changed since the last checkpoint are written.
// Method: random changes of a column, a pool of lists or a text, with checkpoints that are begun,
//         written page by page, finished or failed in between. A plain array of bytes stands for
//         the disk.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Float64Column, pageRows, Uint8Column } from '../../src/kernel/columns/column.ts'
import { Lists } from '../../src/kernel/columns/lists.ts'
import { Text } from '../../src/kernel/text/text.ts'
import { type PagedStore, PageTable } from '../../wal/checkpoint/paged-store.ts'

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ does: fc.constant('change' as const), seed: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('begin' as const) }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constant('write' as const), pages: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('fail' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('dirty' as const), page: fc.nat(9) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Returns all bytes of a store, which must not be frozen. */
function bytesOf(store: PagedStore): Buffer {
  const bytes = Buffer.alloc(store.freeze())
  store.thaw(null)
  for (let page = 0; page * store.pageBytes < bytes.length; page++) {
    const at = page * store.pageBytes
    bytes.set(store.room(page).subarray(0, Math.min(store.pageBytes, bytes.length - at)), at)
  }
  return bytes
}

/** The checkpoints of one store, on a disk that is an array of pages. */
class Saver {
  readonly store: PagedStore
  saved: Buffer[] = []
  written = 0
  #next: Buffer[] | null = null
  #wanted: Buffer = Buffer.alloc(0)
  #wantedPages = new Set<number>()
  #dirty = new Set<number>()
  #before: Buffer = Buffer.alloc(0)

  constructor(store: PagedStore) {
    this.store = store
  }

  run(command: Exclude<Step, { does: 'change' }>): void {
    if (command.does === 'begin' && this.#next === null) this.#begin()
    else if (command.does === 'write') this.#write(command.pages)
    else if (command.does === 'fail' && this.#next !== null) {
      this.store.thaw(null)
      this.#next = null
    } else if (
      command.does === 'dirty' &&
      this.#next === null &&
      command.page < this.saved.length
    ) {
      this.store.markDirty(command.page)
      this.#dirty.add(command.page)
    }
  }

  /** Finishes the current checkpoint, and takes another of the store as it is now. */
  finish(): void {
    while (this.#next !== null) this.#write(1)
    this.#begin()
    while (this.#next !== null) this.#write(1)
  }

  #begin(): void {
    this.#wanted = bytesOf(this.store)
    this.store.freeze()
    this.#next = []
    this.#wantedPages = new Set(this.#dirty)
    const { pageBytes } = this.store
    for (let at = 0; at < this.#wanted.length; at += pageBytes) {
      const now = this.#wanted.subarray(at, at + pageBytes)
      if (!now.equals(this.#before.subarray(at, at + pageBytes))) {
        this.#wantedPages.add(at / pageBytes)
      }
    }
  }

  #write(pages: number): void {
    const next = this.#next
    if (next === null) return
    const { pageBytes } = this.store
    for (let n = 0; n < pages && next.length * pageBytes < this.#wanted.length; n++) {
      const page = next.length
      const bytes = this.store.frozen(page)
      if (bytes !== null) this.written += 1
      assert.ok(bytes !== null || !this.#wantedPages.has(page), 'a changed page is written')
      next.push(bytes === null ? this.saved[page] : Buffer.from(bytes))
    }
    if (next.length * pageBytes < this.#wanted.length) return
    assert.ok(Buffer.concat(next).equals(this.#wanted), 'saved as it was at one instant')
    this.store.thaw(new PageTable(this.#wanted.length, pageBytes))
    this.saved = next
    this.#before = this.#wanted
    this.#dirty.clear()
    this.#next = null
  }
}

interface Subject {
  store: PagedStore
  change(seed: number): void
  /** Returns an empty store of the same kind, which is then filled from the saved pages. */
  empty(): PagedStore
}

function run({ store, change, empty }: Subject, steps: readonly Step[]): void {
  const saver = new Saver(store)
  for (const command of steps) {
    if (command.does === 'change') change(command.seed)
    else saver.run(command)
  }
  saver.finish()
  const copy = empty()
  const bytes = saver.saved.reduce((sum, page) => sum + page.length, 0)
  const table = new PageTable(bytes, store.pageBytes)
  copy.fill(bytes, table)
  for (const [page, bytes] of saver.saved.entries()) copy.room(page).set(bytes)
  assert.ok(bytesOf(copy).equals(bytesOf(store)), 'read as it was saved')
  copy.freeze()
  for (const page of saver.saved.keys()) {
    assert.equal(copy.frozen(page), null, 'a page that was just read is not dirty')
  }
  copy.thaw(table)
}

function column(make: () => Float64Column | Uint8Column): Subject {
  const store = make()
  const change = (seed: number) => {
    if (seed % 3 === 0 || store.length === 0) store.extend(seed % (2 * pageRows))
    for (let n = 0; n < 3; n++) store.push((seed + n) % 200)
    for (let n = 0; n < 3; n++) store.set((seed * (n + 7)) % store.length, (seed + n) % 256)
  }
  return { store, change, empty: make }
}

const subjects: Record<string, () => Subject> = {
  'a column of bytes': () => column(() => new Uint8Column()),
  'a column of floats': () => column(() => new Float64Column()),
  'the words of lists': () => {
    const lists = new Lists()
    for (let list = 0; list < 40; list++) lists.add()
    const change = (seed: number) => {
      const list = seed % 40
      for (let n = seed % 700; n >= 0; n--) lists.push(list, n)
      if (lists.length(list) > 0) lists.removeAt(list, seed % lists.length(list))
    }
    return { store: lists.stores.words, change, empty: () => new Lists().stores.words }
  },
  'a text': () => {
    const text = new Text()
    const change = (seed: number) => {
      text.append('x'.repeat(seed % 700_000))
    }
    return { store: text, change, empty: () => new Text() }
  },
}

for (const [name, make] of Object.entries(subjects)) {
  t.test(`C1, C2: ${name}: changed while it is saved: saved as it was at one instant`, async () => {
    const property = fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) =>
      run(make(), steps),
    )
    fc.assert(property, { numRuns: name === 'a text' ? 20 : 150, endOnFailure: true })
  })
}

t.test('C2: 20 pages saved, one row changes: next time one page is written', async (t) => {
  const store = new Float64Column()
  store.extend(20 * pageRows)
  const saver = new Saver(store)
  saver.finish()
  t.equal(saver.written, 20)
  store.set(7 * pageRows, 1)
  saver.finish()
  t.equal(saver.written, 21)
})
