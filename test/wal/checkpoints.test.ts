// Starts with checkpoints that are undamaged, damaged, missing, newer or of another store, and the
// files that remain when a checkpoint has been taken. C1 to C4 are invariants of
// wal/checkpoint/checkpoints.ts.

import t, { type Test } from 'tap'
import { readManifest } from '../../wal/checkpoint/checkpoint-files.ts'
import { checkpointVersion, crcOf, encodeManifest } from '../../wal/checkpoint/manifest.ts'
import { type JournalError, versionError } from '../../wal/errors.ts'
import { type Folding, type Row, startFolding } from './fold.ts'
import { until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

const first = '0000000001'
const second = '0000000002'

interface Known {
  disk: SimulatedDisk
  log: Row[]
  /** The positions of the checkpoints. */
  taken: number[]
}

async function append({ append, journal }: Folding, log: Row[], count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await until(() => journal.health === 'ok')
    const value = log.length + 0.5
    log.push({ value, text: '' })
    append(value, 100)
  }
  await until(() => journal.durable === log.length)
}

/** Makes a closed store with a log and checkpoints. */
async function aStore(records: number[], length = 100): Promise<Known> {
  const disk = new SimulatedDisk(length)
  const folding = await startFolding(disk)
  const log: Row[] = []
  const taken: number[] = []
  for (const [i, count] of records.entries()) {
    await append(folding, log, count)
    if (i + 1 < records.length) taken.push((await folding.take()).position)
  }
  await folding.journal.close()
  return { disk, log, taken }
}

function namesOf(disk: SimulatedDisk, pattern: RegExp): string[] {
  return disk
    .list('/data')
    .filter((name) => pattern.test(name))
    .sort()
}

/** Starts on the disk, checks that the state holds the whole log, and closes the journal. */
async function start({ disk, log }: Known): Promise<Folding> {
  const folding = await startFolding(disk)
  folding.fold.compare(log)
  await folding.journal.close()
  return folding
}

async function refused(t: Test, disk: SimulatedDisk, exitCode: number, message: RegExp) {
  const before = disk.contents()
  await t.rejects(startFolding(disk), { exitCode, message })
  const after = disk.contents()
  after.delete('/data/lock')
  before.delete('/data/lock')
  t.same([...after], [...before], 'C3: no file was changed')
}

t.test('checkpoints: two of them: started: the newest, and the log behind it', async (t) => {
  const known = await aStore([30, 20, 10])
  t.same(known.taken, [30, 50])
  const { from, journal, notices } = await start(known)
  t.equal(from, 50)
  t.equal(journal.position, 60)
  t.notOk(notices.some(({ event }) => event === 'checkpoint_put_aside'))
})

t.test('checkpoints: little changed since the last: only changed pages are written', async (t) => {
  const folding = await startFolding(new SimulatedDisk(1))
  const log: Row[] = []
  await append(folding, log, 1000)
  const whole = await folding.take()
  t.equal(whole.bytes, 1000 * 8 + 100 * 8)
  await append(folding, log, 1)
  // The last page of the values, and one of the four pages of the busy numbers.
  t.equal((await folding.take()).bytes, ((1001 * 8) % 256) + 256)
  await folding.journal.close()
})

t.test('C1: its records are not synced yet: it is not named before they are', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal, checkpoints, fold, append } = await startFolding(disk)
  const position = append(0.5)
  let finishSync = () => {}
  const syncing = new Promise<void>((begun) => {
    const sync = () => {
      begun()
      return new Promise<void>((synced) => {
        finishSync = synced
      })
    }
    const { stores } = fold
    const log = { storeId: journal.storeId, position, sync, dropBefore: async () => {} }
    const source = { journal: log, facts: () => fold.facts, stores, rows: new Map() }
    checkpoints.take({ ...source, pause: () => null }).then(() => begun())
  })
  await syncing
  t.same(namesOf(disk, /checkpoint/), [])
  finishSync()
  await until(() => namesOf(disk, /checkpoint$/).length === 1)
  await journal.close()
})

t.test('C2: four taken: only the log before the older of two is gone', async (t) => {
  const known = await aStore([150, 150, 150, 150, 5])
  const { disk } = known
  t.same(namesOf(disk, /checkpoint/), ['0000000003.checkpoint', '0000000004.checkpoint'])
  const segments = namesOf(disk, /\.wal$/)
  t.ok(segments[0]! > '0000000001.wal', segments.join(' '))
  t.equal((await start(known)).from, 600)
  disk.erase('/data/0000000004.checkpoint')
  t.equal((await start(known)).from, 450, 'the older one, with the log behind it')
})

t.test('checkpoints: old ones are removed: files of others with such endings stay', async (t) => {
  const known = await aStore([10, 5, 5])
  const { disk } = known
  const others = ['notes.pages', '1.checkpoint', '0000000000.parity', 'copy-0000000001.pages']
  for (const name of others) disk.overwrite(`/data/${name}`, Buffer.from('of somebody else'))
  const folding = await startFolding(disk)
  for (let n = 0; n < 3; n++) {
    await append(folding, known.log, 1)
    await folding.take()
  }
  await folding.journal.close()
  t.same(namesOf(disk, /checkpoint$/).length, 3, 'of the node, the two newest are left')
  for (const name of others) t.equal(`${disk.bytesOf(`/data/${name}`)}`, 'of somebody else')
})

t.test('C3: any byte of the newest manifest flipped: the older one takes over', async (t) => {
  const known = await aStore([20, 5, 5])
  const name = `/data/${second}.checkpoint`
  const bytes = known.disk.bytesOf(name)
  for (let at = 0; at < bytes.length; at++) {
    const disk = known.disk.copy()
    const flipped = Buffer.from(bytes)
    flipped[at]! ^= 1 << (at % 8)
    disk.overwrite(name, flipped)
    const { from, notices } = await start({ ...known, disk })
    if (from !== 20) t.fail(`byte ${at}: began at ${from}`)
    if (!notices.some(({ event }) => event === 'checkpoint_put_aside')) t.fail(`byte ${at}: silent`)
    if (!disk.list('/data').includes(`${second}.checkpoint.void`)) t.fail(`byte ${at}: not aside`)
  }
  t.pass(`${bytes.length} bytes`)
})

/** Removes all parity, as if an earlier version of the program had written the checkpoints. */
function eraseParity(disk: SimulatedDisk): void {
  for (const name of namesOf(disk, /parity$/)) disk.erase(`/data/${name}`)
}

t.test(
  'C3: no parity, any byte of any page flipped: the same state from what is good',
  async (t) => {
    const known = await aStore([20, 5, 5])
    eraseParity(known.disk)
    const met = new Set<number>()
    for (const number of [first, second]) {
      const name = `/data/${number}.pages`
      const bytes = known.disk.bytesOf(name)
      for (let at = 0; at < bytes.length; at += 3) {
        const disk = known.disk.copy()
        const flipped = Buffer.from(bytes)
        flipped[at]! ^= 0x80
        disk.overwrite(name, flipped)
        const { from } = await start({ ...known, disk })
        if (number === second && from !== 20) t.fail(`byte ${at}: began at ${from}`)
        met.add(from)
      }
    }
    t.same([...met].sort(), [0, 20, 25], 'a page of both, of the newest, of the older one only')
  },
)

t.test('C3: manifest or pages cut short, no parity: the same state', async (t) => {
  const known = await aStore([20, 5, 5])
  eraseParity(known.disk)
  for (const name of [`/data/${second}.checkpoint`, `/data/${second}.pages`]) {
    const bytes = known.disk.bytesOf(name)
    for (let length = 0; length < bytes.length; length += 7) {
      const disk = known.disk.copy()
      disk.overwrite(name, Buffer.from(bytes.subarray(0, length)))
      const { from } = await start({ ...known, disk })
      if (from !== 20) t.fail(`${name} of ${length} bytes: began at ${from}`)
    }
    const disk = known.disk.copy()
    disk.erase(name)
    t.equal((await start({ ...known, disk })).from, 20, `${name} is gone`)
  }
})

t.test('checkpoints: both bad, the log reaches back to 1: all of it is replayed', async (t) => {
  const known = await aStore([20, 5, 5])
  for (const number of [first, second]) {
    known.disk.overwrite(`/data/${number}.checkpoint`, Buffer.from('bad'))
  }
  const { from, checkpoints } = await start(known)
  t.equal(from, 0)
  t.equal(checkpoints.bad.length, 2)
  t.equal((await start(known)).checkpoints.bad.length, 0, 'the bad ones were put aside')
})

t.test('C3: both bad, the log was cut: refused with 77, and nothing is changed', async (t) => {
  const { disk } = await aStore([150, 150, 150, 5])
  for (const name of namesOf(disk, /checkpoint$/)) {
    disk.overwrite(`/data/${name}`, Buffer.from('bad'))
  }
  await refused(
    t,
    disk,
    77,
    /00000000\d\d\.checkpoint: it is not a manifest.*positions before \d+ are missing/,
  )
})

t.test('checkpoints: the log is gone, or ends before them: refused with 77', async (t) => {
  const { disk } = await aStore([20, 5, 5])
  const shorter = disk.copy()
  for (const name of namesOf(disk, /\.wal$/)) disk.erase(`/data/${name}`)
  await refused(t, disk, 77, /has no log.*reach position 25/)

  const empty = await aStore([3])
  for (const name of namesOf(shorter, /\.wal$/)) shorter.erase(`/data/${name}`)
  for (const name of namesOf(empty.disk, /\.wal$/)) {
    shorter.overwrite(`/data/${name}`, empty.disk.bytesOf(`/data/${name}`))
  }
  await refused(t, shorter, 77, /belongs to store/)
})

for (const version of [checkpointVersion - 1, checkpointVersion + 1]) {
  t.test(`checkpoints: version ${version}: refused with 76, nothing is changed`, async (t) => {
    const { disk } = await aStore([20, 5, 5])
    const name = `/data/${second}.checkpoint`
    const bytes = Buffer.from(disk.bytesOf(name))
    bytes.writeUInt32LE(version, 8)
    bytes.writeUInt32LE(crcOf(bytes), 12)
    disk.overwrite(name, bytes)
    await refused(t, disk, 76, new RegExp(`format version ${version} and`))
  })
}

t.test('checkpoints: of another form of state: refused with 76, unchanged', async (t) => {
  const { disk } = await aStore([20, 5, 5])
  const manifest = readManifest({ disk, dir: '/data' }, Number(second))
  if (manifest.kind !== 'good') throw new Error(manifest.kind)
  const { stateVersion } = manifest.manifest
  for (const other of [stateVersion - 1, stateVersion + 1]) {
    const bytes = encodeManifest({ ...manifest.manifest, stateVersion: other })
    disk.overwrite(`/data/${second}.checkpoint`, bytes)
    await refused(t, disk, 76, new RegExp(`format version ${other} and`))
  }
})

t.test('checkpoints: of an older version: the last commit that reads it is named', async (t) => {
  const commits = ['0a1fa4a2', '5294896c', '6bd589d5']
  for (const [i, commit] of commits.entries()) {
    t.match(versionError('file', i + 1, 4, 'state').message, `commit ${commit} is the last`)
  }
})

t.test('C4: incomplete files after a crash: removed by the next start', async (t) => {
  const known = await aStore([20, 5])
  for (const name of ['0000000009.pages.tmp', '0000000009.checkpoint.tmp']) {
    known.disk.overwrite(`/data/${name}`, Buffer.from('half'))
  }
  await start(known)
  t.same(namesOf(known.disk, /tmp$/), [])
})

t.test('C4: the disk is full while one is taken: it is abandoned, the log goes on', async (t) => {
  const disk = new SimulatedDisk(1)
  const folding = await startFolding(disk)
  const log: Row[] = []
  await append(folding, log, 300)
  await until(() => disk.pending === 0)
  const before = namesOf(disk, /./)
  // Pages take about 3,200 bytes, their parity as many again, and the manifest the rest.
  for (const room of [0, 100, 2000, 3400, 5000, 6700]) {
    let used = 0
    for (const bytes of disk.contents().values()) used += bytes.length
    disk.capacityBytes = used + room
    await t.rejects(folding.take(), { exitCode: 74, message: /ENOSPC/ }, `${room} bytes are left`)
    t.same(namesOf(disk, /./), before, 'no file of it is left')
    t.equal(folding.journal.health, 'ok')
    await append(folding, log, 1)
  }
  disk.capacityBytes = Number.POSITIVE_INFINITY
  t.equal((await folding.take()).position, 306)
  await folding.journal.close()
  t.equal((await start({ disk, log, taken: [] })).from, 306)
})

t.test('C4: a sync fails while one is taken: it is abandoned, the next is complete', async (t) => {
  for (let nth = 1; nth <= 5; nth++) {
    const disk = new SimulatedDisk(nth)
    const folding = await startFolding(disk)
    const log: Row[] = []
    await append(folding, log, 50)
    await until(() => disk.pending === 0)
    disk.failSync(nth)
    const failed = await folding.take().then(
      () => null,
      (error: JournalError) => error.exitCode,
    )
    if (folding.journal.health !== 'ok') continue
    if (nth < 4) t.equal(failed, 74, `sync ${nth}`)
    disk.failSync(Number.POSITIVE_INFINITY)
    await folding.take()
    await folding.journal.close()
    t.equal((await start({ disk, log, taken: [] })).from, 50)
    t.same(namesOf(disk, /tmp$/), [])
  }
})

t.test('checkpoints: pages change again and again: files mostly dead are emptied', async (t) => {
  const disk = new SimulatedDisk(1)
  const folding = await startFolding(disk)
  const log: Row[] = []
  await append(folding, log, 200)
  for (let n = 0; n < 12; n++) {
    await append(folding, log, 40)
    await folding.take()
  }
  const files = namesOf(disk, /pages$/)
  let bytes = 0
  for (const name of files) bytes += disk.bytesOf(`/data/${name}`).length
  const held = folding.fold.values.bytes.length + folding.fold.busy.bytes.length
  t.ok(bytes < 4 * held, `${bytes} bytes in ${files.length} files for ${held}`)
  await folding.journal.close()
  t.equal((await start({ disk, log, taken: [] })).from, 680)
})
