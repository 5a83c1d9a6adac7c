import t from 'tap'
import { type FrozenStore, writePages } from '../../wal/checkpoint/checkpoint-writer.ts'
import { Checkpoints } from '../../wal/checkpoint/checkpoints.ts'
import { pagesName, parityName } from '../../wal/checkpoint/manifest.ts'
import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import { pieceBytes } from '../../wal/checkpoint/parity.ts'
import { scrubFile } from '../../wal/checkpoint/scrub.ts'
import { Sidecar } from '../../wal/checkpoint/sidecar.ts'
import { replaceFileLater } from '../../wal/disk.ts'
import { sizeOf } from '../depth.ts'
import { Fold, type Folding, type Row, startFolding } from './fold.ts'
import { dir, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

interface Store {
  disk: SimulatedDisk
  log: Row[]
}

/** Makes two checkpoints whose manifests name the same old pages, and the log after them. */
async function smallStore(): Promise<Store> {
  const disk = new SimulatedDisk(1)
  const folding = await startFolding(disk)
  const log: Row[] = []
  for (const count of [150, 4, 150, 5]) {
    for (let n = 0; n < count; n++) {
      await until(() => folding.journal.health === 'ok')
      log.push({ value: log.length + 0.5, text: '' })
      folding.append(log.length - 0.5, 100)
      await until(() => folding.journal.durable === log.length)
    }
    if (count > 5 || count === 4) await folding.take()
  }
  await folding.journal.close()
  return { disk, log }
}

function namesOf(disk: SimulatedDisk, pattern: RegExp): string[] {
  const names = disk.list(dir).filter((name) => pattern.test(name))
  return names.sort().map((name) => `${dir}/${name}`)
}

/** Starts, and checks that the state holds the whole log. */
async function start({ log }: Store, disk: SimulatedDisk): Promise<Folding> {
  const folding = await startFolding(disk)
  folding.fold.compare(log)
  return folding
}

/** Scrubs every page file, and counts repaired pages, lost pages and new parity files. */
async function scrub({ checkpoints }: Folding, disk: SimulatedDisk) {
  const found = { mended: 0, lost: 0, newParity: 0 }
  const { kept } = checkpoints
  for (const file of new Set(kept.flatMap(({ files }) => [...files.keys()]))) {
    const manifests = kept.filter(({ files }) => files.has(file))
    const options = { pause: () => null, pace: async () => {} }
    const result = await scrubFile({ disk, dir }, manifests, file, options)
    found.mended += result.mended.length
    found.lost += result.lost.length
    found.newParity += result.newParity ? 1 : 0
  }
  return found
}

function filesOf(disk: SimulatedDisk): Map<string, Buffer> {
  const names = namesOf(disk, /\.(?:pages|parity|checkpoint)$/)
  return new Map(names.map((name) => [name, Buffer.from(disk.bytesOf(name))]))
}

/** Loads the newest good checkpoint, as a start does, and compares it with the log up to there. */
async function load({ log }: Store, disk: SimulatedDisk): Promise<number> {
  const checkpoints = new Checkpoints({ disk, dir, stateVersion: 1, onNotice: () => {} })
  const fold = new Fold()
  fold.busy.bytes = Buffer.alloc(0)
  const restore = (facts: unknown) => fold.restore(facts)
  await checkpoints.load(null, () => ({ stores: fold.stores, rows: new Map(), restore }))
  fold.compare(log.slice(0, fold.position))
  return checkpoints.rebuilt.length
}

const step = sizeOf('DAMAGE_STEP')

/** Flips a bit of each byte of the checkpoint files, or of some of them, one at a time. */
async function eachFlip(
  disk: SimulatedDisk,
  visit: (name: string, at: number) => Promise<void>,
): Promise<{ files: number; bytes: number }> {
  let bytes = 0
  const files = filesOf(disk)
  for (const [name, { length }] of files) {
    for (let at = 0; at < length; at += step) {
      disk.bytesOf(name)[at]! ^= 1 << (at % 8)
      await visit(name, at)
      disk.bytesOf(name)[at]! ^= 1 << (at % 8)
    }
    bytes += length
  }
  return { files: files.size, bytes }
}

t.test('P1 P3: any byte of any file of the checkpoints changed: the same state', async (t) => {
  const known = await smallStore()
  const { disk } = known
  t.ok(namesOf(disk, /\.wal$/)[0]! > `${dir}/0000000001.wal`, 'the log does not begin at 1')
  t.equal(namesOf(disk, /\.checkpoint$/).length, 2)
  let rebuilt = 0
  let starts = 0
  const { files, bytes } = await eachFlip(disk, async (name, at) => {
    try {
      rebuilt += await load(known, disk)
      if (at % 41 > 0) return
      const { journal } = await start(known, disk.copy())
      await journal.close()
      starts++
    } catch (error) {
      throw new Error(`${name} at ${at}`, { cause: error })
    }
  })
  t.ok(rebuilt > 1000 / step, `${rebuilt} pages were rebuilt`)
  t.pass(`${files} files, ${bytes} bytes: every ${step} changed, loaded; ${starts} whole starts`)
})

t.test('P1: the same without parity: many of the bytes make a start impossible', async (t) => {
  const known = await smallStore()
  const { disk } = known
  for (const name of namesOf(disk, /parity$/)) disk.erase(name)
  let refused = 0
  const { bytes } = await eachFlip(disk, async () => {
    await load(known, disk).catch(() => refused++)
  })
  t.ok(refused > 500 / step, `${refused} of ${bytes}`)
})

t.test('S1 S2: a bit flipped, scrubbed while serving: the files are as they were', async (t) => {
  const known = await smallStore()
  let mended = 0
  for (const [name, content] of filesOf(known.disk)) {
    if (name.endsWith('.checkpoint')) continue
    for (let at = 0; at < content.length; at += 61) {
      const disk = known.disk.copy()
      const folding = await start(known, disk)
      const wanted = filesOf(disk)
      disk.bytesOf(name)[at]! ^= 0x10
      const found = await scrub(folding, disk)
      mended += found.mended
      if (found.lost > 0) t.fail(`${name} at ${at}: lost`)
      for (const [other, bytes] of filesOf(disk)) {
        // Pages that no manifest names any more are not repaired, but are covered by new parity.
        const isNamed = found.mended > 0 || name.endsWith('.parity')
        if (isNamed && !bytes.equals(wanted.get(other)!)) t.fail(`${name} at ${at}: ${other}`)
      }
      t.same(await scrub(folding, disk), { mended: 0, lost: 0, newParity: 0 }, 'and good')
      await folding.journal.close()
    }
  }
  t.ok(mended > 50, `${mended} pages were repaired`)
})

t.test('P2: sectors that cannot be read: rebuilt by a start, written by the scrub', async (t) => {
  const known = await smallStore()
  for (const name of namesOf(known.disk, /\.(?:pages|parity)$/)) {
    const disk = known.disk.copy()
    disk.breakSectors(name, 0, disk.bytesOf(name).length)
    const folding = await start(known, disk)
    const rebuilt = folding.notices.filter(({ event }) => event === 'page_rebuilt')
    t.equal(rebuilt.length > 0, name.endsWith('.pages') && folding.checkpoints.rebuilt.length > 0)
    await scrub(folding, disk)
    await folding.journal.close()
    t.same((await start(known, disk)).checkpoints.rebuilt, [], `${name} can be read again`)
  }
})

t.test('P2: a page a little shorter than a piece, behind odd bytes: rebuilt', async (t) => {
  const disk = new SimulatedDisk(1)
  disk.makeDirectory(dir)
  const place = { disk, dir }
  const file = { storeId: '00'.repeat(16), number: 1 }
  const pages = [Buffer.alloc(100, 1), Buffer.alloc(pieceBytes - 50, 2)]
  const frozen = new Map(pages.map((page, i) => [`${i}`, frozenPage(page)]))
  const written = await replaceFileLater(disk, `${dir}/${pagesName(1)}`, (file1) =>
    replaceFileLater(disk, `${dir}/${parityName(1)}`, (parityFile) =>
      writePages(frozen, new Map(), { disk, file: file1, parityFile, ...file, pause: () => null }),
    ),
  )
  const offset = written.tables.get('1')!.offsets[0]!
  const name = `${dir}/${pagesName(1)}`
  disk.overwrite(name, Buffer.from(disk.bytesOf(name)).fill(0, offset))
  const sidecar = await Sidecar.open(place, { ...file, bytes: written.bytes })
  const rebuilt = await sidecar!.rebuild(offset, pages[1]!.length)
  sidecar!.close()
  t.ok(rebuilt?.bytes.subarray(offset - rebuilt.at).equals(pages[1]!))
})

function frozenPage(page: Buffer): FrozenStore {
  const store = { pageBytes: pieceBytes, frozen: () => page } as Partial<PagedStore> as PagedStore
  return { store, bytes: page.length, before: undefined }
}

t.test('P1: a page file is gone, or shorter: rebuilt, its parity is a mirror', async (t) => {
  const known = await smallStore()
  for (const name of namesOf(known.disk, /\.pages$/)) {
    const bytes = known.disk.bytesOf(name)
    for (const length of [-1, 0, 1, 300, bytes.length - 1]) {
      const disk = known.disk.copy()
      if (length === -1) disk.erase(name)
      else disk.overwrite(name, Buffer.from(bytes.subarray(0, length)))
      const folding = await start(known, disk)
      await scrub(folding, disk)
      t.equal(length === -1, !disk.contents().get(name)?.equals(bytes), 'as it was')
      await folding.journal.close()
    }
  }
})

t.test('S2: no parity, as an earlier build left it: started, written by the scrub', async (t) => {
  const known = await smallStore()
  const { disk } = known
  const wanted = filesOf(disk)
  for (const name of namesOf(disk, /parity$/)) disk.erase(name)
  const folding = await start(known, disk)
  const files = namesOf(disk, /pages$/).length
  t.same(await scrub(folding, disk), { mended: 0, lost: 0, newParity: files })
  t.same(filesOf(disk), wanted, 'the same parity as written with the pages')
  await folding.journal.close()
})

t.test('C3: pages damaged beyond parity: refused with 77, each is named', async (t) => {
  const { disk } = await smallStore()
  const [oldest] = namesOf(disk, /pages$/)
  const parity = oldest!.replace('pages', 'parity')
  // A page, the parity block that could rebuild it, and another page that the same block covers.
  for (const at of [10, 300]) disk.bytesOf(oldest!)[at]! ^= 1
  disk.bytesOf(parity)[100]! ^= 1
  const before = disk.contents()
  const number = oldest!.slice(-16)
  await t.rejects(startFolding(disk), {
    exitCode: 77,
    message: new RegExp(
      `${number} at offsets 0 and 256.*positions before \\d+ are missing.*restore a backup`,
    ),
  })
  const after = disk.contents()
  for (const files of [before, after]) files.delete(`${dir}/lock`)
  t.same([...after], [...before], 'nothing was changed')
})

t.test('S1: beyond parity, but in memory: the next checkpoint writes it again', async (t) => {
  const known = await smallStore()
  const { disk } = known
  const folding = await start(known, disk)
  const [oldest] = namesOf(disk, /pages$/)
  for (const name of [oldest!, oldest!.replace('pages', 'parity')]) disk.bytesOf(name)[100]! ^= 1
  const { kept } = folding.checkpoints
  const file = Number.parseInt(oldest!.slice(-16), 10)
  const options = { pause: () => null, pace: async () => {} }
  const { lost } = await scrubFile({ disk, dir }, kept, file, options)
  t.equal(lost.length, 1)
  folding.checkpoints.renew(lost, folding.fold.stores)
  await folding.take()
  await folding.journal.close()
  t.same((await start(known, disk)).checkpoints.bad, [])
})
