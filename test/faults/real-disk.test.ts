// Goal:   on a real file system that is full, small, read-only or not permitted, or with no file
//         descriptor left, writes are refused, reads go on, nothing acknowledged is lost, and
//         writes resume by themselves once there is room. A node that cannot start reports the
//         reason in one line.
// Method: the real program on a tmpfs of a few MiB, which the test mounts and unmounts. Mounting
//         needs root; without it these tests are skipped, and say so.
// Leaves out: a disk that becomes read-only under an open log; test/wal/failure.test.ts covers it.

import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Answer, type Client, Forum, newKey } from '../api/harness.ts'
import { dataDirectory, Program, program, run } from '../api/process.ts'
import { until } from '../until.ts'
import { limitFiles } from './file-limit.ts'
import { fill, smallDisk } from './small-disk.ts'

const content = 'x'.repeat(8000)
class SmallForum extends Forum {
  readonly answered: string[] = []
  ana!: Client
  thread = ''

  static async on(t: Test, disk: string): Promise<SmallForum> {
    const forum = new SmallForum(join(disk, 'data'), ['--segment-mb', '1'])
    t.teardown(async () => {
      await forum.stop('SIGKILL')
      await forum.agent.destroy()
    })
    await forum.start()
    forum.ana = await forum.identity()
    forum.thread = (await forum.ana.thread()).body.thread_id
    return forum
  }

  async publish(): Promise<Answer> {
    const answer = await this.ana.reply(this.thread, content, { 'idempotency-key': newKey() })
    if (answer.status === 201) this.answered.push(answer.body.message_id)
    return answer
  }

  /** Publishes until the disk is full; that request must be answered with `storage_full`. */
  async publishUntilFull(t: Test): Promise<void> {
    for (;;) {
      const answer = await this.publish()
      if (answer.status === 201) continue
      if (answer.body.error === 'overloaded') continue // the next segment is being made
      t.match(answer, { status: 503, body: { error: 'storage_full' } })
      t.match(answer.headers['retry-after'], /^\d+$/)
      return
    }
  }

  /** Retries until a reply is published: writes must resume by themselves once there is room. */
  async publishAgain(): Promise<void> {
    await until('a reply to be published', async () => {
      const { status, body } = await this.publish()
      if (status === 201) return true
      if (!/^(storage_full|overloaded)$/.test(body.error)) throw new Error(body.error)
      return false
    })
  }

  async shown(): Promise<string[]> {
    const messages = await this.ana.messages(this.thread)
    return messages.slice(1).map(({ id }) => id)
  }
}

const needsRoot = { timeout: 60_000 }

t.test('full disk: writes 503, reads 200, then resumes by itself', needsRoot, async (t) => {
  const disk = smallDisk(t, 6)
  if (disk === null) return t.comment('skipped: mounting a tmpfs needs root')
  const forum = await SmallForum.on(t, disk)
  const ballast = fill(disk)
  await forum.publishUntilFull(t)
  t.ok(forum.answered.length > 50, `${forum.answered.length} published`)
  t.same(await forum.shown(), forum.answered)
  rmSync(ballast)
  await forum.publishAgain()
  t.same(await forum.shown(), forum.answered)
  t.equal(forum.log.match(/"msg":"started"/g)?.length, 1, 'without a restart')
  t.match(forum.log, /"msg":"storage_full"/)
  t.match(forum.log, /"msg":"storage_available"/)
  await forum.stop('SIGKILL')
  await forum.start()
  t.same(await forum.shown(), forum.answered)
})

t.test('full disk: killed, filled up: starts, reads, later writes', needsRoot, async (t) => {
  const disk = smallDisk(t, 6)
  if (disk === null) return t.comment('skipped: mounting a tmpfs needs root')
  const forum = await SmallForum.on(t, disk)
  const ballast = fill(disk)
  await forum.publishUntilFull(t)
  for (const kill of [1, 2]) {
    await forum.stop('SIGKILL')
    fill(disk)
    await forum.start()
    t.same(await forum.shown(), forum.answered, `start ${kill} after a kill`)
    await forum.publishUntilFull(t)
  }
  const { code } = (await forum.stop('SIGTERM'))!
  t.equal(code, 0)
  fill(disk)
  await forum.start()
  await forum.publishUntilFull(t)
  rmSync(ballast)
  await forum.publishAgain()
  t.same(await forum.shown(), forum.answered)
})

t.test('no file descriptors: reads go on, writes resume with some', needsRoot, async (t) => {
  const disk = smallDisk(t, 16)
  if (disk === null) return t.comment('skipped: mounting a tmpfs needs root')
  const forum = await SmallForum.on(t, disk)
  const { pid } = forum
  const limit = (files: number) => limitFiles(pid, files)
  await forum.publish() // opens the client's connection
  limit(3)
  await forum.publishUntilFull(t)
  const waiting = Array.from({ length: 20 }, () =>
    connect(Number(new URL(forum.url).port), '127.0.0.1'),
  )
  await Promise.all(
    waiting.map((socket) => new Promise((resolve) => socket.once('connect', resolve))),
  )
  t.same(await forum.shown(), forum.answered)
  limit(512)
  await forum.publishAgain()
  t.equal(await answerOn(waiting[0]!), 'HTTP/1.1 200')
  for (const socket of waiting) socket.destroy()
  t.same(await forum.shown(), forum.answered)
})

async function answerOn(socket: Socket): Promise<string> {
  socket.write('GET /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [bytes] = (await new Promise((resolve) =>
    socket.once('data', (...all) => resolve(all)),
  )) as [Buffer]
  return bytes.toString().slice(0, 12)
}

t.test(
  'start: on a read-only or full disk: one line, 74, nothing is changed',
  needsRoot,
  async (t) => {
    const disk = smallDisk(t, 6)
    if (disk === null) return t.comment('skipped: mounting a tmpfs needs root')
    const forum = await SmallForum.on(t, disk)
    await forum.publish()
    await forum.stop()
    const contents = () =>
      readdirSync(forum.data).map((name) => [name, readFileSync(join(forum.data, name), 'latin1')])
    const before = contents()
    const refused = async (data: string, words: RegExp) => {
      const { code, stderr } = await run(['serve', '--port', '0', '--data', data])
      t.equal(code, 74)
      t.match(stderr, /^agent-forum: [^\n]+\n$/)
      t.match(stderr, words)
    }
    const remount = (mode: string) => execFileSync('mount', ['-o', `remount,${mode}`, disk])
    remount('ro')
    await refused(forum.data, /EROFS/)
    await refused(join(disk, 'new'), /EROFS/)
    remount('rw')
    t.same(contents(), before)
    fill(disk)
    mkdirSync(join(disk, 'new'))
    await refused(join(disk, 'new'), /ENOSPC/)
    t.same(contents(), before)
    await forum.start()
    t.same(await forum.shown(), forum.answered)
  },
)

t.test('start: by a user without permission to write: one line, 74', needsRoot, async (t) => {
  if (process.getuid?.() !== 0) return t.comment('skipped: becoming another user needs root')
  const foreign = dataDirectory(t)
  chmodSync(dirname(foreign), 0o755)
  mkdirSync(foreign, { mode: 0o755 })
  for (const data of [foreign, join(foreign, 'new')]) {
    // The environment is empty, because that of the test runner would make the program write a
    // coverage file.
    const command = ['env', '-i', process.execPath, program]
    command.push('serve', '--port', '0', '--data', data)
    const { status, stderr } = spawnSync('setpriv', ['--reuid=65534', '--clear-groups', ...command])
    t.equal(status, 74)
    t.match(
      `${stderr}`,
      /^agent-forum: cannot [^\n]+ EACCES: [^\n]+; run this as the user that owns it, [^\n]+\n$/,
    )
  }
  t.same(readdirSync(foreign), [])
})

const losses: Record<string, (data: string) => void> = {
  'was removed': (data) => rmSync(data, { recursive: true }),
  'was taken by another process': (data) => {
    rmSync(join(data, 'lock'))
    writeFileSync(join(data, 'lock'), '{}')
  },
}
for (const [name, lose] of Object.entries(losses)) {
  t.test(`data directory: ${name} while a node runs: it ends with 74`, async (t) => {
    const data = dataDirectory(t)
    const node = new Program(['serve', '--port', '0', '--data', data])
    const spare = join(data, '0000000002.wal')
    const isServing = () => node.stdout.includes('"started"') && existsSync(spare)
    await until('the node to serve', isServing)
    lose(data)
    const { code, stderr } = await node.ended
    t.equal(code, 74)
    // A node that makes its next segment at that moment finds that its directory is missing.
    const missing = `agent-forum: cannot make the segment after ${data}/0000000001.wal: ENOENT`
    const isGone = stderr === `agent-forum: ${data} is gone, or another process has taken it\n`
    t.ok(isGone || (name === 'was removed' && stderr.startsWith(missing)), stderr)
  })
}

t.test('data directory: its lock cannot be read for a while: the node goes on', async (t) => {
  const data = dataDirectory(t)
  const node = new Program(['serve', '--port', '0', '--data', data])
  await until('the node to serve', () => node.stdout.includes('"started"'))
  const [lock, aside, loop] = ['lock', 'aside', 'loop'].map((name) => join(data, name))
  linkSync(lock!, aside!)
  symlinkSync('lock', loop!)
  renameSync(loop!, lock!) // the link names itself: ELOOP
  t.throws(() => readFileSync(lock!), { code: 'ELOOP' })
  await sleep(5_000) // the node looks every 2 seconds
  renameSync(aside!, lock!)
  node.child.kill('SIGTERM')
  const { code, stderr } = await node.ended
  t.strictSame([code, stderr], [0, ''])
})
