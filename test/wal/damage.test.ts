// Goal:   damage is distinguished from a torn tail, which a crash leaves. Damage is refused and no
//         file is changed; a torn tail loses only records that were never durable.
// Method: small logs on the simulated disk, cut at every length and changed at every byte, or at
//         every third (DAMAGE_STEP).

import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { JournalError } from '../../wal/errors.ts'
import { formatVersion } from '../../wal/journal/format.ts'
import { sizeOf } from '../depth.ts'
import { appendEach, dir, open, smallSegment, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

const first = `${dir}/0000000001.wal`
const second = `${dir}/0000000002.wal`
const third = `${dir}/0000000003.wal`

/** The step changes different bytes of each frame, because frames begin at multiples of 512. */
const step = sizeOf('DAMAGE_STEP')

/** Makes a log of `count` records of about `size` bytes, each in its own frame. */
async function logOf(count: number, size: number, sealed: boolean): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk(count)
  const { journal } = await open(disk)
  await appendEach(journal, recordsOf(count, size))
  await until(() => disk.pending === 0)
  if (!sealed) return disk.dieAlone()
  await journal.close()
  return disk
}

function recordsOf(count: number, size: number): string[] {
  return Array.from({ length: count }, (_, index) => `${index}`.padEnd(size, '.'))
}

async function outcome(disk: SimulatedDisk): Promise<{ records: unknown[]; error: unknown }> {
  try {
    const { journal, records } = await open(disk)
    await journal.close()
    return { records, error: null }
  } catch (error) {
    return { records: [], error }
  }
}

/** Returns all files except the lock, which a dead owner may have left. */
function logOn(disk: SimulatedDisk): Map<string, Buffer> {
  return new Map([...disk.contents()].filter(([name]) => name !== `${dir}/lock`))
}

function isDamage(error: unknown): boolean {
  return error instanceof JournalError && error.exitCode === 77
}

/** Checks that opening is refused with 77 and a useful message, and leaves every file unchanged. */
async function refused(t: Test, disk: SimulatedDisk, words: RegExp): Promise<void> {
  const before = logOn(disk)
  const { error } = await outcome(disk)
  t.ok(isDamage(error), String(error))
  t.match(String(error), words)
  t.match(
    String(error),
    /offset \d+, position \d+: .*restore a backup, or .*`agent-forum wal repair/,
  )
  t.notMatch(String(error), 'wal verify')
  t.same(logOn(disk), before)
}

for (const sealed of [true, false]) {
  const state = sealed ? 'closed' : 'unsealed'
  t.test(`J6: ${state} log: truncated at any length: a prefix comes back`, async (t) => {
    const disk = await logOf(6, 200, sealed)
    const whole = disk.bytesOf(first)
    const wanted = recordsOf(6, 200)
    let previous = 0
    for (let length = 512; length <= 5000; length += step) {
      const cut = disk.copy()
      cut.overwrite(first, whole.subarray(0, length))
      const { records, error } = await outcome(cut)
      if (error !== null) t.fail(`length ${length}: ${error}`)
      if (records.length < previous) t.fail(`length ${length}: fewer records than before`)
      previous = records.length
      if (records.some((record, index) => record !== wanted[index])) t.fail(`length ${length}`)
    }
    t.equal(previous, 6)
  })

  t.test(`J6: ${state} log: any byte flipped: same, torn, or refused untouched`, async (t) => {
    const disk = await logOf(6, 200, sealed)
    const counts = { same: 0, torn: 0, refused: 0 }
    for (let at = 0; at < 5000; at += step) {
      const flipped = disk.copy()
      flipped.bytesOf(first)[at]! ^= 1 << (at & 7)
      const before = logOn(flipped)
      const { records, error } = await outcome(flipped)
      if (isDamage(error)) {
        counts.refused++
        if (!same(before, logOn(flipped))) t.fail(`offset ${at}: a file was changed`)
      } else if (error !== null) t.fail(`offset ${at}: ${error}`)
      else if (records.length === 6) counts.same++
      else if (records.length === 5 && !sealed) counts.torn++
      else t.fail(`offset ${at}: ${records.length} records`)
    }
    t.ok(counts.refused > (5 * 200) / step)
    t.ok(counts.same > 500 / step)
    t.equal(counts.torn > 0, !sealed)
  })
}

function same(a: Map<string, Buffer>, b: Map<string, Buffer>): boolean {
  return a.size === b.size && [...a].every(([name, bytes]) => b.get(name)?.equals(bytes))
}

t.test('J6: closed log: last frame changed: refused, both crcs named', async (t) => {
  const disk = await logOf(3, 200, true)
  const bytes = disk.bytesOf(first)
  bytes[bytes.indexOf('2...')]! ^= 1
  await refused(t, disk, /0000000001\.wal is damaged .*the crc is [0-9a-f]{8} and should be/)
})

t.test('J6: unsealed log: torn last frame: kept aside, reported, and cut', async (t) => {
  const disk = await logOf(3, 200, false)
  const bytes = disk.bytesOf(first)
  const at = bytes.indexOf('2...')
  bytes[at]! ^= 1
  const torn = Buffer.from(bytes)
  const { journal, records, notices } = await open(disk)
  t.same(records, recordsOf(2, 200))
  const notice = notices.find(({ event }) => event === 'torn_tail_cut')
  t.match(notice, { segment: '0000000001.wal', keptAs: '0000000001.wal.torn', position: 2 })
  const kept = disk.bytesOf(`${dir}/0000000001.wal.torn`)
  t.ok(
    torn
      .subarray(notice!.offset as number)
      .subarray(0, kept.length)
      .equals(kept),
  )
  await appendEach(journal, ['after'])
  await journal.close()
  t.same((await outcome(disk)).records, [...recordsOf(2, 200), 'after'])
})

t.test('J7: a frame claims four gigabytes: a torn tail, no memory is allocated', async (t) => {
  const disk = await logOf(2, 200, false)
  const bytes = disk.bytesOf(first)
  const frameAt = bytes.indexOf('1...') & ~511
  bytes.writeUInt32LE(0xffffffff, frameAt + 8)
  t.same(await outcome(disk), { records: recordsOf(1, 200), error: null })
})

t.test('J6: three segments: one missing: refused, the gap is named', async (t) => {
  const disk = await logOf(60, 500, true)
  t.ok(logOn(disk).has(third))
  const gap = disk.copy()
  gap.erase(second)
  await refused(t, gap, /segment 2 is missing/)
  const headless = disk.copy()
  headless.erase(first)
  await refused(t, headless, /positions before \d+ are missing/)
})

t.test('J6: three segments: one duplicated or two swapped: refused', async (t) => {
  const disk = await logOf(60, 500, true)
  const doubled = disk.copy()
  doubled.overwrite(third, disk.bytesOf(second))
  await refused(t, doubled, /it is segment 2 under another name/)
  const swapped = disk.copy()
  swapped.overwrite(first, disk.bytesOf(second))
  swapped.overwrite(second, disk.bytesOf(first))
  await refused(t, swapped, /under another name/)
})

t.test('J6: a middle segment: shortened, emptied, or its header damaged: refused', async (t) => {
  const disk = await logOf(60, 500, true)
  const bytes = disk.bytesOf(second)
  for (const [what, changed] of Object.entries({
    short: bytes.subarray(0, 4096),
    empty: Buffer.alloc(0),
    zero: Buffer.alloc(bytes.length),
    header: Buffer.concat([Buffer.alloc(1), bytes.subarray(1)]),
  })) {
    const spoilt = disk.copy()
    spoilt.overwrite(second, changed)
    await refused(t, spoilt, /is damaged/)
    t.comment(what)
  }
})

t.test('J6: a segment of another store: refused, both stores named', async (t) => {
  const disk = await logOf(60, 500, true)
  const other = await logOf(60, 500, true)
  disk.overwrite(second, other.bytesOf(second))
  await refused(t, disk, /it belongs to store [0-9a-f]{32}, not [0-9a-f]{32}/)
})

/** Returns two copies of a log after which different records of the same length were appended. */
async function copiesThatDiffer() {
  const disk = await logOf(20, 500, true)
  const older = disk.copy()
  for (const [branch, word] of [
    [disk, 'one'],
    [older, 'two'],
  ] as const) {
    const { journal } = await open(branch)
    await appendEach(
      journal,
      recordsOf(40, 500).map((text) => word + text),
    )
    await journal.close()
  }
  return { disk, older }
}

t.test('J6: a segment of an older copy of the same store: refused', async (t) => {
  const { disk, older } = await copiesThatDiffer()
  disk.overwrite(third, older.bytesOf(third))
  await refused(t, disk, /is damaged/)
})

t.test('J6: a frame of an older copy of the same store, at its place: refused', async (t) => {
  const { disk, older } = await copiesThatDiffer()
  for (let at = 1024; at < smallSegment; at += 1024) {
    const mixed = disk.copy()
    older.bytesOf(third).copy(mixed.bytesOf(third), at, at, at + 1024)
    if (mixed.bytesOf(third).equals(disk.bytesOf(third))) continue
    await refused(t, mixed, /is damaged/)
  }
})

t.test('J6: the last segment with records is missing: refused, its spare is there', async (t) => {
  const disk = await logOf(20, 500, true)
  t.ok(disk.bytesOf(third).equals(Buffer.alloc(smallSegment)))
  disk.erase(second)
  await refused(t, disk, /segment 2 is missing/)
})

t.test('J6: bytes two segments beyond what was synced: refused', async (t) => {
  const disk = await logOf(3, 200, false)
  disk.overwrite(third, Buffer.alloc(smallSegment, 'noise'))
  await refused(t, disk, /bytes where no crash can leave any/)
})

t.test('J6: the first segment is all zeros: refused', async (t) => {
  const disk = await logOf(30, 500, true)
  disk.overwrite(first, Buffer.alloc(smallSegment))
  await refused(t, disk, /the header is not whole/)
})

for (const [what, step, remedy] of [
  ['a newer', 1, 'start the newer program'],
  ['an older', -1, 'a build before release 1.0 wrote it, and commit \\w+ is the last'],
] as const) {
  t.test(`${what} format version in any segment: exit 76, untouched`, async (t) => {
    const disk = await logOf(60, 500, true)
    const version = formatVersion + step
    withVersion(disk.bytesOf(second), version).copy(disk.bytesOf(second))
    const before = logOn(disk)
    const { error } = await outcome(disk)
    t.match(error, { exitCode: 76 })
    const finding = `0000000002\\.wal has format version ${version} and .* knows ${formatVersion}; `
    t.match(String(error), new RegExp(`${finding}nothing was changed, ${remedy}`))
    t.same(logOn(disk), before)
  })
}

// Every version keeps its number and its CRC at the same offsets.
function withVersion(segment: Buffer, version: number): Buffer {
  const header = Buffer.from(segment.subarray(0, 512))
  header.writeUInt32LE(version, 8)
  header.writeUInt32LE(crc32(header.subarray(0, 508)), 508)
  return header
}

t.test('from: the log ends below it: refused', async (t) => {
  const disk = await logOf(3, 100, true)
  await t.rejects(
    open(disk, { from: 4 }),
    /position 4: the log ends here, but was known to reach 4/,
  )
  const { journal, records } = await open(disk, { from: 3 })
  t.same(records, [])
  await journal.close()
})
