// Goal:   a wave of erasures that a crash cuts off, or in the middle of which a backup is taken, is
//         completed by the next start: who was told that a thread is gone never sees it again, two
//         checkpoints later no file has its text, and other threads are whole.
// Method: a forum with its log and its checkpoints, on a clock that the test advances. On a
//         simulated disk, the wave and its checkpoints are cut off after any number of changes, by
//         a kill or a loss of power. On a real one, the program's own backup copies the directory
//         at each step.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { runBackup } from '../../src/cli/backup-command.ts'
import { createIdentity } from '../../src/forum/identities/commands.ts'
import { createThread, reply } from '../../src/forum/threads/commands.ts'
import { ThreadExpiry } from '../../src/forum/threads/expiry.ts'
import { isRejection } from '../../src/kernel/rejection.ts'
import type { Disk } from '../../wal/disk.ts'
import { dataDirectory } from '../api/process.ts'
import { timeoutMs } from '../depth.ts'
import { goOn, newWorld, type World } from '../forum/doubles.ts'
import { SimulatedDisk } from '../wal/simulated-disk.ts'
import { type CutOff, cutOffAtSome } from './cut-off.ts'
import { hashesWithoutText, open as openStore, type Store } from './expiring-store.ts'

t.setTimeout(timeoutMs)

/** Each thread with an odd number expires. */
const [threadCount, messagesEach] = [7, 130]
const isMortal = (thread: number) => thread % 2 === 1
const mortals = Array.from({ length: threadCount }, (_, thread) => thread).filter(isMortal)
const wordOf = (thread: number) => (isMortal(thread) ? 'mortal' : 'lasting')
const filler = 'x'.repeat(4_000)
const dir = '/waves'
/** More turns than a wave has, and the limit of waits for a segment of the log. */
const [turnsMax, waitMs] = [2_000, 2]

function open(world: World, where: { dir: string; disk?: Disk }): Promise<Store> {
  const sizes = { textBytesMax: 1 << 20, segmentBytes: 1 << 20 }
  return openStore(where.dir, world, { ...sizes, durability: 'always', ...where })
}

/** Publishes the threads, whose messages alternate in the text; after this they are due. */
async function fill(world: World, where: { dir: string; disk?: Disk }): Promise<void> {
  const { forum, journal, checkpoints } = await open(world, where)
  const author = { kind: 'persistent', displayName: 'Ana', address: '' } as const
  assert.ok(!isRejection(createIdentity(forum, author, 'open')))
  const post = { caller: 0, address: '', mentionIds: [] }
  for (let n = 0; n < messagesEach; n++) {
    for (let thread = 0; thread < threadCount; thread++) {
      const content = `${wordOf(thread)} ${n} ${filler}`
      const key = `key-${thread}-${n}`
      const begun = { title: wordOf(thread), visibility: 'public', participantIds: [] } as const
      const ttlSeconds = isMortal(thread) ? 60 : undefined
      const made =
        n === 0
          ? createThread(forum, { ...post, ...begun, content, key, ttlSeconds })
          : reply(forum, { ...post, content, key, threadId: forum.state.threads.id(thread) })
      assert.ok(!isRejection(made))
    }
    await journal.sync()
    if (n % 50 === 49) await checkpoints.take()
  }
  // A start longer than a minute after the last record would doubt the clock.
  goOn(world.clock, 30_000)
  assert.ok(!isRejection(createIdentity(forum, author, 'open')))
  await journal.close()
  goOn(world.clock, 31_000)
}

/** Returns the threads that callers may be told to be gone, because that is durable. */
function goneIn({ forum: { state }, journal }: Store): number[] {
  const { changedPosition } = state.threads.actors.columns
  return mortals.filter((thread) => {
    return state.threads.isExpired(thread) && changedPosition.get(thread) <= journal.durable
  })
}

/** Returns the number of messages that mortal threads still have. */
function leftIn({ forum: { state } }: Store): number {
  return mortals.reduce((sum, thread) => sum + state.threads.messageCount(thread), 0)
}

/**
 * Takes turns until the mortal threads are erased, or the disk has failed. Returns those of which
 * somebody may have been told that they are gone.
 */
async function erase(
  store: Store,
  eachTurn: () => void | Promise<void> = () => {},
): Promise<number[]> {
  const { forum, journal } = store
  const expiry = new ThreadExpiry(forum)
  const gone = new Set<number>()
  for (let turns = 0; turns < turnsMax && leftIn(store) > 0; turns++) {
    if (expiry.turn() > 0) await sleep(waitMs)
    await journal.sync().catch(() => {})
    for (const thread of goneIn(store)) gone.add(thread)
    if (journal.failure !== null) break
    await eachTurn()
  }
  return [...gone]
}

/** Completes the wave, with two checkpoints. */
async function complete(store: Store): Promise<void> {
  await erase(store)
  assert.deepEqual([goneIn(store), leftIn(store)], [mortals, 0])
  await takeTwo(store)
  assert.deepEqual(store.checkpoints.warnings, [])
}

async function takeTwo({ checkpoints }: Store): Promise<void> {
  for (let n = 0; n < 2; n++) await checkpoints.take()
}

/** Checks that the other threads are whole. */
function checkLasting({ forum: { state } }: Store): void {
  const { threads, messages } = state
  for (let thread = 0; thread < threadCount; thread++) {
    if (isMortal(thread)) continue
    assert.equal(threads.messageCount(thread), messagesEach)
    for (let n = 0; n < messagesEach; n++) {
      const message = threads.message(thread, n)
      assert.ok(messages.hold(message))
      assert.equal(JSON.parse(messages.json(message)).content, `lasting ${n} ${filler}`)
    }
  }
}

const world = newWorld()
const base = new SimulatedDisk(1)
await fill(world, { dir, disk: base })

const filesWith = (disk: SimulatedDisk, word: string) =>
  [...disk.contents()].filter(([, bytes]) => bytes.includes(word)).map(([name]) => name)

t.test('a wave, cut off after any change to the disk: the next start completes it', async (t) => {
  const whole = base.copy()
  t.ok(filesWith(whole, 'mortal').length > 1)
  const running = await open(world, { dir, disk: whole })
  const before = whole.changesMade
  await complete(running)
  const changes = whole.changesMade - before
  await running.journal.close()
  await cutOffAtSome(t, changes, cutOff)
})

async function cutOff(point: number, how: CutOff): Promise<void> {
  const disk = base.copy()
  const running = await open(world, { dir, disk })
  disk.freezeAfter(point)
  const gone = await erase(running)
  await takeTwo(running)
  const next = how === 'kill' ? disk.dieAlone() : disk.losePower()
  const restarted = await open(world, { dir, disk: next })
  const { threads } = restarted.forum.state
  assert.deepEqual(
    gone.filter((thread) => !threads.isExpired(thread)),
    [],
    'what was gone is gone',
  )
  checkLasting(restarted)
  await complete(restarted)
  assert.deepEqual(filesWith(next, 'mortal'), [])
  checkLasting(restarted)
  const hashes = hashesWithoutText(restarted.forum)
  await restarted.journal.close()
  const last = await open(world, { dir, disk: next })
  assert.deepEqual(hashesWithoutText(last.forum), hashes, 'a start finds the same')
  await last.journal.close()
}

t.test('a backup in the middle of a wave: a node on it completes the wave', async (t) => {
  const data = dataDirectory(t)
  const world = newWorld()
  await fill(world, { dir: data })
  const running = await open(world, { dir: data })
  const copies: { copy: string; gone: number[]; left: number }[] = []
  await erase(running, async () => {
    const copy = `${data}-copy-${copies.length}`
    const gone = goneIn(running)
    if (copies.length === 3 || gone.length === 0) return
    copies.push({ copy, gone, left: leftIn(running) })
    await runBackup(['--data', data, '--to', copy, '--json'])
  })
  t.ok(copies.some(({ left }) => left > 0 && left < mortals.length * messagesEach))
  await running.journal.close()
  for (const { copy, gone, left } of copies) {
    const restored = await open(world, { dir: copy })
    const { threads } = restored.forum.state
    t.ok(
      gone.every((thread) => threads.isExpired(thread)),
      `${left} messages were left`,
    )
    await complete(restored)
    checkLasting(restored)
    const names = readdirSync(copy).filter((name) => !name.endsWith('.socket'))
    t.same(
      names.filter((name) => readFileSync(join(copy, name)).includes('mortal')),
      [],
    )
    await restored.journal.close()
  }
})
