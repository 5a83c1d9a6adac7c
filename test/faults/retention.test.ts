// Goal:   a node that lives for months with `--retention-days` keeps a bounded amount of text, in
//         memory and on disk, and what it has forgotten is in no file of its data directory.
// Method: a forum with its log and its checkpoints in a real directory, on a clock that the test
//         advances: each day brings threads, the timer of expiry runs, and checkpoints are taken as
//         the schedule does after an erasure. Every text contains the day on which it was written.
//         Afterwards the directory is loaded into an empty state, which must be the same.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createIdentity } from '../../src/forum/identities/commands.ts'
import type { State } from '../../src/forum/state.ts'
import { createThread, reply } from '../../src/forum/threads/commands.ts'
import { ThreadExpiry } from '../../src/forum/threads/expiry.ts'
import { isRejection } from '../../src/kernel/rejection.ts'
import { storesOf } from '../../src/kernel/saved.ts'
import { textStoreName } from '../../src/kernel/text/text.ts'
import { timeoutMs } from '../depth.ts'
import { dayMs, goOn, newWorld } from '../forum/doubles.ts'
import { expire, hashesWithoutText, open } from './expiring-store.ts'

t.setTimeout(timeoutMs)

const retentionDays = 5
const days = 40
const threadsPerDay = 12
const repliesPerThread = 40
const content = 'né '.repeat(400)
const textBytesMax = 4 << 20
const segmentBytes = 4 << 20
/** What stays of a message in columns and lists, its receipt and a part of its thread included. */
const rowBytesMax = 110

const markOf = (day: number) => `day ${day} of the test`

/** Returns the files of the directory that contain the text. */
function filesWith(dir: string, text: string): string[] {
  const files = readdirSync(dir).filter((name) => !name.endsWith('.socket'))
  return files.filter((name) => readFileSync(join(dir, name)).includes(text))
}

/** Returns the bytes of the state without its text: rows, whose number grows with the log. */
function bytesOfRows(state: State): number {
  let bytes = 0
  for (const [name, store] of storesOf(state)) {
    if (name !== textStoreName) bytes += store.freeze()
    else store.freeze()
    store.thaw(null)
  }
  return bytes
}

/** Returns the bytes that the directory takes on disk, without the segments of the log. */
function bytesOnDisk(dir: string): number {
  const pages = readdirSync(dir).filter((name) => /\.(pages|parity|manifest)$/.test(name))
  return pages.reduce((sum, name) => sum + statSync(join(dir, name)).blocks * 512, 0)
}

t.test('40 days, 5 are kept: as much text as after 10, and no file has older texts', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-retention-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const world = newWorld()
  const options = { textBytesMax, segmentBytes, retentionDays }
  const { forum, checkpoints, journal } = await open(dir, world, options)
  const expiry = new ThreadExpiry(forum)
  const author = { kind: 'persistent', displayName: 'Ana', address: '' } as const
  assert.ok(!isRejection(createIdentity(forum, author, 'open')))
  const sizes: Record<'disk' | 'memory' | 'rows' | 'threads', number>[] = []
  for (let day = 0; day < days; day++) {
    for (let i = 0; i < threadsPerDay; i++) {
      const text = `${markOf(day)}: ${content}`
      const post = { caller: 0, address: '', content: text, mentionIds: [] }
      const key = (n: number) => `day-${day}-thread-${i}-${n}`
      const made = createThread(forum, {
        ...{ ...post, title: markOf(day), visibility: 'public', participantIds: [], key: key(0) },
      })
      assert.ok(!isRejection(made))
      const threadId = forum.state.threads.id(forum.state.messages.thread(made.message))
      for (let n = 1; n <= repliesPerThread; n++) {
        assert.ok(!isRejection(reply(forum, { ...post, threadId, key: key(n) })))
      }
      goOn(world.clock, dayMs / threadsPerDay)
      if (i % 3 === 2) await journal.sync()
      await expire(expiry)
    }
    for (let n = 0; n < 2; n++) await checkpoints.take()
    assert.deepEqual(checkpoints.warnings, [])
    const { threads, text } = forum.state
    const alive = threads.count - threads.expired
    const rows = bytesOfRows(forum.state)
    sizes.push({ disk: bytesOnDisk(dir), memory: text.bytesInMemory, rows, threads: alive })
  }
  const [early, late] = [sizes[9]!, sizes[days - 1]!]
  t.comment(`after 10 days: ${JSON.stringify(early)}, after ${days}: ${JSON.stringify(late)}`)
  t.equal(late.threads, early.threads)
  t.ok(late.memory <= textBytesMax + (8 << 20), 'text in memory')
  const messages = (days - 10) * threadsPerDay * (repliesPerThread + 1)
  t.ok(late.rows - early.rows <= messages * rowBytesMax, 'rows of what was forgotten')
  // Both checkpoints that are kept have the rows, in files that may be half empty.
  const growth = 4 * messages * rowBytesMax
  t.ok(late.disk <= early.disk + growth, `${late.disk} bytes on disk`)
  const forgotten = Array.from({ length: days - retentionDays - 2 }, (_, day) => day)
  for (const day of forgotten) t.same(filesWith(dir, markOf(day)), [], markOf(day))
  t.ok(filesWith(dir, markOf(days - 1)).length > 0, 'what is alive is there')
  const before = hashesWithoutText(forum)
  await journal.close()
  const again = await open(dir, world, options)
  t.same(hashesWithoutText(again.forum), before, 'a start finds the same')
  await again.journal.close()
})
