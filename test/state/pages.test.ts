// Goal:   a store that is saved while it changes is saved as it was at one instant, and only what
//         changed since the last time is given out.
// Method: random changes of a column, a pool of lists or an arena, with checkpoints begun, written
//         page by page, finished or failed in between. A plain array of bytes stands for the disk.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Arena } from '../../src/state/arena.ts'
import { Float64Column, pageRows, Uint8Column } from '../../src/state/column.ts'
import { Lists } from '../../src/state/lists.ts'
import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ does: fc.constant('change' as const), seed: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('begin' as const) }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constant('write' as const), pages: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('fail' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('soil' as const), page: fc.nat(9) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** All bytes of a store that is not frozen. */
function bytesOf(store: PagedStore): Buffer {
  const bytes = Buffer.alloc(store.freeze())
  store.thaw(false)
  for (let page = 0; page * store.pageBytes < bytes.length; page++) {
    const at = page * store.pageBytes
    bytes.set(store.room(page).subarray(0, Math.min(store.pageBytes, bytes.length - at)), at)
  }
  return bytes
}

/** A checkpoint of one store, on a disk that is an array of pages. */
class Saver {
  readonly store: PagedStore
  saved: Buffer[] = []
  written = 0
  #next: Buffer[] | null = null
  #wanted: Buffer = Buffer.alloc(0)
  #wantedPages = new Set<number>()
  #soiled = new Set<number>()
  #before: Buffer = Buffer.alloc(0)

  constructor(store: PagedStore) {
    this.store = store
  }

  run(command: Exclude<Step, { does: 'change' }>): void {
    if (command.does === 'begin' && this.#next === null) this.#begin()
    else if (command.does === 'write') this.#write(command.pages)
    else if (command.does === 'fail' && this.#next !== null) {
      this.store.thaw(false)
      this.#next = null
    } else if (command.does === 'soil' && this.#next === null && command.page < this.saved.length) {
      this.store.markDirty(command.page)
      this.#soiled.add(command.page)
    }
  }

  /** Ends what has begun, and saves the store as it is now. */
  finish(): void {
    while (this.#next !== null) this.#write(1)
    this.#begin()
    while (this.#next !== null) this.#write(1)
  }

  #begin(): void {
    this.#wanted = bytesOf(this.store)
    this.store.freeze()
    this.#next = []
    this.#wantedPages = new Set(this.#soiled)
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
      const given = this.store.frozen(page)
      if (given !== null) this.written += 1
      assert.ok(given !== null || !this.#wantedPages.has(page), 'what changed is given out')
      next.push(given === null ? this.saved[page] : Buffer.from(given))
    }
    if (next.length * pageBytes < this.#wanted.length) return
    assert.ok(Buffer.concat(next).equals(this.#wanted), 'saved as it was at one instant')
    this.store.thaw(true)
    this.saved = next
    this.#before = this.#wanted
    this.#soiled.clear()
    this.#next = null
  }
}

interface Subject {
  store: PagedStore
  change(seed: number): void
  /** An empty one of the kind, filled from what is saved: it must hold the same. */
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
  copy.fill(saver.saved.reduce((sum, page) => sum + page.length, 0))
  for (const [page, bytes] of saver.saved.entries()) copy.room(page).set(bytes)
  assert.ok(bytesOf(copy).equals(bytesOf(store)), 'read as it was saved')
  copy.freeze()
  for (const page of saver.saved.keys()) {
    assert.equal(copy.frozen(page), null, 'what was read is as it was saved')
  }
  copy.thaw(true)
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
  'an arena': () => {
    const arena = new Arena()
    const change = (seed: number) => {
      arena.append('x'.repeat(seed % 700_000))
    }
    return { store: arena, change, empty: () => new Arena() }
  },
}

for (const [name, make] of Object.entries(subjects)) {
  t.test(`C1, C2: ${name}: changed while it is saved: saved as it was at one instant`, async () => {
    const property = fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) =>
      run(make(), steps),
    )
    fc.assert(property, { numRuns: name === 'an arena' ? 20 : 150, endOnFailure: true })
  })
}

t.test('C2: 20 pages saved, one row changes: the next time one page is written', async (t) => {
  const store = new Float64Column()
  store.extend(20 * pageRows)
  const saver = new Saver(store)
  saver.finish()
  t.equal(saver.written, 20)
  store.set(7 * pageRows, 1)
  saver.finish()
  t.equal(saver.written, 21)
})
