// Goal:   whatever happens to the index, the forum answers and publishes as before, and in the end
//         the index contains every message except those that were removed.
// Method: the real program and its index process: the process is killed, the index's files are
//         damaged, its directory is unusable, or its disk is full.

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { type Client, type Forum, publishedThread } from '../../api/harness.ts'
import { run } from '../../api/process.ts'
import { chosenSeed, sampleOf, sizeOf, timeoutMs } from '../../depth.ts'
import { limitFiles } from '../../faults/file-limit.ts'
import { flip } from '../../faults/flip.ts'
import { childrenOf, copiesIn, skipMemory } from '../../faults/process-memory.ts'
import { fill, readOnly, smallDisk } from '../../faults/small-disk.ts'
import { until } from '../../until.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { find, findAll, indexed, searchedForum } from './forum.ts'

t.setTimeout(timeoutMs)

/** Returns the id of the index process, or undefined while there is none. */
function indexProcess(forum: Forum): number | undefined {
  return indexProcesses(forum)[0]
}

function indexProcesses({ pid }: Forum): number[] {
  return childrenOf(pid).filter((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('forum/search/process.js')
    } catch {
      return false // it has ended meanwhile
    }
  })
}

/** Publishes messages with these numbers, all of them concurrently. */
async function publish(author: Client, thread: string, from: number, to: number): Promise<void> {
  const numbers = Array.from({ length: to - from }, (_, i) => from + i)
  await Promise.all(numbers.map((number) => author.reply(thread, `common only${number}`)))
}

/**
 * Checks that the index has exactly these messages: a common word finds all of them, and a unique
 * word finds each one of a sample.
 */
async function isComplete(t: Test, forum: Forum, count: number): Promise<void> {
  await indexed(forum)
  const all = await findAll(forum.anonymous, 'common', 'limit=100')
  t.equal(all.length, count)
  t.equal(new Set(all).size, count, 'none is there twice')
  for (const number of [0, Math.floor(count / 2), count - 1]) {
    t.equal((await findAll(forum.anonymous, `only${number}`)).length, 1)
  }
}

t.test(
  'search: killed at random moments while it indexes: the forum goes on, and all is found',
  async (t) => {
    const random = seededRandom(chosenSeed)
    t.comment(`TEST_SEED=${chosenSeed}`)
    const forum = await searchedForum(t)
    const ana = await forum.identity()
    const thread = await publishedThread(ana, { content: 'first' })
    let count = 0
    for (let kill = 0; kill < sizeOf('SEARCH_KILLS'); kill++) {
      const publishing = publish(ana, thread, count, count + 100)
      count += 100
      const moment = new Promise((resolve) => setTimeout(resolve, random() * 150))
      if (kill % 2 === 0) {
        await moment
        const pid = indexProcess(forum)
        if (pid !== undefined) process.kill(pid, 'SIGKILL')
        await publishing
      } else {
        await publishing
        await moment
        await forum.stop('SIGKILL')
        await forum.start()
      }
      t.equal((await ana.read(thread, '?limit=1')).status, 200)
      if (kill % 3 === 0) await isComplete(t, forum, count)
    }
    await isComplete(t, forum, count)
  },
)

t.test('search: killed while messages arrive: one process is started, not two', async (t) => {
  const forum = await searchedForum(t)
  const ana = await forum.identity()
  const thread = await publishedThread(ana, { content: 'first' })
  await indexed(forum)
  for (let kill = 1; kill <= 3; kill++) {
    process.kill(indexProcess(forum)!, 'SIGKILL')
    await until('the end to be noticed', () => forum.log.split('search_ended').length > kill)
    for (let i = 0; i < 50; i++) {
      t.equal((await ana.reply(thread, `word ${i}`)).status, 201)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await indexed(forum)
    t.equal(indexProcesses(forum).length, 1)
  }
})

t.test(
  'search: the process of the index is stopped: searches are refused, nothing else waits',
  async (t) => {
    const forum = await searchedForum(t)
    const ana = await forum.identity()
    const thread = await publishedThread(ana, { content: 'a word' })
    await indexed(forum)
    const pid = indexProcess(forum)!
    process.kill(pid, 'SIGSTOP')
    const search = ana.get('/api/search?q=word')
    for (let i = 0; i < 20; i++) t.equal((await ana.reply(thread, `word ${i}`)).status, 201)
    t.equal((await ana.messages(thread)).length, 21)
    t.match(await search, { status: 503, body: { error: 'overloaded' } })
    process.kill(pid, 'SIGCONT')
    await indexed(forum)
    t.equal((await findAll(ana, 'word')).length, 21)
  },
)

t.test('search: killed while no file can be opened: started when one can', async (t) => {
  const forum = await searchedForum(t)
  const ana = await forum.identity()
  const thread = await publishedThread(ana, { content: 'a word' })
  await indexed(forum)
  limitFiles(forum.pid, 3)
  process.kill(indexProcess(forum)!, 'SIGKILL')
  await until('a start that fails', () => /"why":"[^"]*EMFILE"/.test(forum.log))
  t.equal((await ana.reply(thread, 'another word')).status, 201)
  limitFiles(forum.pid, 512)
  await indexed(forum)
  t.equal((await findAll(ana, 'word')).length, 2)
})

t.test('search: its files damaged, cut off or removed at rest: all is found again', async (t) => {
  const forum = await searchedForum(t)
  const ana = await forum.identity()
  const thread = await publishedThread(ana, { content: 'first' })
  await publish(ana, thread, 0, 200)
  const dir = path.join(forum.data, 'search')
  const damages: ((file: string) => void)[] = [
    (file) => flip(file, 8000),
    (file) => flip(file, 3),
    (file) => writeFileSync(file, readFileSync(file).subarray(0, 6000)),
    (file) => writeFileSync(file, ''),
    (file) => rmSync(file),
    () => rmSync(dir, { recursive: true }),
    () => writeFileSync(path.join(dir, '9999999999-00000000.shard'), 'no shard'),
  ]
  t.comment(`TEST_SEED=${chosenSeed}`)
  for (const damage of sampleOf('SEARCH_DAMAGES', damages)) {
    await isComplete(t, forum, 200)
    await forum.stop()
    const files = readdirSync(dir)
    t.equal(files.length, 1)
    damage(path.join(dir, files[0]!))
    await forum.start()
  }
  await isComplete(t, forum, 200)
})

t.test('search: its directory is removed while the node runs: harms nothing', async (t) => {
  const forum = await searchedForum(t)
  const ana = await forum.identity()
  const thread = await publishedThread(ana, { content: 'first' })
  await publish(ana, thread, 0, 50)
  await indexed(forum)
  rmSync(path.join(forum.data, 'search'), { recursive: true })
  await publish(ana, thread, 50, 100)
  await isComplete(t, forum, 100)
  await forum.stop()
  await forum.start()
  await isComplete(t, forum, 100)
})

t.test(
  'search: its directory cannot be made: the forum serves, and it is made later',
  async (t) => {
    const forum = await searchedForum(t)
    await forum.stop()
    const dir = path.join(forum.data, 'search')
    writeFileSync(dir, 'a file in its place')
    await forum.start()
    const ana = await forum.identity()
    const thread = await publishedThread(ana, { content: 'first' })
    await publish(ana, thread, 0, 20)
    await forum.logged('search_waits')
    t.same((await find(ana, 'common')).results, [])
    const [first] = await ana.messages(thread)
    t.ok((await find(ana, 'common')).indexed_through < first!.seq)
    rmSync(dir)
    await isComplete(t, forum, 20)
  },
)

t.test(
  'search: its directory is read-only: the forum serves, and it goes on when it may write',
  async (t) => {
    const forum = await searchedForum(t)
    const ana = await forum.identity()
    const thread = await publishedThread(ana, { content: 'first' })
    await publish(ana, thread, 0, 20)
    await isComplete(t, forum, 20)
    await forum.stop()
    const release = readOnly(t, path.join(forum.data, 'search'))
    if (release === null) return t.comment('mounting is not permitted')
    await forum.start()
    await publish(ana, thread, 20, 40)
    await forum.logged('search_waits')
    t.match(forum.log, /EROFS/)
    t.equal((await ana.messages(thread)).length, 41)
    const [first] = await ana.messages(thread)
    t.ok((await find(ana, 'common')).indexed_through < first!.seq)
    release()
    await isComplete(t, forum, 40)
  },
)

t.test(
  'search: on a full disk: leaves the rest of it to the log, and goes on when there is room',
  async (t) => {
    const disk = smallDisk(t, 80)
    if (disk === null) return t.comment('mounting is not permitted')
    const data = path.join(disk, 'data')
    const forum = await searchedForum(t, ['--segment-mb', '4'], { data })
    const ana = await forum.identity()
    const ballast = fill(disk)
    const bytes = readFileSync(ballast).length
    writeFileSync(ballast, Buffer.alloc(bytes - (6 << 20)))
    const thread = await publishedThread(ana, { content: 'first' })
    await publish(ana, thread, 0, 50)
    await forum.logged('search_waits')
    t.match(forum.log, /"why":"the disk is nearly full"/)
    t.equal((await ana.messages(thread)).length, 51)
    rmSync(ballast)
    await isComplete(t, forum, 50)
  },
)

t.test(
  'search: a message is removed: no file and no memory of the index has its words',
  skipMemory,
  async (t) => {
    const forum = await searchedForum(t, ['--segment-mb', '4'])
    const ana = await forum.identity()
    const thread = await publishedThread(ana, { content: 'first' })
    // Assembled from pieces, so that only the node's memory contains the word as a whole.
    const word = ['removed', 'word', `${process.pid}`].join('')
    for (let i = 0; i < 30; i++) await ana.reply(thread, `a message with ${word} in it ${i}`)
    await publish(ana, thread, 0, 200)
    await indexed(forum)
    t.equal((await findAll(ana, word)).length, 30)
    t.ok(copiesIn(indexProcess(forum)!, word).own > 0, 'the index has it in memory')
    await forum.stop()
    const filesWith = () =>
      readdirSync(path.join(forum.data, 'search')).filter((name) =>
        readFileSync(path.join(forum.data, 'search', name)).includes(word),
      )
    t.equal(filesWith().length, 1, 'and on the disk')
    await forum.start()
    await indexed(forum)
    const withWord = (await ana.messages(thread)).filter(({ content }) => content.includes(word))
    for (const [i, { id }] of withWord.entries()) {
      const done = await run([
        'admin',
        'remove-message',
        '--yes',
        id,
        '--data',
        forum.data,
        '--no-wait',
      ])
      t.equal(done.code, 0, done.stderr)
      // Searched by other words of the message, because a query's words are in memory, too.
      t.equal(
        (await findAll(ana, '"a message with"')).length,
        29 - i,
        'it is found no more at once',
      )
    }
    const last = (await ana.messages(thread)).findLast(({ removed }) => removed)!
    const done = await run(['admin', 'remove-message', '--yes', last.id, '--data', forum.data])
    t.match(done.stdout, /search index/)
    const pid = await until('the process of the index', () => indexProcess(forum) ?? null)
    t.match(copiesIn(pid, word), { own: 0, ofV8: 0 })
    t.match(copiesIn(pid, Buffer.from(word, 'utf16le').toString('latin1')), { own: 0, ofV8: 0 })
    t.same(filesWith(), [])
    await isComplete(t, forum, 200)
    await forum.stop()
    t.same(filesWith(), [])
    t.ok(existsSync(path.join(forum.data, 'search')))
  },
)
