// Goal:   a backup of a running node is complete up to one position of its log and holds every
//         write that was acknowledged before the backup began. A node can serve from the backup.
// Method: the real programs. Agents publish while backups are taken. Each backup is checked with
//         `wal verify`, then exported or started, and compared with what had been acknowledged.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ConfigError } from '../../src/base/arguments.ts'
import { runBackup } from '../../src/cli/backup-command.ts'
import { JournalError } from '../../wal/errors.ts'
import { Client, publishedThread, startForum, startForumOn } from '../api/harness.ts'
import { dataDirectory, run } from '../api/process.ts'
import { until } from '../until.ts'

const small = ['--segment-mb', '1']

/** Returns the records of a log, which must export without a warning. */
async function exported(t: Test, data: string): Promise<{ position: number; content?: string }[]> {
  const { code, stdout, stderr } = await run(['wal', 'export', '--data', data])
  t.strictSame([code, stderr], [0, ''])
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Starts four agents that reply until stopped; `answered` collects what was acknowledged. */
function keepWriting(
  ana: Client,
  thread: string,
  { characters, restMs }: { characters: number; restMs: number },
) {
  const answered: string[] = []
  let running = true
  const writing = Array.from({ length: 4 }, async (_, agent) => {
    for (let n = 0; running; n++) {
      const content = `agent ${agent} says ${n} `.padEnd(characters, '.')
      const { status } = await ana.reply(thread, content)
      if (restMs > 0) await sleep(restMs)
      if (status === 201) answered.push(content)
      else if (status !== 503) throw new Error(`${status}`)
    }
  })
  const stop = async () => {
    running = false
    await Promise.all(writing)
  }
  return { answered, stop }
}

t.test('backup: a node that agents write to: has every write answered before', async (t) => {
  const forum = await startForum(t, small)
  const ana = await forum.identity()
  const thread = await publishedThread(ana)
  const { answered, stop } = keepWriting(ana, thread, { characters: 500, restMs: 0 })
  await until('100 answers', () => answered.length >= 100)
  const before = answered.length
  const copy = `${forum.data}-copy`
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
  await stop()
})

t.test('backup: a node that takes checkpoints and drops log: complete after a start', async (t) => {
  const forum = await startForum(t, [...small, '--checkpoint-mb', '1'])
  const ana = await forum.identity()
  const thread = await publishedThread(ana)
  // Agents pause between writes, because other tests use the machine at the same time.
  const { answered, stop } = keepWriting(ana, thread, { characters: 8000, restMs: 5 })
  const firstSegment = join(forum.data, '0000000001.wal')
  await until('the first segment to be deleted', () => !existsSync(firstSegment))
  const copies: { copy: string; before: string[] }[] = []
  for (const round of [1, 2]) {
    const before = [...answered]
    const copy = `${forum.data}-copy-${round}`
    const { code, stdout, stderr } = await run(['backup', '--data', forum.data, '--to', copy])
    t.strictSame([code, stderr], [0, ''])
    t.match(
      stdout,
      /ends at position \d+: a checkpoint at position \d+, \d+ records? in \d+ segments?,/,
    )
    copies.push({ copy, before })
  }
  await stop()
  await forum.stop()
  for (const { copy, before } of copies) {
    t.equal((await run(['wal', 'verify', '--data', copy])).code, 0)
    const restored = await startForumOn(t, copy, small)
    const messages = await restored.anonymous.messages(thread)
    const shown = new Set(messages.map(({ content }) => content))
    t.same(
      before.filter((content) => !shown.has(content)),
      [],
      `${before.length} were answered before`,
    )
    await restored.stop()
  }
})

t.test(
  'backup: a message was erased, text is on disk: shown as removed, its text gone',
  async (t) => {
    const flags = [...small, '--text-memory-mb', '1']
    const forum = await startForum(t, flags)
    const ana = await forum.identity()
    const thread = await publishedThread(ana)
    const secret = 'what nobody may read again'
    const { body } = await ana.reply(thread, secret)
    const filler = '😀'.repeat(7_000)
    for (let n = 0; n < 60; n++) await ana.reply(thread, `${n} ${filler}`)
    const about = ['--data', forum.data, '--reason', 'a test']
    await until('the message to be removed', async () => {
      return (await run(['admin', 'remove-message', '--yes', body.message_id, ...about])).code === 0
    })
    await forum.stop() // takes a checkpoint
    await forum.start()
    await ana.reply(thread, 'the last one')
    const before = (await ana.read(thread, '?limit=40')).text
    await forum.stop()
    const copy = `${forum.data}-copy`
    t.equal(await runBackup(['--data', forum.data, '--to', copy]), 0)
    const names = readdirSync(copy)
    t.same(
      names.filter((name) => readFileSync(join(copy, name)).includes(secret)),
      [],
    )
    t.ok(names.some((name) => name.endsWith('.pages')))
    const restored = await startForumOn(t, copy, flags)
    t.equal((await new Client(restored, ana.token).read(thread, '?limit=40')).text, before)
    t.match(JSON.parse(before).messages[1], { content: '[removed]', removed: true })
  },
)

t.test('backup: the target is not empty, or no log: refused, nothing changed', async (t) => {
  const data = dataDirectory(t)
  const taken = `${data}-taken`
  mkdirSync(taken)
  writeFileSync(join(taken, 'file'), 'mine')
  const refusals: [string[], object, RegExp][] = [
    [['--data', data, '--to', taken], ConfigError, /takes a new directory, not \S+$/],
    [['--data', data], ConfigError, /backup needs --to/],
    [['--data', data, '--to', `${data}-new`], ConfigError, /there is no log in/],
    [['--data', taken, '--to', `${data}-new`], ConfigError, /there is no log in/],
    [
      ['--data', join(taken, 'file'), '--to', `${data}-new`],
      JournalError,
      /cannot back up .*ENOTDIR/,
    ],
    [
      ['--data', data, '--to', join(taken, 'file', 'x')],
      ConfigError,
      /takes a new directory, not /,
    ],
  ]
  for (const [flags, kind, words] of refusals) {
    const error = await runBackup(flags).then(
      () => null,
      (thrown: Error) => thrown,
    )
    t.equal(error?.constructor, kind)
    t.match(error?.message, words)
    t.notMatch(error?.message, '\n')
  }
  t.equal(readFileSync(join(taken, 'file'), 'utf8'), 'mine')
  t.notOk(existsSync(`${data}-new`))
  t.notOk(existsSync(`${data}-new.partial`))
})
