// Goal:   a node that follows the stream has the leader's records in its own log and state, shows
//         them once they are durable in its log, forwards writes, and continues after a restart.
// Method: a leader in memory whose log is published to a stream in memory; a follower with a real
//         journal on a simulated disk, which can be killed.

import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { answerCalls } from '../../../src/cluster/replication/call-link.ts'
import { compareWithStream } from '../../../src/cluster/replication/compare.ts'
import { Following } from '../../../src/cluster/replication/following.ts'
import { Replica, type ReplicaParts } from '../../../src/cluster/replication/replica.ts'
import { Lives } from '../../../src/cluster/replication/start-again.ts'
import { apply } from '../../../src/forum/apply.ts'
import { eraseMessage } from '../../../src/forum/moderation/commands.ts'
import { decode, encode } from '../../../src/forum/records.ts'
import type { Journal } from '../../../wal/journal/journal.ts'
import { openJournal } from '../../../wal/journal/journal.ts'
import { listSegments } from '../../../wal/journal/segments.ts'
import { beginLog } from '../../../wal/tools/begin-log.ts'
import { stateHash } from '../../forum/state-hash.ts'
import { until } from '../../until.ts'
import { SimulatedDisk } from '../../wal/simulated-disk.ts'
import { KeptLog, Side } from './follower-pair.ts'
import { MemoryStream, nameOf, nonceOf } from './memory-stream.ts'

let keys = 0
const newKey = () => `key-of-test-${keys++}`
const dir = '/data'
const store = '5'.repeat(32)

/** A leader in memory; `publish` carries its log to the stream, as if it had been synced. */
class Leader {
  readonly log = new KeptLog()
  readonly side = new Side(this.log)
  readonly stream: MemoryStream
  term = 0
  #published = 0

  constructor(stream: MemoryStream) {
    this.stream = stream
  }

  async begin(term: number): Promise<void> {
    this.term = term
    const { forum } = this.side
    const at = Math.max(forum.state.now, this.side.world.clock.now)
    const record = {
      type: 'leader.began',
      at,
      term,
      node: 'leader',
      nonce: nonceOf(term),
    } as const
    apply(forum.state, this.log.append(encode(record)), record)
    await this.publish()
    const { edge } = this.side
    const durable = () => this.log.durable
    answerCalls(this.stream.calls, term, (exchange) => edge.handle(exchange), durable)
  }

  async publish(): Promise<void> {
    const [first, last] = [this.#published + 1, this.log.position]
    if (last < first) return
    this.#published = last
    const bytes = Buffer.concat(this.log.records.slice(first - 1, last))
    const { term, stream } = this
    const name = nameOf(store, term, stream.messages.at(-1))
    await stream.publish({ first, last, term, name, bytes }, stream.messages.length)
    this.log.durable = last
    this.side.gate.open(last)
    this.side.forum.waiting.onDurable(last)
  }

  /** Creates an identity and a thread by it. */
  async begun(): Promise<{ token: string; thread: string }> {
    const made = this.side.post('/api/identities', { kind: 'guest' })
    await this.publish()
    const { token } = JSON.parse(made.answers[0]!.text!)
    const posted = this.side.post('/api/threads', { title: 't', content: 'c' }, token, newKey())
    await this.publish()
    return { token, thread: JSON.parse(posted.answers[0]!.text!).thread_id }
  }
}

interface Started {
  side: Side
  journal: Journal
  following: Following
  failures: Error[]
}

/** Begins a log of the stream's store, if the disk has none. */
function begin(disk: SimulatedDisk): SimulatedDisk {
  disk.makeDirectory(dir)
  if (listSegments(disk, dir).length === 0) beginLog({ disk, dir }, { storeId: store, position: 0 })
  return disk
}

/** Starts a follower on this disk, as the start of a node does. */
async function start(t: Test, stream: MemoryStream, disk: SimulatedDisk): Promise<Started> {
  const side = new Side(new KeptLog())
  const { role, forum, load } = side
  begin(disk)
  const journal = await openJournal({
    dir,
    disk,
    segmentBytes: 1 << 20,
    onRecord: (position, row) => apply(forum.state, position, decode(row)),
  })
  const { number: term, nonce } = forum.state.term
  const local = { position: journal.position, term, nonce, store }
  const found = await compareWithStream(stream, local)
  if (found.kind !== 'behind') throw new Error(`the log is ${found.kind}`)
  const failures: Error[] = []
  const following = new Following({
    stream,
    node: 'follower',
    journal,
    role,
    forum,
    load,
    trustProxy: null,
    log: pino({ level: 'silent' }),
    next: found.next,
    onFailed: (error) => failures.push(error),
  })
  role.failed.catch((error) => failures.push(error))
  following.start()
  t.teardown(() => following.stop())
  return { side, journal, following, failures }
}

t.test('following: from nothing: the same state, log and answers', async (t) => {
  const stream = new MemoryStream()
  const leader = new Leader(stream)
  await leader.begin(1)
  const { token, thread } = await leader.begun()
  const { side, journal } = await start(t, stream, new SimulatedDisk(1))
  await until('all records', () => side.role.durable === leader.log.position)
  t.equal(journal.durable, leader.log.position)
  t.equal(stateHash(side.forum.state), stateHash(leader.side.forum.state))
  const path = `/api/threads/${thread}`
  t.equal(side.get(path).answers[0]!.text, leader.side.get(path).answers[0]!.text)

  const poll = side.get(path, token, `after=${side.role.durable}&wait=20`)
  leader.side.post(`${path}/replies`, { content: 'news' }, token, newKey())
  await leader.publish()
  await until('the news', () => poll.answers.length > 0)
  t.match(poll.answers[0]!.text, /"content":"news"/)
  await side.forum.waiting.stop()
})

t.test('following: a write: answered by the leader, and read here at once', async (t) => {
  const stream = new MemoryStream()
  const leader = new Leader(stream)
  await leader.begin(1)
  const { token, thread } = await leader.begun()
  const { side } = await start(t, stream, new SimulatedDisk(2))
  await until('all records', () => side.role.durable === leader.log.position)
  const path = `/api/threads/${thread}`
  const write = side.post(`${path}/replies`, { content: 'mine' }, token, newKey())
  await until('the record at the leader', () => leader.log.position > leader.log.durable)
  t.equal(write.answers.length, 0, 'not before the stream has it')
  await leader.publish()
  await until('the answer', () => write.answers.length > 0)
  t.equal(write.code, 201)
  t.match(side.get(path).answers[0]!.text, /"content":"mine"/)
})

t.test('following: cut off for 30 seconds: identifies nobody, and pages go on', async (t) => {
  const stream = new MemoryStream()
  const leader = new Leader(stream)
  await leader.begin(1)
  const { token, thread } = await leader.begun()
  const { side, following } = await start(t, stream, new SimulatedDisk(4))
  await until('all records', () => side.role.durable === leader.log.position)
  const path = `/api/threads/${thread}`
  let seconds = 30
  Object.defineProperty(following, 'lag', { get: () => ({ positions: 0, seconds }) })
  const codes = () => [side.get(path, token), side.get(path)].map(({ code }) => code)
  t.same(codes(), [200, 200])
  seconds = 30.1
  t.same(codes(), ['no_leader', 200], 'the token may have been revoked')
  seconds = 0
  t.same(codes(), [200, 200])
})

t.test('following: no leader, or one of another term: 503 no_leader', async (t) => {
  const stream = new MemoryStream()
  const leader = new Leader(stream)
  await leader.begin(1)
  const { token, thread } = await leader.begun()
  const { side } = await start(t, stream, new SimulatedDisk(3))
  await until('all records', () => side.role.durable === leader.log.position)
  stream.calls.leave(1)
  const write = side.post(`/api/threads/${thread}/replies`, { content: 'c' }, token, newKey())
  await until('the answer', () => write.answers.length > 0)
  t.equal(write.code, 'no_leader')
  t.match(write.answers[0]!.headers, /Retry-After: 1/)
})

t.test('following: killed at any time: continues where its log ends', async (t) => {
  const stream = new MemoryStream()
  const leader = new Leader(stream)
  await leader.begin(1)
  const { token, thread } = await leader.begun()
  let disk = new SimulatedDisk(5)
  for (let round = 0; round < 8; round++) {
    const { side, following, failures } = await start(t, stream, disk)
    for (let n = 0; n < 5; n++) {
      const content = `${round} ${n}`
      leader.side.post(`/api/threads/${thread}/replies`, { content }, token, newKey())
      await leader.publish()
    }
    if (round % 2 === 0) {
      await until('all records', () => side.role.durable === leader.log.position)
      t.equal(stateHash(side.forum.state), stateHash(leader.side.forum.state), `round ${round}`)
    }
    t.same(failures, [])
    await following.stop()
    disk = round % 3 === 0 ? disk.losePower() : disk.dieAlone()
  }
})

t.test('following: a message is erased: its own log can drop the text', async (t) => {
  const stream = new MemoryStream()
  const leader = new Leader(stream)
  await leader.begin(1)
  const { token, thread } = await leader.begun()
  const disk = new SimulatedDisk(8)
  const { journal, side } = await start(t, stream, disk)
  const reply = { content: 'the text that is erased' }
  const posted = leader.side.post(`/api/threads/${thread}/replies`, reply, token, newKey())
  await leader.publish()
  await until('all records', () => side.role.durable === leader.log.position)
  const isOnDisk = () => [...disk.contents().values()].some((file) => file.includes(reply.content))
  t.ok(isOnDisk())
  const { message_id: id } = JSON.parse(posted.answers[0]!.text!)
  eraseMessage(leader.side.forum, { id, reason: '' })
  await leader.publish()
  await until('the erasure', () => side.role.durable === leader.log.position)
  // As two checkpoints after the record would do.
  await journal.dropBefore(side.forum.state.erasedPosition)
  t.notOk(isOnDisk())
})

t.test('following: the disk fails: nothing more is shown, and it is reported', async (t) => {
  const stream = new MemoryStream()
  const leader = new Leader(stream)
  await leader.begin(1)
  const { token, thread } = await leader.begun()
  const disk = new SimulatedDisk(6)
  const { side, failures } = await start(t, stream, disk)
  await until('all records', () => side.role.durable === leader.log.position)
  const shown = side.role.durable
  disk.failSync(1)
  leader.side.post(`/api/threads/${thread}/replies`, { content: 'c' }, token, newKey())
  await leader.publish()
  await until('the failure', () => failures.length > 0)
  t.match(failures[0], { exitCode: 74 })
  t.equal(side.role.durable, shown)
})

t.test('following: it tells whoever trims the stream how far it is', async (t) => {
  const stream = new MemoryStream()
  const leader = new Leader(stream)
  await leader.begin(1)
  await leader.begun()
  const { side } = await start(t, stream, new SimulatedDisk(7))
  await until('all records', () => side.role.durable === leader.log.position)
  const note = await until('a note', () => stream.notes.read('follower.follower'))
  t.match(note.value, { version: 1, position: Number, seen: Number })
})

t.test(
  'replica: the stream breaks: the storage is sound, so what waits gets no_leader',
  async (t) => {
    const stream = new MemoryStream()
    const leader = new Leader(stream)
    await leader.begin(1)
    await leader.begun()
    const side = new Side(new KeptLog())
    const { role, forum, load, edge } = side
    const onRecord = () => {}
    const replica = new Replica({
      ...{ stream, node: 'follower', role, forum, load, edge, trustProxy: null },
      journal: await openJournal({
        dir,
        disk: begin(new SimulatedDisk(8)),
        segmentBytes: 1 << 20,
        onRecord,
      }),
      log: pino({ level: 'silent' }),
      config: { leads: false, isStandby: false } as ReplicaParts['config'],
      lives: new Lives(new Promise(() => {})),
      // Only leaders need these.
      history: null as never,
      checkpoints: null as never,
    })
    t.teardown(() => replica.quiesce())
    await replica.begin({ sequence: 1, end: leader.log.position })
    const told: (string | null)[] = []
    side.gate.keep(leader.log.position + 1, (failure) => told.push(failure))
    const name = nameOf(store, 1, stream.messages.at(-1))
    const behindGap = { first: 90, last: 90, term: 1, name, bytes: new Uint8Array() }
    await stream.publish(behindGap, stream.messages.length)
    await t.rejects(role.failed, { name: 'StartAgain' })
    t.same(told, ['no_leader'])
  },
)

t.test('replica: stopped while a takeover waits for room in the log: it ends', async (t) => {
  const stream = new MemoryStream()
  const leader = new Leader(stream)
  await leader.begin(1)
  const { token, thread } = await leader.begun()
  await stream.lease.hold({ version: 1, node: 'leader', term: 1, since: 0 })
  const { role, forum, load, edge } = new Side(new KeptLog())
  const disk = begin(new SimulatedDisk(9))
  const journal = await openJournal({ dir, disk, segmentBytes: 1 << 20, onRecord: () => {} })
  const replica = new Replica({
    ...{ stream, node: 'follower', role, forum, load, edge, journal, trustProxy: null },
    log: pino({ level: 'silent' }),
    config: { leads: false, isStandby: true, takeoverMs: 100 } as ReplicaParts['config'],
    lives: new Lives(new Promise(() => {})),
    // Only leaders need these.
    history: null as never,
    checkpoints: null as never,
  })
  await replica.begin({ sequence: 1, end: leader.log.position })
  let isFull = true
  Object.defineProperty(journal, 'health', { get: () => (isFull ? 'storage_full' : 'ok') })
  // When the standby sees that it has everything, a further record is on its way.
  const newest = await stream.last()
  leader.side.post(`/api/threads/${thread}/replies`, { content: 'c' }, token, newKey())
  await leader.publish()
  stream.last = async () => newest
  await stream.lease.release('leader')
  await until('the takeover', () => stream.lease.holder?.node === 'follower')
  await sleep(100)
  await role.stop()
  const isOver = Promise.race([replica.quiesce().then(() => true), sleep(5_000, false)])
  t.ok(await isOver)
  isFull = false
})
