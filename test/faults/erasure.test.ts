// Goal:   an erased message is read as a tombstone from then on, whatever happens, and two
//         checkpoints later no file of the data directory contains its text; all other messages
//         stay whole.
// Method: a node in this process on a simulated disk, with little memory for text. The test erases
//         messages in a page that is on disk only, across two pages, in the page that is being
//         filled, and in the text behind its whole blocks. The same erasures are then cut off after
//         any number of changes to the disk, by a kill or a loss of power, and the node starts
//         again.

import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { setImmediate as nextIteration } from 'node:timers/promises'
import t from 'tap'
import { isRejection } from '../../src/forum/forum.ts'
import { parityHeaderBytes, pieceBytes } from '../../wal/checkpoint/parity.ts'
import { chosenSeed, sizeOf, timeoutMs } from '../depth.ts'
import type { SimulatedDisk } from '../wal/simulated-disk.ts'
import { seededRandom } from '../wal/simulated-inode.ts'
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

t.setTimeout(timeoutMs)

/** Messages in the first page, across its end, twice in the second page, and in the tail. */
const erased = [5, 243, 244, 245, 246, 247, 260, 310, 419]
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

/** Removes a message that is removed already, which tells the position. */
function remove({ node }: Running, n: number) {
  return node.moderate('remove-message', { id: base.ids[n]!, reason: '' })
}

function pagesWith(disk: SimulatedDisk, n: number): string[] {
  return filesWith(disk, n).filter((name) => name.endsWith('.pages'))
}

const base = await build()

t.test('erased: read as a tombstone, also after a restart; two checkpoints: gone', async (t) => {
  const { token, threadId, ids } = base
  const disk = base.disk.copy()
  const running = await start(disk)
  for (const n of erased) t.ok(pagesWith(disk, n).length > 0, `a page file has message ${n}`)
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

t.test('erased in a damaged page: repaired from parity, and erased', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  for (const name of pagesWith(disk, 5)) {
    const bytes = Buffer.from(disk.bytesOf(name))
    bytes[bytes.indexOf(contentOf(5).slice(0, 60))]! ^= 1
    disk.overwrite(name, bytes)
  }
  t.ok(await erase(running, base, 5))
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

/** Returns where the file and its parity have the text of message `n`. */
function placesOf(disk: SimulatedDisk, file: string, n: number) {
  const at = disk.bytesOf(file).indexOf(contentOf(n).slice(0, 60))
  const parity = file.replace('.pages', '.parity')
  return { at, parity, parityAt: parityHeaderBytes + (at % pieceBytes) }
}

t.test('a page beside it is damaged beyond parity: gone, and only that is lost', async (t) => {
  const disk = base.disk.copy()
  const [file] = pagesWith(disk, 100)
  const { at, parity, parityAt } = placesOf(disk, file!, 100)
  for (const [name, offset] of [[file!, at] as const, [parity, parityAt] as const]) {
    const bytes = Buffer.from(disk.bytesOf(name))
    bytes[offset]! ^= 1
    disk.overwrite(name, bytes)
  }
  const running = await start(disk)
  t.ok(await erase(running, base, 300))
  const { position } = await remove(running, 300)
  await running.node.takeCheckpoint()
  await running.node.takeCheckpoint()
  t.match(running.node.erasure(position!), { checkpoints_left: 0, is_gone: true, damaged: [] })
  t.same(filesWith(disk, 300), [])
  const one = (n: number) => call(running, `/api/threads/${base.threadId}?after=${n + 1}&limit=1`)
  t.match(await one(100), { status: 503, body: { error: 'unreadable' } })
  for (const n of [90, 110, 299, 301]) {
    t.match(await one(n), { body: { messages: [{ id: base.ids[n], content: contentOf(n) }] } })
  }
  await running.node.stop()
})

t.test('erased, killed, its page cannot be read, restarted, then it can: erased', async (t) => {
  const before = base.disk.copy()
  const running = await start(before)
  t.ok(await erase(running, base, 5))
  const { position } = await remove(running, 5)
  const broken = before.dieAlone()
  await running.node.stop()
  const [file] = pagesWith(broken, 5)
  const { at, parity, parityAt } = placesOf(broken, file!, 5)
  broken.breakSectors(file!, at, at + 1)
  broken.breakSectors(parity, parityAt, parityAt + 1)
  const second = await start(broken)
  for (let n = 0; n < 3; n++) await second.node.takeCheckpoint()
  t.match(second.node.erasure(position!), { checkpoints_left: 0, is_gone: false })
  t.same(second.node.erasure(position!).damaged, [basename(file!)])
  await second.node.stop()
  const disk = broken.copy() // on which the sectors can be read
  t.ok(filesWith(disk, 5).length > 0)
  const third = await start(disk)
  t.match(third.node.erasure(position!), { is_gone: false }, 'the checkpoint remembers it')
  for (let n = 0; n < 3; n++) await third.node.takeCheckpoint()
  t.match(third.node.erasure(position!), { is_gone: true, damaged: [] })
  t.same(filesWith(disk, 5), [])
  t.same(await readErased(third, base), [5])
  await third.node.stop()
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
  const random = seededRandom(chosenSeed)
  const points = Math.min(changes, sizeOf('CRASH_POINTS'))
  t.comment(`TEST_SEED=${chosenSeed}: ${points} of ${changes} changes`)
  for (let i = 0; i < points; i++) {
    const point = Math.floor(((i + random()) * changes) / points)
    const how = random() < 0.5 ? 'kill' : 'loss of power'
    await cutOff(point, how).catch((error) => {
      t.fail(`TEST_SEED=${chosenSeed}: ${how} after change ${point}: ${error.stack}`)
    })
  }
})

async function cutOff(point: number, how: 'kill' | 'loss of power'): Promise<void> {
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
