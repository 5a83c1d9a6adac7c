// Goal:   text that has left memory reads as it was appended, from page files that are damaged in
//         any byte, on a disk that is full at times, and when its page has moved to another file;
//         text that is unavailable is refused, and never shown differently.
// Method: two texts, checkpoints of them on a simulated disk, and starts from these checkpoints.
//         Parity is a part of the checkpoints.

import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { blockBytes } from '../../../src/kernel/text/blocks.ts'
import { eraseEntry, eraseUnread, hasErasedUnread } from '../../../src/kernel/text/erasing.ts'
import { pageBytes } from '../../../src/kernel/text/page-slots.ts'
import { Text } from '../../../src/kernel/text/text.ts'
import { Checkpoints } from '../../../wal/checkpoint/checkpoints.ts'
import { pagesName, parityName } from '../../../wal/checkpoint/manifest.ts'
import { PageSource } from '../../../wal/checkpoint/page-source.ts'
import { smallFilesMax } from '../../../wal/checkpoint/paged-store.ts'
import { sizeOf, timeoutMs } from '../../depth.ts'
import { dir } from '../../wal/helpers.ts'
import { SimulatedDisk } from '../../wal/simulated-disk.ts'

t.setTimeout(timeoutMs)

const kib = 1024
const memory = { text: 1024 * kib, names: 1024 * kib }
const storeId = '0'.repeat(32)

class Life {
  readonly disk: SimulatedDisk
  checkpoints: Checkpoints
  text = new Text(memory.text)
  names = new Text(memory.names)
  #position = 0

  constructor(disk = new SimulatedDisk(1)) {
    this.disk = disk
    disk.makeDirectory(dir)
    this.checkpoints = new Checkpoints({ disk, dir, stateVersion: 1, onNotice: () => {} })
  }

  get #stores() {
    const { text, names } = this
    return new Map(Object.entries({ text, textCrcs: text.crcs, names, namesCrcs: names.crcs }))
  }

  take() {
    const nothing = async () => {}
    const position = ++this.#position
    const journal = { storeId, position, sync: nothing, dropBefore: nothing }
    const rows = new Map()
    return this.checkpoints.take({
      journal,
      facts: () => null,
      stores: this.#stores,
      rows,
      pause: () => null,
    })
  }

  /** Starts on a copy of the disk. */
  async restart(disk = this.disk.copy()): Promise<Life> {
    const next = new Life(disk)
    const target = { stores: next.#stores, rows: new Map(), restore: () => {} }
    await next.checkpoints.load(storeId, () => target)
    return next
  }

  /**
   * Returns a page of the text, from memory or block by block from disk; `mended` counts the blocks
   * that were rebuilt.
   */
  async read(page: number): Promise<{ bytes: Buffer; mended: number }> {
    const { text, disk, checkpoints } = this
    if (text.holds(page)) return { bytes: text.pages.bytesOf(page), mended: 0 }
    const bytes = Buffer.alloc(pageBytes)
    let mended = 0
    const first = (page * pageBytes) / blockBytes
    const content = disk.bytesOf(`${dir}/${pagesName(text.placeOf(first)!.file)}`)
    for (let n = 0; n < pageBytes / blockBytes; n++) {
      const { offset, crc } = text.placeOf(first + n)!
      const block = content.subarray(offset, offset + blockBytes)
      if (crc32(block) === crc) bytes.set(block, n * blockBytes)
      else {
        const whole = Buffer.alloc(pageBytes)
        const source = new PageSource({ disk, dir }, checkpoints.kept[0]!)
        const table = checkpoints.kept[0]!.tables.get('text')!
        const isRead = await source.read(table.placeOf(page), whole)
        await source.close()
        assert.ok(isRead, 'lost')
        bytes.set(whole.subarray(n * blockBytes).subarray(0, blockBytes), n * blockBytes)
        mended += 1
      }
    }
    return { bytes, mended }
  }
}

/** Appends `count` KiB, each with different content. */
function fill(text: Text, count: number): void {
  for (let n = 0; n < count; n++) text.append(`${text.bytes} `.repeat(kib).slice(0, kib))
}

/** Returns the pages that `fill` appends. */
function expected(count: number): Buffer {
  const text = new Text()
  fill(text, count)
  const pages = Math.ceil(text.bytes / pageBytes)
  return Buffer.concat(Array.from({ length: pages }, (_, page) => text.pages.bytesOf(page)))
}

t.test('P1: any byte of the page files of text changed: read as it was, or rebuilt', async (t) => {
  const life = new Life()
  fill(life.text, 2300)
  fill(life.names, 10)
  const { number } = await life.take()
  const wanted = expected(2300)
  const stride = sizeOf('DAMAGE_STRIDE') * 15
  let [flips, mended, rebuilt] = [0, 0, 0]
  for (const name of [pagesName(number + 1), parityName(number + 1)]) {
    const { length } = life.disk.bytesOf(`${dir}/${name}`)
    for (let at = 0; at < length; at += stride) {
      const flip = () => {
        life.disk.bytesOf(`${dir}/${name}`)[at]! ^= 1 << (at % 8)
      }
      flip()
      const next = await life.restart(life.disk)
      assert.equal(next.text.holds(0), false, 'the start reads no full page')
      rebuilt += next.checkpoints.rebuilt.length
      for (let page = 0; page < 3; page++) {
        const read = await next.read(page)
        const begin = page * pageBytes
        const end = Math.min(begin + pageBytes, 2300 * kib)
        const same = read.bytes.subarray(0, end - begin).equals(wanted.subarray(begin, end))
        assert.ok(same, `${name} at ${at}: page ${page}`)
        mended += read.mended
      }
      flip()
      flips += 1
    }
  }
  t.ok(mended > 20 && rebuilt > 2, `${flips} flips: ${mended} blocks, ${rebuilt} pages rebuilt`)
})

t.test(
  'A2: the disk is full while text is written: it stays in memory until it fits',
  async (t) => {
    const life = new Life()
    fill(life.text, 1100)
    await life.take()
    const used = [...life.disk.contents().values()].reduce((sum, { length }) => sum + length, 0)
    fill(life.text, 2000)
    for (const spare of [0, 4 * kib, 1500 * kib]) {
      life.disk.capacityBytes = used + spare
      await t.rejects(life.take(), { message: /ENOSPC/ }, `${spare} bytes are free`)
      t.same(
        [1, 2].map((page) => life.text.holds(page)),
        [true, true],
      )
    }
    life.disk.capacityBytes = Number.POSITIVE_INFINITY
    await life.take()
    t.equal(life.text.bytesInMemory, pageBytes)
    const next = await life.restart()
    const wanted = expected(3100)
    for (const each of [life, next]) {
      for (let page = 0; page < 3; page++) {
        const { bytes } = await each.read(page)
        t.ok(bytes.equals(wanted.subarray(page * pageBytes, (page + 1) * pageBytes)))
      }
    }
  },
)

/**
 * Returns a life in which the first page of the text lies in a file from which the next checkpoint
 * will copy it.
 */
async function sparse(): Promise<{ life: Life; file: number }> {
  const life = new Life()
  fill(life.text, 1900)
  fill(life.names, 900)
  const { number } = await life.take()
  for (let n = 0; n < 2; n++) {
    fill(life.text, 10)
    fill(life.names, 10)
    if (n === 0) await life.take()
  }
  assert.equal(life.text.placeOf(0)?.file, number + 1)
  return { life, file: number + 1 }
}

t.test('a file of which little is used: its cold page is copied, without memory', async (t) => {
  const { life, file } = await sparse()
  const { number } = await life.take()
  t.equal(life.text.placeOf(0)?.file, number + 1)
  t.equal(life.text.holds(0), false)
  t.notOk(life.checkpoints.kept[0]!.files.has(file))
  const next = await life.restart()
  t.ok((await next.read(0)).bytes.equals(expected(1900).subarray(0, pageBytes)))
  await life.take()
  t.notOk(life.disk.list(dir).includes(pagesName(file)), 'the old file is removed')
})

t.test('the page to be copied is damaged: rebuilt; without parity it stays there', async (t) => {
  for (const hasParity of [true, false]) {
    const { life, file } = await sparse()
    life.disk.bytesOf(`${dir}/${pagesName(file)}`)[5_000]! ^= 1
    if (!hasParity) life.disk.erase(`${dir}/${parityName(file)}`)
    const { number } = await life.take()
    t.equal(life.text.placeOf(0)?.file, hasParity ? number + 1 : file)
    const reading = life.read(0)
    if (!hasParity) await t.rejects(reading, { message: 'lost' })
    else t.ok((await reading).bytes.equals(expected(1900).subarray(0, pageBytes)))
  }
})

t.test('erased while it cannot be read: stays in its file until it is overwritten', async (t) => {
  const life = new Life()
  fill(life.text, 2300)
  await life.take()
  const reader = await life.restart()
  const owed = { address: 0, bytes: 100 }
  for (const { text } of [life, reader]) text.unread.push(owed)
  life.text.erased.add(0)
  const before = life.text.placeOfPage(0)
  await life.take()
  t.same(life.text.placeOfPage(0), before, 'although it can be read again')
  t.not(life.text.placeOfPage(1).file, before.file, 'its neighbour has moved')
  t.same(life.checkpoints.kept[0]!.notEmptied, [before.file])
  const restarted = await life.restart()
  restarted.text.unread.push(owed)
  await restarted.take()
  t.same(restarted.checkpoints.kept[0]!.notEmptied, [before.file], 'also after a start')
  const places = () => life.checkpoints.kept[0]!.tables.get('text')!
  t.notOk(hasErasedUnread(reader.text, places()))
  await eraseUnread(life.text, async () => (await life.read(0)).bytes)
  await life.take()
  t.same(life.text.unread, [])
  t.same(life.checkpoints.kept[0]!.notEmptied, [])
  t.ok((await life.read(0)).bytes.subarray(0, 100).every((byte) => byte === 0))
  t.ok(hasErasedUnread(reader.text, places()))
})

t.test('erased, and the next checkpoint fails: the one after it empties the file', async (t) => {
  const life = new Life()
  fill(life.text, 2300)
  await life.take()
  const { file } = life.text.placeOfPage(0)
  const { bytes } = await life.read(0)
  eraseEntry(life.text, 0, 100, () => bytes)
  for (const operation of ['write', 'sync', 'rename'] as const) {
    life.disk.refuse(operation, 'EIO')
    await t.rejects(life.take(), { message: /EIO/ }, operation)
    life.disk.refuse(operation, null)
  }
  await life.take()
  t.notOk(life.checkpoints.kept[0]!.files.has(file), 'its neighbour has moved, too')
  t.same(life.checkpoints.kept[0]!.notEmptied, [])
})

t.test('the second file is cut off: the start reads all of it, and rebuilds', async (t) => {
  for (const [appended, usable] of [
    [1100, 1], // the end of the last page is missing, which parity has
    [2300, 0], // two pages are missing
  ] as const) {
    const life = new Life()
    fill(life.text, appended)
    const { number } = await life.take()
    const file = life.disk.open(`${dir}/${pagesName(number + 1)}`, 'write')
    life.disk.truncate(file, pageBytes + 7)
    life.disk.close(file)
    const next = await life.restart().catch(() => null)
    t.equal(next?.checkpoints.kept.length ?? 0, usable)
    if (next === null || usable === 0) continue
    t.equal(next.text.holds(0), true)
    for (const page of [0, 1]) {
      const wanted = expected(appended)
        .subarray(page * pageBytes)
        .subarray(0, pageBytes)
      t.ok((await next.read(page)).bytes.equals(wanted))
    }
  }
})

t.test(
  'checkpoints with one full page each: their files are merged, the text is whole',
  async (t) => {
    const life = new Life()
    const pages = smallFilesMax + 10
    let most = 0
    const filesOf = ({ disk }: Life) => disk.list(dir).filter((name) => name.endsWith('.pages'))
    for (let page = 0; page < pages; page++) {
      fill(life.text, kib)
      await life.take()
      most = Math.max(most, filesOf(life).length)
    }
    t.ok(most >= smallFilesMax, `${most} page files`)
    t.ok(filesOf(life).length < 20, `${filesOf(life).length} are left`)
    const wanted = expected(pages * kib)
    for (const each of [life, await life.restart()]) {
      for (let page = 0; page < pages; page++) {
        const { bytes, mended } = await each.read(page)
        if (mended > 0 || !bytes.equals(wanted.subarray(page * pageBytes).subarray(0, pageBytes))) {
          t.fail(`page ${page}, ${mended} blocks mended`)
        }
      }
    }
  },
)

t.test('a start: there are many page files of text: few are open at once', async (t) => {
  const life = new Life()
  for (let page = 0; page < smallFilesMax - 4; page++) {
    fill(life.text, kib)
    await life.take()
  }
  const disk = life.disk.copy()
  const [open, close] = [disk.open.bind(disk), disk.close.bind(disk)]
  let [now, most] = [0, 0]
  disk.open = (...args) => {
    now += 1
    most = Math.max(most, now)
    return open(...args)
  }
  disk.close = (file) => {
    now -= 1
    close(file)
  }
  await life.restart(disk)
  t.ok(most < 10, `${most} were open`)
  t.equal(now, 0)
})
