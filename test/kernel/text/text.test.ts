// Goal:   every entry reads as it was appended, wherever it is: in memory, across pages, or in
//         pages that were dropped and whose blocks are read again. A1 to A4 of kernel/text/text.ts.
// Method: random entries, checkpoints and reads, compared with a plain list of strings. A plain
//         array of pages stands for the disk.

import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { blockBytes } from '../../../src/kernel/text/blocks.ts'
import { eraseEntry } from '../../../src/kernel/text/erasing.ts'
import { Page } from '../../../src/kernel/text/page.ts'
import { pageBytes } from '../../../src/kernel/text/page-slots.ts'
import { Text } from '../../../src/kernel/text/text.ts'
import { PageTable } from '../../../wal/checkpoint/paged-store.ts'
import { codePoint } from '../../code-point.ts'

const mib = 2 ** 20
const anyText = fc.string({ unit: codePoint, minLength: 1, maxLength: 200, size: 'max' })

t.test('A1: texts of every width: more are appended: all stay unchanged', async () => {
  const text = new Text()
  const property = fc.property(
    fc.array(anyText, { minLength: 1, maxLength: 50, size: 'max' }),
    (texts) => {
      const entries = texts.map((each) => ({
        each,
        address: text.append(each),
        bytes: text.written,
      }))
      for (const { each, address, bytes } of entries) {
        if (bytes !== Buffer.byteLength(each)) throw new Error(`${bytes} bytes of ${each}`)
        if (!Number.isInteger(address)) throw new Error('an entry starts at a multiple of 8')
        if (text.text(address, 0, bytes) !== each) throw new Error(`${each} has changed`)
      }
    },
  )
  fc.assert(property)
})

t.test('A1: one, two, three and four bytes: cut between characters: whole texts', async (t) => {
  const text = new Text()
  const address = text.append('aé€🦊z')
  t.equal(text.written, 1 + 2 + 3 + 4 + 1)
  t.equal(text.text(address, 1, 6), 'é€')
  t.equal(text.text(address, 6, 11), '🦊z')
})

/** A text with a memory budget, the disk with its checkpoints, and the appended entries. */
class Life {
  readonly bytesMax: number
  text: Text
  readonly disk: Uint8Array[] = []
  readonly appended: { entry: string; address: number; bytes: number }[] = []
  /** The numbers of reads that found everything in memory, and that had to read blocks first. */
  found = { hot: 0, cold: 0 }
  #page: Page

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
    this.text = new Text(bytesMax)
    this.#page = new Page(this.text)
  }

  append(entry: string): void {
    const address = this.text.append(entry)
    this.appended.push({ entry, address, bytes: this.text.written })
  }

  save(isGood: boolean): void {
    const { text, disk } = this
    const table = new PageTable(text.freeze(), pageBytes)
    for (let page = 0; page < table.pages; page++) {
      const bytes = text.frozen(page)
      if (bytes !== null && isGood) disk[page] = Buffer.from(bytes)
      assert.equal(disk[page]?.length === table.lengthOf(page), isGood || bytes === null)
      table.set(page, 1, page * pageBytes, isGood ? crc32(disk[page]!) : 0)
    }
    text.thaw(isGood ? table : null)
    this.check()
  }

  /** Restarts the node from the checkpoint: text that was not saved is appended once more. */
  restart(): void {
    const saved = this.disk.reduce((sum, bytes) => sum + bytes.length, 0)
    const crcs = Array.from({ length: Math.floor(saved / blockBytes) }, (_, i) =>
      this.text.crcs.get(i),
    )
    this.text = new Text(this.bytesMax)
    this.#page = new Page(this.text)
    const table = new PageTable(saved, pageBytes)
    for (const [page, bytes] of this.disk.entries()) {
      table.set(page, 1, page * pageBytes, crc32(bytes))
    }
    this.text.fill(saved, table)
    for (const [page, bytes] of this.disk.entries()) {
      if (this.text.holds(page)) this.text.room(page).set(bytes)
    }
    for (const crc of crcs) this.text.crcs.push(crc)
    for (const { entry, address } of this.appended) {
      if (address * 8 >= saved) assert.equal(this.text.append(entry), address)
    }
    this.check()
  }

  /** Reads cold pages into the remaining memory, the newest first. */
  async readAhead(): Promise<void> {
    const { text } = this
    for (let page = text.pageToRead(Number.POSITIVE_INFINITY); page !== -1; ) {
      const isRead = await text.read(page, async ({ offset, bytes }, into) => {
        assert.equal(bytes, pageBytes)
        into.set(this.disk[offset / pageBytes]!)
        return true
      })
      assert.ok(isRead)
      page = text.pageToRead(page)
    }
    this.check()
  }

  read(at: number, from: number, cut: number): void {
    const { entry, address, bytes } = this.appended[at % this.appended.length]!
    const expected = Buffer.from(entry).subarray(from, Math.max(from, bytes - cut))
    const to = from + expected.length
    const write = () => {
      this.#page.begin(address, bytes)
      this.#page.entry(address, from, to)
      return this.#page.finish()
    }
    let written = write()
    if (!this.text.blocks.isMissing) this.found.hot += 1
    else {
      this.found.cold += 1
      assert.equal(this.text.text(address, from, to), '', 'what is not there is not shown')
      const slots = this.text.blocks.takeMissing().map((block) => this.#load(block))
      written = write()
      assert.ok(!this.text.blocks.isMissing, 'all that is missing is noted at once')
      assert.equal(this.text.text(address, from, to), expected.toString())
      for (const slot of slots) this.text.blocks.release(slot)
    }
    assert.ok(expected.equals(written), 'the entry reads as it was appended')
  }

  /** Reads a block from the place that the text names. */
  #load(block: number): number {
    const { text, disk } = this
    const { offset, bytes, crc } = text.placeOf(block)!
    const page = disk[Math.floor(offset / pageBytes)]!
    const read = page.subarray(offset % pageBytes).subarray(0, bytes)
    assert.equal(crc32(read), crc, 'the crc of the block')
    const slot = text.blocks.hold(block)
    text.blocks.bytesOf(slot).set(read)
    text.blocks.setLoaded(slot)
    return slot
  }

  check(): void {
    const { text, bytesMax } = this
    const unsaved = Math.ceil(text.unsavedBytes / pageBytes)
    const pagesMax = Math.max(1 + unsaved, Math.floor((bytesMax * 0.75) / pageBytes))
    assert.ok(text.bytesInMemory <= pagesMax * pageBytes, `A4: ${text.bytesInMemory} bytes`)
    assert.equal(text.crcs.length, Math.floor(text.bytes / blockBytes))
  }
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('append' as const), size: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('save' as const), good: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('read ahead' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('read' as const),
      at: fc.nat(),
      from: fc.nat(20),
      cut: fc.nat(20),
    }),
  },
)

/** Returns an entry. Most are short; some are longer than a page. */
function entryOf(size: number): string {
  const length = size % 5 === 0 ? size % (3 * mib) : size % 300_000
  return `é${size}`.repeat(Math.ceil(length / 8)).slice(0, length + 1)
}

t.test('A2 A4: random lives with little memory: every entry reads as it was', async (t) => {
  const found = { hot: 0, cold: 0 }
  const budget = fc.constantFrom(mib, 3 * mib, 8 * mib)
  const steps = fc.array(step, { maxLength: 40, size: 'max' })
  const property = fc.asyncProperty(budget, steps, async (bytesMax, steps) => {
    const life = new Life(bytesMax)
    for (let n = 0; n < 6; n++) life.append(entryOf(600_007 * (n + 1)))
    for (const each of steps) {
      if (each.does === 'append') life.append(entryOf(each.size))
      else if (each.does === 'save') life.save(each.good)
      else if (each.does === 'restart') life.restart()
      else if (each.does === 'read ahead') await life.readAhead()
      else life.read(each.at, each.from, each.cut)
    }
    life.save(true)
    life.restart()
    for (const at of life.appended.keys()) life.read(at, 0, 0)
    found.hot += life.found.hot
    found.cold += life.found.cold
  })
  // The lives are random. If they read too little from disk or from memory, more of them are run.
  const isEnough = () => found.hot > 30 && found.cold > 30
  for (let rounds = 0; rounds < 5 && !isEnough(); rounds++) {
    await fc.assert(property, { numRuns: 12, endOnFailure: true })
  }
  t.ok(isEnough(), JSON.stringify(found))
})

t.test('A2: a cold page that cannot be read: it stays cold, and its slot is free', async (t) => {
  const life = new Life(8 * mib)
  for (let n = 0; n < 30; n++) life.append(entryOf(300_000 * n + 299_999))
  life.save(true)
  life.restart()
  const { text } = life
  const page = text.pageToRead(Number.POSITIVE_INFINITY)
  const { taken } = text.pages.memory
  t.equal(await text.read(page, async () => false), false)
  t.same([text.holds(page), text.pages.memory.taken], [false, taken])
})

t.test('erased: its block was read from disk before: nothing of it is shown again', async (t) => {
  const life = new Life(mib)
  for (let n = 0; n < 6; n++) life.append(entryOf(600_007 * (n + 1)))
  life.save(true)
  life.read(0, 0, 0)
  const { text, disk } = life
  const { address, bytes } = life.appended[0]!
  eraseEntry(text, address, bytes, (_place, page) => Buffer.from(disk[page]!))
  life.save(true)
  const shown = Buffer.alloc(bytes)
  const isWhole = text.copy(address, 0, bytes, shown, 0)
  t.same([text.holds(0), isWhole, `${shown}`], [false, false, '\0'.repeat(bytes)])
})

t.test('erased and saved while a start reads its page: what was read is not kept', async (t) => {
  const life = new Life(3 * mib)
  for (let n = 0; n < 6; n++) life.append(entryOf(600_007 * (n + 1)))
  life.save(true)
  const { text, disk } = life
  const { address, bytes } = life.appended[0]!
  const isRead = await text.read(0, async (_place, into) => {
    into.set(disk[0]!)
    eraseEntry(text, address, bytes, (_place, page) => Buffer.from(disk[page]!))
    life.save(true)
    return true
  })
  t.same([isRead, text.holds(0), text.bytesInMemory], [false, false, pageBytes])
})

t.test('B2: 130 pages of which all but the newest are given back: so are slabs', async (t) => {
  const text = new Text(2 * mib)
  const entry = 'x'.repeat(mib)
  for (let n = 0; n < 130; n++) text.append(entry)
  t.equal(text.pages.memory.slabs.filter(({ length }) => length > 0).length, 3)
  const table = new PageTable(text.freeze(), pageBytes)
  text.thaw(table)
  t.equal(text.pages.memory.taken, 1)
  t.equal(text.pages.memory.slabs.filter(({ length }) => length > 0).length, 2)
  text.append(entry)
  t.equal(text.pages.slots[130], 1, 'the lowest slot is taken')
})

t.test('A2: nothing appended yet, or one page: no page to read', async (t) => {
  const text = new Text(8 * mib)
  t.equal(text.pageToRead(Number.POSITIVE_INFINITY), -1)
  text.append('the first')
  t.equal(text.pageToRead(Number.POSITIVE_INFINITY), -1)
})
