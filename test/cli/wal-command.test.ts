// agent-forum wal: exit codes, messages, and exported records.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ConfigError } from '../../src/base/arguments.ts'
import { runWal } from '../../src/cli/wal-command.ts'
import { RecordNames } from '../../src/forum/record-names.ts'
import { realDisk } from '../../wal/disk.ts'
import { publishedThread, startForum } from '../api/harness.ts'
import { dataDirectory, Program, program, run } from '../api/process.ts'
import { damagedCopy } from './damaged-log.ts'

const small = ['--segment-mb', '1']
let stopped: string | null = null

/** Copies the data directory of a stopped node with an identity, a thread and five replies. */
async function stoppedNode(test: Test): Promise<string> {
  stopped ??= await runOnce()
  const data = dataDirectory(test)
  cpSync(stopped, data, { recursive: true })
  return data
}

async function runOnce(): Promise<string> {
  const forum = await startForum(t, small)
  const ana = await forum.identity({ display_name: 'ana' })
  const thread = await publishedThread(ana, { title: 'Title', visibility: 'private' })
  for (let n = 0; n < 5; n++) await ana.reply(thread, `reply ${n}`)
  await forum.stop()
  return forum.data
}

const contentsOf = (data: string) =>
  Object.fromEntries(readdirSync(data).map((name) => [name, readFileSync(join(data, name), 'hex')]))

async function withoutLog(t: Test, data: string): Promise<void> {
  const made = `${data}-made`
  for (const args of [
    ['verify'],
    ['inspect'],
    ['export'],
    ['export', '--out', made],
    ['repair', '--copy-to', made],
  ]) {
    const { code, stdout, stderr } = await run(['wal', ...args, '--data', data])
    t.strictSame([code, stdout], [64, ''], args.join(' '))
    t.equal(stderr, `agent-forum: there is no log in ${data}\n`)
  }
  t.notOk(existsSync(made))
}

t.test('wal: a directory without a log: 64, and nothing is created', async (t) => {
  const data = dataDirectory(t)
  mkdirSync(data, { recursive: true })
  await withoutLog(t, data)
  t.strictSame(readdirSync(data), [])
})

t.test('wal: a directory that does not exist: 64, and nothing is created', async (t) => {
  const data = dataDirectory(t)
  await withoutLog(t, data)
  t.notOk(existsSync(data))
})

t.test('wal export: an undamaged log: every record with named fields, and 0', async (t) => {
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
  t.match(saved, { code: 0, stdout: `${out}: 7 records, up to position 7\n` })
  t.equal(readFileSync(out, 'utf8'), stdout)
  t.equal(statSync(out).mode & 0o777, 0o600)
  const again = await run(['wal', 'export', '--data', data, '--out', out])
  t.match(again, {
    code: 64,
    stderr: /^agent-forum: --out takes a file that is not there yet[^\n]*\n$/,
  })
  t.equal(readFileSync(out, 'utf8'), stdout)
})

t.test('wal export: ids: with their prefixes, and beside the numbers that name them', async (t) => {
  // A checkpoint deletes the beginning of the log once an erased text must leave it.
  const forum = await startForum(t, [...small, '--checkpoint-mb', '0'])
  const [ana, ben] = [await forum.identity({}), await forum.identity({})]
  const fields = { visibility: 'private', participant_ids: [ben.id] }
  const { thread_id, message_id } = (await ana.thread(fields)).body
  const reply = (await ben.reply(thread_id)).body
  const remove = ['remove-message', '--yes', reply.message_id!, '--no-wait', '--data', forum.data]
  t.equal((await run(['admin', ...remove])).code, 0)
  t.equal((await run(['admin', 'block-identity', ben.id!, '--data', forum.data])).code, 0)
  await forum.stop()
  const { stdout } = await run(['wal', 'export', '--data', forum.data])
  const records = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(records, [
    { type: 'identity.created', id: ana.id },
    { type: 'identity.created', id: ben.id },
    {
      ...{ type: 'thread.posted', id: thread_id, messageId: message_id, by: 0, byId: ana.id },
      ...{ participants: [1], participantIds: [ben.id] },
    },
    { type: 'reply.posted', messageId: reply.message_id, byId: ben.id, threadId: thread_id },
    { type: 'message.erased', message: 1, messageId: reply.message_id },
    { type: 'identity.blocked', identity: 1, identityId: ben.id },
  ])
})

t.test('wal export: invitations: with the prefix of their ids, wherever they stand', async (t) => {
  const forum = await startForum(t, [...small, '--registration', 'invited'])
  const admin = (...args: string[]) => run(['admin', ...args, '--data', forum.data, '--json'])
  const { id, code } = JSON.parse((await admin('invite')).stdout)
  const made = (await forum.anonymous.post('/api/identities', { invite: code })).body
  const revoked = JSON.parse((await admin('invite')).stdout)
  t.equal((await admin('revoke-invite', '--yes', revoked.code)).code, 0)
  await forum.stop('SIGKILL')
  const { stdout } = await run(['wal', 'export', '--data', forum.data])
  const records = stdout.trimEnd().split('\n')
  t.match(
    records.map((line) => JSON.parse(line)),
    [
      { type: 'invitation.issued', id, uses: 1 },
      { type: 'identity.invited', id: made.id, invitation: id },
      { type: 'invitation.issued', id: revoked.id },
      { type: 'invitation.revoked', id: revoked.id },
    ],
  )
  for (const secret of [code, revoked.code, made.token]) t.notOk(stdout.includes(secret.slice(4)))
})

t.test('N1: wal export: a log without its beginning: numbers, and no ids for them', async (t) => {
  const names = new RecordNames()
  const [id, messageId] = ['a'.repeat(32), 'b'.repeat(32)]
  const posted = {
    at: 1,
    title: 'T',
    key: '',
    client: '',
    participants: [7],
    mentions: [9],
    messageType: 'question',
  } as const
  const thread = { type: 'thread.posted', id, messageId, by: 7, visibility: 'private' } as const
  const named = names.add(812, { ...posted, ...thread, escapedContent: '"C"' })
  const shown = { id: `thr_${id}`, messageId: `msg_${messageId}`, content: 'C' }
  t.strictSame(named, { ...posted, ...thread, ...shown })
})

t.test('wal verify, wal export: one record: counted in the singular', async (t) => {
  const forum = await startForum(t, small)
  await forum.identity({})
  await forum.stop()
  const { stdout } = await run(['wal', 'verify', '--data', forum.data])
  t.match(stdout, /^0000000001\.wal: \d+ bytes, position 1, 1 record in \d+ frames\n/)
  const out = `${forum.data}.ndjson`
  const exported = await run(['wal', 'export', '--data', forum.data, '--out', out])
  t.equal(exported.stdout, `${out}: 1 record, up to position 1\n`)
  const copied = await run(['backup', '--data', forum.data, '--to', `${forum.data}-copy`])
  t.match(copied.stdout, /: 1 record in 1 segment, /)
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

t.test('output: its reader goes away: no crash, no stack trace, the exit code', async (t) => {
  const data = await stoppedNode(t)
  const damaged = damagedCopy(data)
  const cases: [code: number, args: string[]][] = [
    [0, ['wal', 'export', '--data', data]],
    [0, ['wal', 'inspect', '--data', data]],
    [77, ['wal', 'verify', '--data', damaged]],
    [77, ['wal', 'verify', '--data', damaged, '--json']],
    ...[['serve'], ['swarm'], ['wal'], ['export']].map((command): [number, string[]] => [
      0,
      [...command, '--help'],
    ]),
    [0, ['serve', '--print-config']],
  ]
  for (const [expected, args] of cases) {
    const program = new Program(args)
    program.child.stdout!.destroy()
    await once(program.child, 'exit')
    const { code, stderr } = await program.ended
    t.strictSame([code, stderr], [expected, ''], args.join(' '))
  }
})

const full = '/dev/full'
const skip = existsSync(full) ? false : `no ${full} here`
t.test('output: no space for it: 74 in one line', { skip }, async (t) => {
  const data = await stoppedNode(t)
  const cases = [
    ['wal', 'export', '--data', data],
    ['wal', 'verify', '--data', data],
    ['serve', '--help'],
  ]
  for (const args of cases) {
    const stdio = ['ignore', openSync(full, 'w'), 'pipe'] as const
    const { status, stderr } = spawnSync(process.execPath, [program, ...args], {
      stdio: [...stdio],
    })
    t.equal(status, 74, args.join(' '))
    t.match(stderr.toString(), /^agent-forum: cannot write to stdout: ENOSPC[^\n]*\n$/)
  }
})

/** The data of a stopped node, whose log is damaged in the middle. */
async function damagedNode(t: Test) {
  const data = await stoppedNode(t)
  const log = join(data, '0000000001.wal')
  const bytes = readFileSync(log)
  bytes[bytes.indexOf('reply 2')]! ^= 1
  writeFileSync(log, bytes)
  return { data, log, bytes }
}

t.test('wal repair: damage in the middle: a full copy, then it starts with a prefix', async (t) => {
  const { data, log } = await damagedNode(t)
  const { reserve, ...before } = contentsOf(data)
  const copy = `${data}-before`
  const refused = await run(['wal', 'repair', '--data', data, '--copy-to', join(log, 'x')])
  t.equal(refused.code, 64)
  t.same(contentsOf(data), { reserve, ...before })
  const { code, stdout, stderr } = await run(['wal', 'repair', '--data', data, '--copy-to', copy])
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /ends at position 4 now and can be started\nlost: positions 5 to 7; /)
  t.same(contentsOf(copy), before)
  t.match(await run(['wal', 'verify', '--data', data]), { code: 0, stdout: /position 4: sealed/ })
  t.match(await run(['serve', '--port', '0', '--data', copy]), { code: 77 })
  const program = new Program(['serve', '--port', '0', '--data', data])
  t.teardown(() => program.stop('SIGKILL'))
  const { url } = await program.logged('started')
  t.match(
    program.log.find(({ msg }) => msg === 'recovered'),
    { position: 4, messages: 3 },
  )
  const { epoch } = (await (await fetch(`${url}/api/status`)).json()) as { epoch: string }
  t.notMatch(stdout, epoch)
  t.equal(JSON.parse(readFileSync(join(data, 'epoch'), 'utf8')).id, epoch)
  t.equal((await program.stop('SIGTERM')).code, 0)
})

t.test('wal repair: cut off before the log is replaced: an epoch has begun', async (t) => {
  const { data, log, bytes } = await damagedNode(t)
  const rename = realDisk.rename.bind(realDisk)
  t.intercept(realDisk, 'rename', {
    value: (from: string, to: string) => {
      if (to === log) throw new Error('cut off')
      rename(from, to)
    },
  })
  await t.rejects(runWal(['repair', '--data', data, '--copy-to', `${data}-before`]))
  t.match(JSON.parse(readFileSync(join(data, 'epoch'), 'utf8')), { position: 4 })
  t.ok(readFileSync(log).equals(bytes))
})

t.test('wal repair: beside the index of a search: the copy is made without it', async (t) => {
  const { data } = await damagedNode(t)
  mkdirSync(join(data, 'search'))
  writeFileSync(join(data, 'search', 'a.shard'), 'words')
  const copy = `${data}-before`
  const { code, stderr } = await run(['wal', 'repair', '--data', data, '--copy-to', copy])
  t.strictSame([code, stderr], [0, ''])
  t.notOk(readdirSync(copy).includes('search'))
})

t.test('wal repair: an undamaged log: nothing is done, no copy is made', async (t) => {
  const data = await stoppedNode(t)
  const before = contentsOf(data)
  const copy = `${data}-copy`
  const { code, stdout } = await run(['wal', 'repair', '--data', data, '--copy-to', copy])
  t.match([code, stdout], [0, /is whole: there is nothing to repair/])
  t.same(contentsOf(data), before)
  t.notOk(existsSync(copy))
})

t.test('wal: a node uses the directory: each command refuses with 75', async (t) => {
  const forum = await startForum(t, small)
  for (const flags of [['inspect'], ['repair', '--copy-to', 'copy']]) {
    const { code, stdout, stderr } = await run(['wal', ...flags, '--data', forum.data])
    t.equal(code, 75, flags[0])
    t.match(stdout + stderr, /is in use by process \d+; stop it, or choose another directory\n$/)
  }
})

t.test('wal: unknown flags and commands: refused in one line', async (t) => {
  const data = dataDirectory(t)
  for (const args of [
    ['verify', '--out', data],
    ['exports'],
    ['export', '--to', data],
    ['a', 'b'],
    ['verfy'],
  ]) {
    const error = await runWal(args).then(
      () => null,
      (thrown: Error) => thrown,
    )
    t.equal(error?.constructor, ConfigError)
    t.match(error?.message, /^[^\n]+; try wal --help$/)
    if (args[0] === 'verfy') t.match(error?.message, '(did you mean wal verify?)')
  }
})
