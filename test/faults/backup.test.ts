// Goal:   a backup of a running node is one position of its log, whole, with everything that was
//         answered before it began; what is restored from it serves, and pollers miss nothing.
// Method: the real programs. Agents publish while backups are taken; each backup is checked with
//         `wal verify` and exported, and compared with what was answered before and during.

import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Client, Forum, newKey, publishedThread, startForum } from '../api/harness.ts'
import { dataDirectory, run } from '../api/process.ts'

/** A forum on a directory that is there already; it ends with the test. */
async function startOn(t: Test, data: string): Promise<Forum> {
  const forum = new Forum(data, [])
  t.teardown(async () => {
    await forum.stop('SIGKILL')
    await forum.agent.destroy()
  })
  await forum.start()
  return forum
}

/** The exported records of a log that is whole. */
async function exported(t: Test, data: string): Promise<{ position: number; content?: string }[]> {
  const { code, stdout, stderr } = await run(['wal', 'export', '--data', data])
  t.strictSame([code, stderr], [0, ''])
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

async function publish(author: Client, thread: string, content: string): Promise<number> {
  const reply = `/api/threads/${thread}/replies`
  const { status } = await author.post(reply, { content }, { 'idempotency-key': newKey() })
  return status
}

t.test('backup: a node that agents write to: everything answered before is in it', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity()
  const thread = await publishedThread(ana)
  const answered: string[] = []
  let running = true
  const writing = Array.from({ length: 4 }, async (_, agent) => {
    for (let n = 0; running; n++) {
      const content = `agent ${agent} says ${n} ${'.'.repeat(500)}`
      if ((await publish(ana, thread, content)) !== 201) throw new Error('not published')
      answered.push(content)
    }
  })
  for (const round of [1, 2]) {
    const before = answered.length
    const copy = `${forum.data}-copy-${round}`
    const { code, stdout, stderr } = await run(['backup', '--data', forum.data, '--to', copy])
    t.strictSame([code, stderr], [0, ''])
    const [, position, count] = /ends at position (\d+): (\d+) records .*without a fault\n$/
      .exec(stdout)!
      .map(Number)
    t.equal(count, position)
    const records = await exported(t, copy)
    t.same(
      records.map((record) => record.position),
      Array.from({ length: position! }, (_, index) => index + 1),
    )
    const contents = new Set(records.map(({ content }) => content))
    t.same(
      answered.slice(0, before).filter((content) => !contents.has(content)),
      [],
      `${before} were answered before`,
    )
    t.equal(statSync(copy).mode & 0o777, 0o700)
    t.equal(statSync(join(copy, 'secret')).mode & 0o777, 0o600)
    t.match((await run(['wal', 'verify', '--data', copy])).stdout, /: sealed\n$/)
  }
  running = false
  await Promise.all(writing)
})

t.test('restore: pollers with cursors from beyond its end: they miss nothing', async (t) => {
  const forum = await startForum(t)
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const thread = await publishedThread(ana)
  await ben.post(`/api/threads/${thread}/subscribe`, {})
  const first = (await ben.get('/api/status')).body as unknown as { epoch: string }
  t.match(first.epoch, /^[0-9a-f]{32}$/)
  const copy = `${forum.data}-copy`
  t.equal((await run(['backup', '--data', forum.data, '--to', copy])).code, 0)
  const again = `${copy}-again`
  cpSync(copy, again, { recursive: true })
  for (let n = 0; n < 10; n++) t.equal(await publish(ana, thread, `lost ${n}`), 201)
  const seen = (await ben.get('/api/notifications?after=0')).body.next_after

  const epochs = [first.epoch]
  for (const data of [copy, again]) {
    const restored = await startOn(t, data)
    const poller = Object.assign(Object.create(ben), { forum: restored }) as Client
    const author = Object.assign(Object.create(ana), { forum: restored }) as Client
    const empty = (await poller.get(`/api/notifications?after=${seen}`)).body
    t.same(empty.notifications, [])
    t.ok(empty.next_after < seen, 'the cursor is taken back')
    t.equal(await publish(author, thread, 'after the restore'), 201)
    const page = (await poller.get(`/api/notifications?after=${seen}`)).body
    t.same(
      page.notifications,
      (await poller.get('/api/notifications?after=1')).body.notifications.slice(-1),
    )
    t.equal(page.notifications.length, 1)
    const read = (await poller.get(`/api/threads/${thread}?after=${seen}`)).body
    t.match(read.messages, [{ content: 'after the restore' }])
    await restored.stop()
    await restored.start()
    t.same((await poller.get(`/api/notifications?after=${seen}`)).body, page)
    epochs.push(((await poller.get('/api/status')).body as unknown as { epoch: string }).epoch)
  }
  t.equal(new Set(epochs).size, 3, 'each restore is an epoch of its own')
  t.same((await ben.get(`/api/notifications?after=${seen + 99}`)).body.next_after, seen + 99)
})

t.test('backup: a place that is taken, or no log: refused, nothing touched', async (t) => {
  const data = dataDirectory(t)
  const taken = `${data}-taken`
  mkdirSync(taken)
  writeFileSync(join(taken, 'file'), 'mine')
  const refusals: [string[], number, RegExp][] = [
    [['--data', data, '--to', taken], 64, /is not a free place\n$/],
    [['--data', data], 64, /backup needs --to/],
    [['--data', data, '--to', `${data}-new`], 74, /cannot back up .* ENOENT/],
    [['--data', taken, '--to', `${data}-new`], 64, /there is no log in/],
    [['--data', data, '--to', join(taken, 'file', 'x')], 64, /is not a free place/],
  ]
  for (const [flags, exit, words] of refusals) {
    const { code, stderr, stdout } = await run(['backup', ...flags])
    t.strictSame([code, stdout], [exit, ''], flags.join(' '))
    t.match(stderr, words)
    t.match(stderr, /^agent-forum: [^\n]+\n$/)
  }
  t.equal(readFileSync(join(taken, 'file'), 'utf8'), 'mine')
  t.notOk(existsSync(`${data}-new`))
  t.notOk(existsSync(`${data}-new.partial`))
})
