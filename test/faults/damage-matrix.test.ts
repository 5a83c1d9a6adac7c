// Goal:   whatever happens to the files of a store, a start either recovers exactly the same state,
//         or cuts a torn tail and keeps its bytes, or refuses with exit code 76 or 77 and one
//         sentence, and changes no file. It never recovers a wrong state and never fails with a
//         stack trace.
// Method: small forums on a disk in memory (closed, killed, or with checkpoints). Each of their
//         files is flipped, cut, removed, duplicated, swapped, replaced by one of another store, or
//         given a newer version, one at a time; its sectors have the bytes of another place, or
//         those that they had before. The hash of each resulting state is compared with the hashes
//         to which the prefixes of the log fold. DAMAGE_STRIDE=1 node
//         dist/test/faults/damage-matrix.test.js damages every byte.

import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { crcOf } from '../../wal/checkpoint/manifest.ts'
import { JournalError } from '../../wal/errors.ts'
import { sizeOf, timeoutMs } from '../depth.ts'
import type { SimulatedDisk } from '../wal/simulated-disk.ts'
import { dir, grownStore, hashesByPosition, smallStore, start } from './damaged-store.ts'

const stride = sizeOf('DAMAGE_STRIDE')
const all = { timeout: timeoutMs }
t.setTimeout(timeoutMs)
const hashes = hashesByPosition()
const last = hashes.length - 1

interface Kind {
  name: string
  make(seed: number): Promise<SimulatedDisk>
  /** The lowest position at which a start without an error may end. */
  positionMin: number
}

const kinds: Kind[] = [
  { name: 'closed', make: (seed) => smallStore({ seed, sealed: true }), positionMin: last },
  { name: 'killed', make: (seed) => smallStore({ seed, sealed: false }), positionMin: last - 1 },
  {
    name: 'with checkpoints',
    make: (seed) => smallStore({ seed, sealed: true, checkpointsAt: [20, 40, 50] }),
    positionMin: last,
  },
]

type Verdict = 'same' | 'torn' | 'refused' | 'newer'

function filesOf(disk: SimulatedDisk): Map<string, Buffer> {
  const ours = [...disk.contents()].filter(([name]) =>
    /\.(?:wal|pages|parity|checkpoint)$/.test(name),
  )
  return new Map(ours.sort())
}

/** Starts on a damaged store. Throws unless the outcome is one of the four verdicts. */
async function judge(disk: SimulatedDisk, positionMin: number): Promise<Verdict> {
  const before = disk.contents()
  const { hash, position, error, notices } = await start(disk)
  if (error !== null) {
    if (!(error instanceof JournalError)) throw error
    const { exitCode, message } = error
    if (exitCode !== 76 && exitCode !== 77) throw new Error(`exit code ${exitCode}: ${message}`)
    if (/\n/.test(message) || message.length < 40) throw new Error(`not one sentence: ${message}`)
    const after = disk.contents()
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const same = before.get(name)?.equals(after.get(name) ?? Buffer.alloc(0)) ?? false
      if (!same && !name.endsWith('/lock')) throw new Error(`${name} was changed`)
    }
    return exitCode === 76 ? 'newer' : 'refused'
  }
  if (hash !== hashes[position]) throw new Error(`another state at position ${position}`)
  if (position < positionMin) throw new Error(`nothing is left behind position ${position}`)
  const cut = notices.filter(({ event }) => event === 'torn_tail_cut')
  for (const { segment, offset, keptAs } of cut) {
    const kept = disk.bytesOf(`${dir}/${keptAs}`)
    const torn = before.get(`${dir}/${segment}`)!.subarray(Number(offset))
    if (!torn.subarray(0, kept.length).equals(kept)) throw new Error('other bytes were kept')
  }
  if (position < last && cut.length === 0 && positionMin > 0)
    throw new Error('cut without a notice')
  return position === last ? 'same' : 'torn'
}

/** Applies each kind of damage to a copy of the store, and counts the verdicts. */
async function outcomes(
  t: Test,
  store: SimulatedDisk,
  positionMin: number,
  damages: Iterable<[what: string, spoil: (disk: SimulatedDisk) => void]>,
): Promise<Record<Verdict, number>> {
  const counts = { same: 0, torn: 0, refused: 0, newer: 0 }
  for (const [what, spoil] of damages) {
    const spoilt = store.copy()
    spoil(spoilt)
    try {
      counts[await judge(spoilt, positionMin)]++
    } catch (error) {
      t.fail(`${what}: ${error}`)
    }
  }
  t.comment(JSON.stringify(counts))
  return counts
}

/** Yields offsets across a file, which are closer together in its header. */
function* offsets(size: number): Iterable<number> {
  const step = Math.min(stride, 13)
  for (let at = 0; at < Math.min(64, size); at += step) yield at
  for (let at = 64; at < size; at += stride) yield at
}

/** Returns the offset of the newest record, if the file contains it. */
function newest(disk: SimulatedDisk, name: string): number[] {
  const at = disk.bytesOf(name).indexOf(`message ${last} `)
  return at === -1 ? [] : [at]
}

for (const { name: kind, make, positionMin } of kinds) {
  t.test(`store, ${kind}: a byte flipped anywhere: same, torn or refused`, all, async (t) => {
    const store = await make(1)
    t.equal(await judge(store.copy(), positionMin), 'same', 'undamaged')
    const damages = [...filesOf(store)].flatMap(([name, { length }]) =>
      [...offsets(length), ...newest(store, name)].map(
        (at): [string, (disk: SimulatedDisk) => void] => [
          `${name} at ${at}`,
          (disk) => {
            disk.bytesOf(name)[at]! ^= 1 << (at & 7)
          },
        ],
      ),
    )
    const counts = await outcomes(t, store, positionMin, damages)
    t.ok(counts.same > 0)
    t.ok(counts.refused > 0)
    t.equal(counts.torn > 0, kind === 'killed')
  })

  t.test(`store, ${kind}: any file cut at any length: a prefix, or refused`, all, async (t) => {
    const store = await make(2)
    const damages = [...filesOf(store)].flatMap(([name, bytes]) =>
      [...offsets(bytes.length)].map((length): [string, (disk: SimulatedDisk) => void] => [
        `${name} cut to ${length}`,
        (disk) => disk.overwrite(name, bytes.subarray(0, length)),
      ]),
    )
    await outcomes(t, store, 0, damages)
  })

  t.test(
    `store, ${kind}: files removed, duplicated, swapped, of another store: same or refused`,
    all,
    async (t) => {
      const store = await make(3)
      const foreign = filesOf(await make(4))
      const counts = await outcomes(t, store, positionMin, mixUps(filesOf(store), foreign))
      t.ok(counts.refused > 3)
    },
  )

  t.test(`store, ${kind}: sectors misdirected or lost: same, torn or refused`, all, async (t) => {
    const store = await make(6)
    // Two frames may share a sector, and neither of the last two proves that the other was there.
    const least = kind === 'killed' ? last - 2 : positionMin
    const counts = await outcomes(t, store, least, misdirections(filesOf(store)))
    t.ok(counts.same > 0)
    t.ok(counts.refused > 0)
  })

  t.test(`store, ${kind}: any file of a newer version: refused with 76, untouched`, async (t) => {
    const store = await make(5)
    const versioned = [...filesOf(store)].filter(
      ([name, bytes]) => !/\.(?:pages|parity)$/.test(name) && bytes[0] !== 0,
    )
    for (const [name] of versioned) {
      const newer = store.copy()
      raiseVersion(newer.bytesOf(name), name.endsWith('.wal'))
      t.equal(await judge(newer, positionMin), 'newer', name)
    }
  })
}

t.test('store, forked: sectors of the other history: the same, or refused', all, async (t) => {
  const begun = await smallStore({ seed: 7, sealed: true, to: 40 })
  const store = await grownStore(begun.copy(), { sealed: true })
  const other = filesOf(await grownStore(begun.copy(), { sealed: true }, 'another'))
  t.equal(await judge(store.copy(), last), 'same', 'undamaged')
  const counts = await outcomes(t, store, last, exchanged(filesOf(store), other))
  t.ok(counts.refused > 20)
  t.equal(counts.torn, 0)
})

const sectorBytes = 512

/** Yields the sectors of these files that are damaged, by the name of the file and the offset. */
function* sectorsOf(files: Map<string, Buffer>): Iterable<[name: string, at: number]> {
  const every = Math.ceil(stride / 1000)
  for (const [name, { length }] of files) {
    for (let at = 0; at < length; at += every * sectorBytes) yield [name, at]
  }
}

/** Yields the ways in which a write reaches another sector, or none, or a read does. */
function* misdirections(
  files: Map<string, Buffer>,
): Iterable<[string, (disk: SimulatedDisk) => void]> {
  const names = [...files.keys()]
  for (const [name, at] of sectorsOf(files)) {
    const sector = files.get(name)!.subarray(at, at + sectorBytes)
    const write = (disk: SimulatedDisk, bytes: Buffer, to = name, offset = at) => {
      bytes.copy(disk.bytesOf(to), offset)
    }
    const nothing = Buffer.alloc(sector.length)
    const [next, elsewhere] = [at + sectorBytes, names[(names.indexOf(name) + 1) % names.length]!]
    yield [`${name} at ${at}: not written`, (disk) => write(disk, nothing)]
    yield [
      `${name} at ${at}: written one sector further`,
      (disk) => {
        write(disk, nothing)
        write(disk, sector, name, next)
      },
    ]
    yield [
      `${name} at ${at}: written to ${elsewhere} too`,
      (disk) => write(disk, sector, elsewhere),
    ]
    const read = files.get(elsewhere)!.subarray(at, at + sector.length)
    yield [`${name} at ${at}: read from ${elsewhere}`, (disk) => write(disk, read)]
  }
}

/** Yields the runs of sectors in which two histories differ, with the bytes of the other one. */
function* exchanged(
  files: Map<string, Buffer>,
  other: Map<string, Buffer>,
): Iterable<[string, (disk: SimulatedDisk) => void]> {
  for (const [name, bytes] of files) {
    for (let at = 0; at < bytes.length; at += sectorBytes) {
      for (const sectors of [1, 3, 6]) {
        const to = at + sectors * sectorBytes
        const run = other.get(name)!.subarray(at, to)
        if (run.equals(bytes.subarray(at, to))) continue
        yield [`${name} from ${at} to ${to}`, (disk) => void run.copy(disk.bytesOf(name), at)]
      }
    }
  }
}

/** Yields every way in which whole files can be lost, emptied, duplicated or exchanged. */
function* mixUps(
  files: Map<string, Buffer>,
  foreign: Map<string, Buffer>,
): Iterable<[string, (disk: SimulatedDisk) => void]> {
  const names = [...files.keys()]
  for (const [index, name] of names.entries()) {
    const bytes = files.get(name)!
    yield [`${name} removed`, (disk) => disk.erase(name)]
    yield [`${name} emptied`, (disk) => disk.overwrite(name, Buffer.alloc(0))]
    yield [`${name} all zeros`, (disk) => disk.overwrite(name, Buffer.alloc(bytes.length))]
    const doubled = name.replace(/\d{10}/, '0000000009')
    yield [`${name} duplicated`, (disk) => disk.overwrite(doubled, bytes)]
    const other = foreign.get(name)
    if (other !== undefined)
      yield [`${name} of another store`, (disk) => disk.overwrite(name, other)]
    for (const next of names.slice(index + 1)) {
      yield [
        `${name} and ${next} swapped`,
        (disk) => {
          disk.overwrite(name, files.get(next)!)
          disk.overwrite(next, bytes)
        },
      ]
    }
  }
}

/** Raises the version of a file. Every version keeps its number and its CRC at the same offsets. */
function raiseVersion(bytes: Buffer, isSegment: boolean): void {
  bytes.writeUInt32LE(bytes.readUInt32LE(8) + 1, 8)
  if (isSegment) bytes.writeUInt32LE(crc32(bytes.subarray(0, 508)), 508)
  else bytes.writeUInt32LE(crcOf(bytes), 12)
}
