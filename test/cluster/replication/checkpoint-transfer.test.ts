// Goal:   a checkpoint beside the stream is downloaded as it was uploaded, whatever the length of
//         the pieces and the release that uploaded it; no note can cause other files to be written.
// Method: a stream in memory, and checkpoints of a node on the real disk.

import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type CheckpointNote,
  fetchCheckpoint,
  isWhole,
  uploadCheckpoint,
  uploadedCheckpoint,
} from '../../../src/cluster/replication/checkpoint-transfer.ts'
import { StreamUnavailable } from '../../../src/cluster/replication/log-stream.ts'
import { realDisk } from '../../../wal/disk.ts'
import { LeadingNode, newDirectory } from './leading-node.ts'
import { MemoryStream } from './memory-stream.ts'

/** Opens a node with a checkpoint, and a stream beside which the node uploads it. */
async function scene(t: Test) {
  const stream = new MemoryStream()
  const node = await new LeadingNode(newDirectory(t)).open()
  t.teardown(() => node.close())
  await node.write('a text'.repeat(1_000))
  await node.checkpoints.take()
  const { directory, newest: manifest } = node.checkpoints
  const isStopped = () => false
  const upload = () => uploadCheckpoint(stream, directory, { node: 'a', manifest, isStopped })
  /** Downloads the checkpoint. Returns the names of the files that equal the originals. */
  const download = async () => {
    const dir = newDirectory(t)
    await fetchCheckpoint(stream, { disk: realDisk, dir }, node.journal.storeId)
    return readdirSync(dir).filter((name) => {
      return readFileSync(join(dir, name)).equals(readFileSync(join(node.dir, name)))
    })
  }
  return { stream, node, upload, download }
}

t.test('X1: the servers take shorter or longer pieces: all are uploaded anew', async (t) => {
  const { stream, node, upload, download } = await scene(t)
  for (const bytes of [2_000, 700, 2_000]) {
    stream.messageBytesMax = bytes
    t.ok(await upload())
    const note = (await uploadedCheckpoint(stream))!
    t.ok(await isWhole(stream, note))
    const files = note.files.map(({ name }) => name).sort()
    t.ok(files.includes('0000000001.pages'))
    t.same((await download()).sort(), files, `pieces of ${bytes}`)
    const pieces = note.files.map((file) => Math.ceil(file.bytes / bytes))
    const count = pieces.reduce((sum, each) => sum + each)
    t.equal(stream.objects.objects.size, count, 'none of another length stays')
    stream.objects.objects.delete([...stream.objects.objects.keys()].at(-2)!)
    t.notOk(await isWhole(stream, note))
  }
  t.equal(node.checkpoints.newest.number, 1)
})

t.test('X2: its note is not written: the objects of the checkpoint before stay', async (t) => {
  const { stream, upload } = await scene(t)
  await upload()
  const before = (await uploadedCheckpoint(stream))!
  stream.messageBytesMax = 700
  const { notes } = stream
  const write = notes.write.bind(notes)
  notes.write = async () => {
    throw new StreamUnavailable('the servers are gone')
  }
  await t.rejects(upload(), { message: 'the servers are gone' })
  t.ok(await isWhole(stream, before))
  notes.write = async (...own) => {
    await write('checkpoint', before) // by another node, meanwhile
    return write(...own)
  }
  t.notOk(await upload())
  t.ok(await isWhole(stream, before))
})

/** Returns a forgery of the note that gives its first file another name. */
function renamed(name: string) {
  return ({ files: [file, ...rest] }: CheckpointNote) => ({ files: [{ ...file, name }, ...rest] })
}

const outside = ['../outside.pages', '/tmp/outside.pages', '0000000001.pages/../../outside']
const others = ['secret', '', '0000000001.wal', '1.pages', '0000000001.pages.void']
const forgeries: (readonly [string, (note: CheckpointNote) => object])[] = [
  ...[...outside, ...others].map((name) => [`names "${name}"`, renamed(name)] as const),
  ['has no files', () => ({ files: null })],
  ['has pieces of no length', () => ({ pieceBytes: 0 })],
]

for (const [what, forge] of forgeries) {
  t.test(`X4: the note ${what}: refused with 76, nothing is written`, async (t) => {
    const { stream, node, upload } = await scene(t)
    await upload()
    const note = (await uploadedCheckpoint(stream))!
    const forged = { ...note, ...forge(note) }
    const { objects } = stream.objects
    // The objects exist, so that nothing but the check of the note prevents their download.
    const [is, was] = [forged.files?.[0]?.name ?? '', note.files[0]!.name]
    for (const [object, bytes] of [...objects]) objects.set(object.replace(was, is), bytes)
    await stream.notes.write('checkpoint', forged)
    const above = newDirectory(t)
    const place = { disk: realDisk, dir: join(above, 'data') }
    mkdirSync(place.dir)
    const refused = { exitCode: 76, message: /describes no checkpoint; find out/ }
    await t.rejects(fetchCheckpoint(stream, place, node.journal.storeId), refused)
    await t.rejects(upload(), refused)
    t.same(readdirSync(above, { recursive: true }), ['data'])
  })
}
