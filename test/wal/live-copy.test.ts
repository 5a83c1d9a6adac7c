// Goal:   a copy of a log that is being written is a prefix of the log, with everything that was
//         synced when the copy began. Damage is not mistaken for a frame in flight.
// Method: the simulated disk answers one read of a segment, partly or completely, with its bytes
//         from some frames earlier, as may happen to reads that are concurrent with writes.

import t from 'tap'
import type { Disk } from '../../wal/disk.ts'
import { copyLiveLog } from '../../wal/tools/live-copy.ts'
import { appendEach, dir, open, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

const to = '/copy'
const first = `${dir}/0000000001.wal`
const second = `${dir}/0000000002.wal`

const recordsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index}`.padEnd(600, '.'))

/** Returns a node that has written `count` records and is still running. */
async function runningNode(count: number) {
  const disk = new SimulatedDisk(count)
  disk.makeDirectory(to)
  const { journal } = await open(disk)
  await appendEach(journal, recordsOf(count))
  await until(() => disk.pending === 0)
  return { disk, journal }
}

/** The disk, except that the first read of the whole file `name` returns `bytes`. */
function showingOnce(disk: SimulatedDisk, name: string, bytes: Buffer): Disk {
  const names = new Map<number, string>()
  let shown = false
  return Object.assign(Object.create(disk), {
    list: (path: string) => disk.list(path),
    size: (file: number) => disk.size(file),
    write: (file: number, part: Uint8Array, at: number) => disk.write(file, part, at),
    sync: (file: number) => disk.sync(file),
    close: (file: number) => disk.close(file),
    open(path: string, how: 'read') {
      const file = disk.open(path, how)
      names.set(file, path)
      return file
    },
    read(file: number, into: Uint8Array, at: number) {
      if (shown || names.get(file) !== name || into.length <= 512) return disk.read(file, into, at)
      shown = true
      into.set(bytes.subarray(at, at + into.length))
      return Math.min(bytes.length - at, into.length)
    },
  }) as Disk
}

/** Returns the records that a node replays when it starts on the copy. */
async function restored(disk: SimulatedDisk): Promise<unknown[]> {
  const { journal, records } = await open(disk, { dir: to })
  await journal.close()
  return records
}

const copy = (disk: Disk) => copyLiveLog({ disk, dir, to, from: 0 })

t.test('live copy: several segments, still open: every record, and nothing changed', async (t) => {
  const { disk, journal } = await runningNode(60)
  const before = disk.contents()
  t.equal(copy(disk), 60)
  for (const [name, bytes] of before) t.ok(disk.bytesOf(name).equals(bytes), name)
  t.same(await restored(disk), recordsOf(60))
  await journal.close()
})

t.test('live copy: a frame not seen, a later one seen: read again, both are there', async (t) => {
  const { disk, journal } = await runningNode(6)
  const earlier = Buffer.from(disk.bytesOf(first))
  const frame = earlier.indexOf('3...') & ~511
  earlier.fill(0, frame, frame + 512)
  t.equal(copy(showingOnce(disk, first, earlier)), 6)
  t.same(await restored(disk), recordsOf(6))
  await journal.close()
})

t.test('live copy: the next segment begins meanwhile: no record is left out', async (t) => {
  const { disk, journal } = await runningNode(40)
  const earlier = Buffer.from(disk.bytesOf(first))
  earlier.fill(0, 4096)
  t.equal(copy(showingOnce(disk, first, earlier)), 40)
  t.same(await restored(disk), recordsOf(40))
  await journal.close()
})

t.test('live copy: a frame in flight at the end: the copy ends before it, sealed', async (t) => {
  const { disk, journal } = await runningNode(6)
  const bytes = disk.bytesOf(first)
  bytes.fill(7, bytes.indexOf('5...') + 100)
  t.equal(copy(disk), 5)
  const { journal: copied, records, notices } = await open(disk, { dir: to })
  t.same(records, recordsOf(5))
  t.same(notices, [], 'it continues where the copy ends')
  await copied.close()
  await journal.close()
})

t.test('live copy: synced bytes have changed: refused as damage, not cut', async (t) => {
  for (const [segment, record] of [
    [first, '2...'],
    [second, '20..'],
    [`${dir}/0000000003.wal`, '35..'],
  ] as const) {
    const { disk, journal } = await runningNode(40)
    const bytes = disk.bytesOf(segment)
    bytes[bytes.indexOf(record)]! ^= 1
    t.throws(() => copy(disk), { exitCode: 77, message: /the crc is .* and should be/ })
    await journal.close()
  }
  const { disk, journal } = await runningNode(40)
  disk.bytesOf(second)[20]! ^= 1
  t.throws(() => copy(disk), { exitCode: 77, message: /header/ })
  await journal.close()
})

t.test('live copy: from a position: segments that end before it are left out', async (t) => {
  const { disk, journal } = await runningNode(60)
  t.equal(copyLiveLog({ disk, dir, to, from: 40 }), 60)
  const { journal: copied, positions } = await open(disk, { dir: to, from: 40 })
  t.same(
    positions,
    [...Array(20).keys()].map((n) => 41 + n),
  )
  t.notOk(disk.list(to).includes('0000000001.wal'))
  await copied.close()
  await journal.close()
})
