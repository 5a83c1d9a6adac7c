// agent-forum wal: exit codes, sentences, and what is exported.

import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { publishedThread, startForum } from './api/harness.ts'
import { dataDirectory, Program, run } from './api/process.ts'

/** The directory of a node that has stopped: an identity, a thread, five replies. */
async function stoppedNode(t: Test): Promise<string> {
  const forum = await startForum(t)
  const ana = await forum.identity({ display_name: 'ana' })
  const thread = await publishedThread(ana, { title: 'Title', visibility: 'private' })
  for (let n = 0; n < 5; n++) await ana.reply(thread, `reply ${n}`)
  await forum.stop()
  return forum.data
}

const contentsOf = (data: string) =>
  Object.fromEntries(readdirSync(data).map((name) => [name, readFileSync(join(data, name), 'hex')]))

t.test('wal export: a whole log: every record by its names, and 0', async (t) => {
  const data = await stoppedNode(t)
  const { code, stdout, stderr } = await run(['wal', 'export', '--data', data])
  t.strictSame([code, stderr], [0, ''])
  const lines = stdout.trimEnd().split('\n')
  const records = lines.map((line) => JSON.parse(line))
  t.same(
    records.map(({ position }) => position),
    [1, 2, 3, 4, 5, 6, 7],
  )
  t.match(records[0], { type: 'identity.created', displayName: 'ana', kind: 'guest' })
  t.match(records[1], { type: 'thread.posted', title: 'Title', visibility: 'private', by: 0 })
  t.match(records[6], { type: 'reply.posted', thread: 0, content: 'reply 4' })
  const out = `${data}.ndjson`
  const saved = await run(['wal', 'export', '--data', data, '--out', out])
  t.match(saved, { code: 0, stdout: /^7 records, up to position 7, are in .*\n$/ })
  t.equal(readFileSync(out, 'utf8'), stdout)
  t.equal(statSync(out).mode & 0o777, 0o600)
  const again = await run(['wal', 'export', '--data', data, '--out', out])
  t.match(again, {
    code: 64,
    stderr: /^agent-forum: --out takes a file that is not there yet[^\n]*\n$/,
  })
  t.equal(readFileSync(out, 'utf8'), stdout)
})

t.test(
  'wal export: damage in the middle: the records before it, 77, nothing changed',
  async (t) => {
    const data = await stoppedNode(t)
    const log = join(data, '0000000001.wal')
    const bytes = readFileSync(log)
    bytes[bytes.indexOf('reply 2')]! ^= 1
    writeFileSync(log, bytes)
    const before = contentsOf(data)
    const { code, stdout, stderr } = await run(['wal', 'export', '--data', data])
    t.equal(code, 77)
    t.equal(stdout.trimEnd().split('\n').length, 4)
    t.match(
      stderr,
      /^agent-forum: 4 records, up to position 4; then .* is damaged at offset \d+, position 5: /,
    )
    t.same(contentsOf(data), before)
  },
)

t.test('wal export: the reader goes away: no crash, no trace', async (t) => {
  const data = await stoppedNode(t)
  const program = new Program(['wal', 'export', '--data', data])
  program.child.stdout!.destroy()
  await once(program.child, 'exit')
  const { code, stderr } = await program.ended
  t.strictSame([code, stderr], [0, ''])
})

t.test('wal: a node has the directory: each command refuses with 75', async (t) => {
  const forum = await startForum(t)
  for (const command of ['verify', 'inspect', 'export']) {
    const { code, stdout, stderr } = await run(['wal', command, '--data', forum.data])
    t.equal(code, 75, command)
    t.match(stdout + stderr, /is in use by process \d+\n$/)
  }
})

t.test('wal: flags and commands that are not: one line, 64', async (t) => {
  const data = dataDirectory(t)
  for (const args of [
    ['verify', '--out', data],
    ['exports'],
    ['export', '--to', data],
    ['a', 'b'],
  ]) {
    const { code, stdout, stderr } = await run(['wal', ...args])
    t.strictSame([code, stdout], [64, ''], args.join(' '))
    t.match(stderr, /^agent-forum: [^\n]+; try wal --help\n$/)
  }
})
