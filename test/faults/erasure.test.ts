// Goal:   an erased message is read as a tombstone from then on, whatever happens, and two
//         checkpoints later no file of the data directory contains its text; all other messages
//         stay whole.
// Method: a node in this process on a simulated disk, with little memory for text. The test erases
//         messages in a page of which several page files have copies, across two pages, and in the
//         page that is being filled. The same erasures are then cut off after any number of changes
//         to the disk, by a kill or a loss of power, and the node starts again.

import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { setImmediate as nextIteration } from 'node:timers/promises'
import t from 'tap'
import { isRejection } from '../../src/kernel/rejection.ts'
import { parityHeaderBytes, pieceBytes } from '../../wal/checkpoint/parity.ts'
import { timeoutMs } from '../depth.ts'
import { until } from '../until.ts'
import type { SimulatedDisk } from '../wal/simulated-disk.ts'
import {
  type Base,
  build,
  call,
  contentOf,
  filesWith,
  keyOf,
  type Running,
  readErased,
  start,
} from './cold-forum.ts'
import { type CutOff, cutOffAtSome } from './cut-off.ts'

t.setTimeout(timeoutMs)

/** Messages in the first page, across its end, twice in the second page, and in no saved page. */
const erased = [5, 243, 244, 245, 246, 247, 260, 310, 410]
/** A message of the second page, of which the file of the first page has a copy. */
const copied = 260
/** The most attempts until the next segment of the log exists. */
const attemptsMax = 200

/** Returns whether the message was erased. False means that the disk fails. */
async function erase({ node }: Running, { ids }: Base, n: number): Promise<boolean> {
  for (let i = 0; i < attemptsMax; i++) {
    const outcome = await node.moderate('remove-message', { id: ids[n], reason: 'a test' })
    if (!isRejection(outcome)) return true
    if (outcome.rejected !== 'overloaded') return false
    await nextIteration()
  }
  return false
}

const base = await build()

t.test('erased: read as a tombstone, also after a restart; two checkpoints: gone', async (t) => {
  const { token, threadId, ids } = base
  const disk = base.disk.copy()
  const running = await start(disk)
  const pageFiles = filesWith(disk, copied).filter((name) => name.endsWith('.pages'))
  t.ok(pageFiles.length >= 2, 'two page files have it')
  const feed = await call(running, '/api/notifications', { token })
  for (const n of erased) t.ok(await erase(running, base, n))
  t.same(await readErased(running, base), erased)
  t.same(await call(running, '/api/notifications', { token }), feed)
  const again = { token, key: keyOf(5), body: { content: contentOf(5) } }
  const replay = await call(running, `/api/threads/${threadId}/replies`, again)
  t.match(replay, { status: 200, body: { replayed: true, message_id: ids[5] } })
  t.ok(await erase(running, base, 5), 'erased again: it is erased')
  const { node } = running
  await node.takeCheckpoint()
  t.ok(filesWith(disk, 310).length > 0, 'one checkpoint is not enough')
  await node.takeCheckpoint()
  for (const n of erased) t.same(filesWith(disk, n), [], `message ${n} is in no file`)
  t.ok(filesWith(disk, 6).length > 0, 'its neighbour is there')
  t.same(await readErased(running, base), erased)
  await node.stop()
  const restarted = await start(disk)
  t.same(await readErased(restarted, base), erased)
  await restarted.node.stop()
})

t.test('erased in a page of which an earlier file has a copy: gone from that, too', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  t.ok(await erase(running, base, copied))
  await running.node.takeCheckpoint()
  await running.node.takeCheckpoint()
  t.same(filesWith(disk, copied), [])
  t.same(await readErased(running, base), [copied])
  await running.node.stop()
})

t.test('erased in a damaged page: repaired from parity first, then erased', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  const text = Buffer.from(contentOf(5).slice(0, 60))
  for (const name of filesWith(disk, 5).filter((name) => name.endsWith('.pages'))) {
    const bytes = Buffer.from(disk.bytesOf(name))
    bytes[bytes.indexOf(text)]! ^= 1
    disk.overwrite(name, bytes)
  }
  const about = { id: base.ids[5]!, reason: 'a test' }
  t.same(await running.node.moderate('remove-message', about), { rejected: 'unreadable' })
  await until('the page to be repaired', async () => {
    return !isRejection(await running.node.moderate('remove-message', about))
  })
  await running.node.takeCheckpoint()
  await running.node.takeCheckpoint()
  t.same(filesWith(disk, 5), [])
  t.same(await readErased(running, base), [5])
  await running.node.stop()
})

t.test('two checkpoints are taken, old files stay: not gone, until they go', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  const { node } = running
  t.ok(await erase(running, base, 5))
  const act = await node.moderate('remove-message', { id: base.ids[5]!, reason: '' })
  const isGone = () => node.erasure(act.position!).is_gone
  await node.takeCheckpoint()
  t.notOk(isGone(), 'one is not enough')
  disk.refuse('remove', 'EIO')
  await node.takeCheckpoint()
  t.notOk(isGone())
  t.ok(filesWith(disk, 5).length > 0)
  disk.refuse('remove', null)
  await node.takeCheckpoint()
  t.ok(isGone())
  t.same(filesWith(disk, 5), [])
  await node.stop()
})

/** Damages the file at this text of message `n`, and the parity that could rebuild it. */
function spoil(disk: SimulatedDisk, name: string, n: number): void {
  const bytes = Buffer.from(disk.bytesOf(name))
  const at = bytes.indexOf(contentOf(n).slice(0, 60))
  bytes[at]! ^= 1
  disk.overwrite(name, bytes)
  const parityName = name.replace('.pages', '.parity')
  const parity = Buffer.from(disk.bytesOf(parityName))
  parity[parityHeaderBytes + (at % pieceBytes)]! ^= 1
  disk.overwrite(parityName, parity)
}

t.test('a file to be emptied is damaged: not gone, also after a restart', async (t) => {
  const disk = base.disk.copy()
  const file = filesWith(disk, 0).find((name) => name.endsWith('.pages'))!
  spoil(disk, file, 100)
  const running = await start(disk)
  t.ok(await erase(running, base, copied))
  const { position } = await running.node.moderate('remove-message', {
    id: base.ids[copied]!,
    reason: '',
  })
  for (let n = 0; n < 3; n++) await running.node.takeCheckpoint()
  t.same(filesWith(disk, copied), [file])
  const damaged = { checkpoints_left: 0, is_gone: false, damaged: [basename(file)] }
  t.match(running.node.erasure(position!), damaged)
  await running.node.stop()
  const { node } = await start(disk)
  t.match(node.erasure(position!), damaged, 'the checkpoint remembers it')
  await node.takeCheckpoint()
  t.match(node.erasure(position!), damaged)
  disk.overwrite(file, base.disk.bytesOf(file)) // from a backup
  await node.takeCheckpoint()
  await node.takeCheckpoint()
  t.match(node.erasure(position!), { is_gone: true, damaged: [] })
  t.same(filesWith(disk, copied), [])
  await node.stop()
})

t.test('erased, killed, its page is damaged: erased once it is rebuilt from parity', async (t) => {
  const before = base.disk.copy()
  const running = await start(before)
  t.ok(await erase(running, base, 5))
  const { position } = await running.node.moderate('remove-message', {
    id: base.ids[5]!,
    reason: '',
  })
  const disk = before.dieAlone()
  await running.node.stop()
  for (const name of filesWith(disk, 5).filter((name) => name.endsWith('.pages'))) {
    const bytes = Buffer.from(disk.bytesOf(name))
    bytes[bytes.indexOf(contentOf(100).slice(0, 60))]! ^= 1
    disk.overwrite(name, bytes)
  }
  const restarted = await start(disk)
  await restarted.node.takeCheckpoint()
  await restarted.node.takeCheckpoint()
  t.match(restarted.node.erasure(position!), { is_gone: true })
  t.same(filesWith(disk, 5), [])
  t.same(await readErased(restarted, base), [5])
  await restarted.node.stop()
})

t.test('erased, killed, its page cannot be read, restarted, then it can: erased', async (t) => {
  const before = base.disk.copy()
  const running = await start(before)
  t.ok(await erase(running, base, 5))
  const { position } = await running.node.moderate('remove-message', {
    id: base.ids[5]!,
    reason: '',
  })
  const broken = before.dieAlone()
  await running.node.stop()
  const file = filesWith(broken, 5).find((name) => name.endsWith('.pages'))!
  const at = broken.bytesOf(file).indexOf(contentOf(5).slice(0, 60))
  const parityAt = parityHeaderBytes + (at % pieceBytes)
  broken.breakSectors(file, at, at + 1)
  broken.breakSectors(file.replace('.pages', '.parity'), parityAt, parityAt + 1)
  const second = await start(broken)
  for (let n = 0; n < 3; n++) await second.node.takeCheckpoint()
  const damaged = { checkpoints_left: 0, is_gone: false, damaged: [basename(file)] }
  t.match(second.node.erasure(position!), damaged)
  await second.node.stop()
  const disk = broken.copy() // on which the sectors can be read
  t.ok(filesWith(disk, 5).length > 0)
  const third = await start(disk)
  t.match(third.node.erasure(position!), damaged, 'the checkpoint remembers it')
  await third.node.takeCheckpoint()
  t.match(third.node.erasure(position!), { is_gone: false }, 'the older checkpoint has it')
  await third.node.takeCheckpoint()
  t.match(third.node.erasure(position!), { is_gone: true, damaged: [] })
  t.same(filesWith(disk, 5), [])
  t.same(await readErased(third, base), [5])
  await third.node.stop()
})

t.test('old files stay, killed: the next start removes them, and takes a checkpoint', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  t.ok(await erase(running, base, 5))
  await running.node.takeCheckpoint()
  disk.refuse('remove', 'EIO')
  await running.node.takeCheckpoint()
  const next = disk.dieAlone()
  await running.node.stop()
  const { node } = await start(next)
  const newest = () =>
    [...next.contents().keys()].filter((name) => name.endsWith('.checkpoint')).at(-1)
  const before = newest()
  await node.takeCheckpoint() // while the files are being removed
  t.not(newest(), before)
  t.same(filesWith(next, 5), [])
  await node.stop()
})

t.test('two checkpoints are taken: gone as soon as no file has the text, not before', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  t.ok(await erase(running, base, 5))
  const { node } = running
  const { position } = await node.moderate('remove-message', { id: base.ids[5]!, reason: '' })
  await node.takeCheckpoint()
  void node.takeCheckpoint()
  while (!node.erasure(position!).is_gone) await nextIteration()
  t.same(filesWith(disk, 5), [])
  await node.stop()
})

/**
 * Erases all messages of `erased` and takes two checkpoints. Returns the erasures that succeeded.
 */
async function eraseAll(running: Running): Promise<number[]> {
  const done: number[] = []
  for (const n of erased) if (await erase(running, base, n)) done.push(n)
  await running.node.takeCheckpoint()
  await running.node.takeCheckpoint()
  return done
}

t.test('cut off after any change to the disk: what was reported as erased is erased', async (t) => {
  const whole = base.disk.copy()
  const running = await start(whole)
  const before = whole.changesMade
  await eraseAll(running)
  const changes = whole.changesMade - before
  await running.node.stop()
  await cutOffAtSome(t, changes, cutOff)
})

async function cutOff(point: number, how: CutOff): Promise<void> {
  const disk = base.disk.copy()
  const running = await start(disk)
  disk.freezeAfter(point)
  const reported = await eraseAll(running)
  const next = how === 'kill' ? disk.dieAlone() : disk.losePower()
  await running.node.stop() // which the frozen disk ignores
  const restarted = await start(next)
  const found = await readErased(restarted, base)
  assert.deepEqual(
    reported.filter((n) => !found.includes(n)),
    [],
    'what was reported is erased',
  )
  const { node } = restarted
  await node.takeCheckpoint()
  await node.takeCheckpoint()
  for (const n of found) assert.deepEqual(filesWith(next, n), [], `message ${n} is in no file`)
  assert.deepEqual(await readErased(restarted, base), found)
  await node.stop()
}
