// The operators' socket and the client of `agent-forum admin`, without a node behind the socket.

import { once } from 'node:events'
import { chmodSync, existsSync, linkSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import pino from 'pino'
import t, { type Test } from 'tap'
import { TopCounts } from '../../../src/base/top-counts.ts'
import {
  actsOfNode,
  erasureOfNode,
  moderateNode,
  statusOfNode,
} from '../../../src/cli/admin-client.ts'
import type { CommandError } from '../../../src/cli/command-error.ts'
import { Gate } from '../../../src/edge/http/gate.ts'
import type { Erasure } from '../../../src/engine/storage/checkpoints.ts'
import type { Moderating, ModerationOutcome } from '../../../src/forum/moderation/commands.ts'
import type { ErrorCode } from '../../../src/kernel/rejection.ts'
import { moderate } from '../../../src/operators/admin/commands.ts'
import { socketPath, withSocketPath } from '../../../src/operators/admin/protocol.ts'
import { type AdminSocket, serveAdmin } from '../../../src/operators/admin/socket.ts'
import { dataDirectory, run } from '../../api/process.ts'
import { newWorld } from '../../forum/doubles.ts'
import { Scene } from '../../forum/scene.ts'
import { until } from '../../until.ts'

const silent = pino({ level: 'silent' })
const thread = `thr_${'a'.repeat(32)}`
const lock = { command: 'lock-thread', id: thread, reason: 'why' } as const
const noWait = () => {}

function newDirectory(t: Test): string {
  const dir = dataDirectory(t)
  mkdirSync(dir)
  return dir
}

const withoutAccess = {
  refusedCallers: new TopCounts<number>(1),
  invitations: () => [],
  administer: async () => assertNever(),
  findMessage: async () => -1,
  textOf: async () => '',
  whenDurable: async () => null,
  signInUrl: () => null,
}

/** Serves a socket in a directory. `outcomes` are returned in order, one for each command. */
function serve(
  t: Test,
  outcomes: ModerationOutcome[],
  dir = newDirectory(t),
  progress: Partial<Erasure> = {},
  log = silent,
) {
  const given: (Moderating & { command: string })[] = []
  const { state } = newWorld().forum
  const node: Parameters<AdminSocket['open']>[0] = {
    state,
    ...withoutAccess,
    moderate: async (command, about) => {
      given.push({ command, ...about })
      return outcomes.shift()!
    },
    erasure: (position) => ({
      checkpoints_left: position,
      is_gone: false,
      takes_checkpoints: true,
      damaged: [],
      warnings: [],
      ...progress,
    }),
  }
  const { open, stop } = serveAdmin(dir, () => ({}), log)
  open(node)
  t.teardown(stop)
  return { dir, given, state, stop }
}

const done: ModerationOutcome = { position: 7, isNew: true, act: null }

/** Sends a body to the socket, and resolves to the status of the response. */
function send(dir: string, method: string, path: string, body: string): Promise<number> {
  return withSocketPath(dir, (socketPath) => {
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath, method, path }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode!))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  })
}

t.test('admin socket: of its owner alone, and gone when the node stops', async (t) => {
  const { dir, given, stop } = serve(t, [done])
  t.equal(statSync(socketPath(dir)).mode & 0o777, 0o600)
  t.same(await moderateNode(dir, lock, noWait), { id: thread, is_new: true, act: null })
  t.same(given, [lock])
  t.same(await erasureOfNode(dir, 1), {
    checkpoints_left: 1,
    is_gone: false,
    takes_checkpoints: true,
    damaged: [],
    warnings: [],
  })
  stop()
  t.notOk(existsSync(socketPath(dir)))
})

t.test(
  'admin: a page file with the text is damaged: exit 65, names it and the remedy',
  async (t) => {
    const damaged = ['0000000002.pages']
    const progress = { checkpoints_left: 0, damaged }
    const { dir, stop } = serve(t, [done, done], newDirectory(t), progress)
    const remove = ['admin', 'remove-message', '--yes', `msg_${'a'.repeat(32)}`, '--data', dir]
    const { code, stdout, stderr } = await run(remove)
    t.equal(code, 65)
    t.notMatch(stdout, /has left/)
    t.match(
      stderr,
      /may still be in 0000000002\.pages of .*; restore a backup, and remove the message there/,
    )
    stop()
  },
)

t.test('admin socket: one is left by a node that was killed: replaced', async (t) => {
  const dir = newDirectory(t)
  const left = createServer().listen(join(dir, 'bound')) // binds synchronously
  linkSync(join(dir, 'bound'), socketPath(dir))
  chmodSync(socketPath(dir), 0o666)
  left.close()
  serve(t, [done], dir)
  t.equal(statSync(socketPath(dir)).mode & 0o777, 0o600)
  t.match(await moderateNode(dir, lock, noWait), { is_new: true })
})

t.test('admin socket: a directory with a long path: found by another one', async (t) => {
  const dir = join(newDirectory(t), 'a'.repeat(100), 'b'.repeat(100))
  mkdirSync(dir, { recursive: true })
  const { stop } = serve(t, [done], dir)
  t.ok(existsSync(socketPath(dir)))
  t.match(await moderateNode(dir, lock, noWait), { is_new: true })
  stop()
  t.notOk(existsSync(socketPath(dir)))
})

t.test('admin socket: it cannot be made: the log says so, and nothing else fails', async (t) => {
  const lines: string[] = []
  const log = pino({}, { write: (line) => lines.push(line) })
  const dir = newDirectory(t)
  mkdirSync(socketPath(dir)) // occupies the socket's path
  serveAdmin(dir, () => ({}), log).stop()
  await until('a warning', () => lines.join().includes('admin_socket_missing'))
  t.ok(statSync(socketPath(dir)).isDirectory())
})

t.test(
  'admin socket: of a node that starts: its status, and every command is refused',
  async (t) => {
    const dir = newDirectory(t)
    t.teardown(serveAdmin(dir, () => ({ is_ready: false }), silent).stop)
    t.same(await statusOfNode(dir), { is_ready: false })
    const starting = { exitCode: 69, message: /^the node is starting/ }
    await t.rejects(moderateNode(dir, lock, noWait), starting)
    await t.rejects(actsOfNode(dir), starting)
  },
)

/** Resolves to the error with which the command fails. */
function failureOf(dir: string): Promise<CommandError> {
  return moderateNode(dir, lock, noWait).then(assertNever, (error) => error)
}

function assertNever(): never {
  throw new Error('this is not reached')
}

t.test('admin client: nobody answers: exit 69, and the sentence says why', async (t) => {
  const dir = newDirectory(t)
  const fails = async (message: RegExp) => {
    t.match(await failureOf(dir), { exitCode: 69, message })
  }
  await fails(/there is no socket/)
  writeFileSync(socketPath(dir), '')
  await fails(/left over from a node that has ended/)
  const other = newDirectory(t)
  const broken = createServer((_, response) => response.end('not JSON'))
  await new Promise<void>((resolve) => broken.listen(socketPath(other), resolve))
  t.match(await failureOf(other), { exitCode: 69 })
  broken.close()
})

t.test('admin client: the node is busy: tries again, and says so once', async (t) => {
  const busy: ModerationOutcome = { rejected: 'overloaded' }
  const { dir, given } = serve(t, [busy, { rejected: 'unreadable' }, done])
  const said: string[] = []
  t.match(await moderateNode(dir, lock, (why) => said.push(why)), { is_new: true })
  t.equal(given.length, 3)
  t.match(said, [/checkpoint/])
  t.equal(said.length, 1)
})

const refusals: [ErrorCode, exitCode: number, sentence: RegExp][] = [
  ['not_found', 65, /there is no thread thr_a/],
  ['storage_full', 74, /disk/],
  ['storage_failed', 74, /failed/],
  ['shutting_down', 69, /stopping/],
  ['no_leader', 69, /run the command on the leader/],
]
t.test('admin client: refused: the exit code and the sentence of each refusal', async (t) => {
  const { dir } = serve(
    t,
    refusals.map(([rejected]) => ({ rejected })),
  )
  for (const [code, exitCode, message] of refusals) {
    t.match(await failureOf(dir), { exitCode, message }, code)
  }
  const detail = 'It has no token.'
  const { dir: other } = serve(t, [{ rejected: 'not_found', detail }])
  t.match(await failureOf(other), { exitCode: 65, message: detail })
  const ofLeader = 'this node follows node 0123456789abcdef'
  const { dir: follower } = serve(t, [{ rejected: 'no_leader', detail: ofLeader }])
  t.match(await failureOf(follower), { exitCode: 69, message: ofLeader })
})

t.test('admin socket: anything else is sent: refused, and no command is run', async (t) => {
  const { dir, given } = serve(t, [])
  const body = (fields: object) => JSON.stringify({ id: thread, reason: '', ...fields })
  const bad: [method: string, path: string, body: string, status: number][] = [
    ['GET', '/lock-thread', '', 404],
    ['POST', '/acts', '', 404],
    ['POST', '/toString', body({}), 404],
    ['POST', '/lock-thread', '', 400],
    ['POST', '/lock-thread', 'null', 400],
    ['POST', '/lock-thread', '[', 400],
    ['POST', '/lock-thread', body({ id: 7 }), 400],
    ['POST', '/lock-thread', body({ id: `msg_${'a'.repeat(32)}` }), 400],
    ['POST', '/block-identity', body({}), 400],
    ['POST', '/lock-thread', body({ reason: 1 }), 400],
    ['POST', '/lock-thread', body({ reason: 'two\nlines' }), 400],
    ['POST', '/lock-thread', body({ reason: 'x'.repeat(501) }), 400],
    ['POST', '/lock-thread', body({ more: 'x'.repeat(20_000) }), 413],
  ]
  for (const [method, path, text, status] of bad) {
    const found = await send(dir, method, path, text)
    t.equal(found, status, `${method} ${path} ${text.slice(0, 60)}`)
  }
  t.same(given, [])
})

t.test('admin client: more acts than a page has: all are listed, oldest first', async (t) => {
  const { dir, state } = serve(t, [])
  const { forum } = new Scene(1)
  t.same(await actsOfNode(dir), [])
  state.threads.id = forum.state.threads.id = (n: number) => `thr_${n}`
  for (let n = 0; n < 1234; n++) {
    state.moderation.add({ kind: 'locked', subject: n, position: n + 1, at: n, reason: `${n}` })
  }
  const acts = await actsOfNode(dir)
  t.same(
    acts.map(({ position }) => position),
    Array.from({ length: 1234 }, (_, n) => n + 1),
  )
  t.same(acts[700], { kind: 'locked', id: 'thr_700', position: 701, at: 700, reason: '700' })
})

t.test('moderate: on a node that follows another one: refused, and nothing changes', async (t) => {
  const { forum } = new Scene(1)
  forum.isFollower = true
  const { position } = forum.state
  const id = forum.state.identities.id(0)
  forum.state.term = { ...forum.state.term, number: 3, node: '0123456789abcdef' }
  const outcome = await moderate(forum, new Gate(), 'block-identity', { id, reason: '' })
  const detail =
    'this node follows node 0123456789abcdef, the leader of term 3; run the command there'
  t.same(outcome, { rejected: 'no_leader', detail })
  t.equal(forum.state.position, position)
})

t.test('admin socket: a malformed request, and one cut off: logged as no error', async (t) => {
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line) => lines.push(line) })
  const { dir } = serve(t, [], newDirectory(t), {}, log)
  const cutOff = await withSocketPath(dir, async (socketPath) => {
    const socket = connect(socketPath)
    socket.write('POST /lock-thread HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{')
    await once(socket, 'connect')
    socket.end()
    await once(socket.resume(), 'close')
    return true
  })
  t.ok(cutOff)
  for (const path of ['//', '/acts?after=x', '/erasure?position=0.5']) {
    t.equal(await send(dir, 'GET', path, ''), 400, path)
  }
  t.equal(await send(dir, 'POST', '/lock-thread', '{'), 400)
  t.strictSame(lines, [])
})
