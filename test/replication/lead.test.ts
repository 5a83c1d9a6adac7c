// A node that leads, on a real disk: what it puts on the stream, and beside it, and what another
// node finds there.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import t, { type Test } from 'tap'
import { apply } from '../../src/forum/apply.ts'
import { type Forum, pageStart } from '../../src/forum/forum.ts'
import { eraseMessage } from '../../src/forum/moderation.ts'
import type { ReplicateMode } from '../../src/forum/records/leadership.ts'
import { decode } from '../../src/forum/records.ts'
import { admitOwn, commit, type Permit } from '../../src/forum/write.ts'
import { CheckpointSchedule } from '../../src/node/checkpoints.ts'
import { fetchCheckpoint, uploadedCheckpoint } from '../../src/replication/checkpoint-transfer.ts'
import { compareWithStream } from '../../src/replication/compare.ts'
import { agreeOnHistory, fingerprintOf, readHistory } from '../../src/replication/history.ts'
import { type Leading, lead } from '../../src/replication/lead.ts'
import { loadNodeId } from '../../src/replication/node-id.ts'
import { publishTail } from '../../src/replication/publish-tail.ts'
import { factsOf } from '../../src/state/saved.ts'
import { realDisk } from '../../wal/disk.ts'
import { openJournal } from '../../wal/journal/journal.ts'
import type { Journal } from '../../wal/journal/types.ts'
import { beginLog } from '../../wal/tools/begin-log.ts'
import { newWorld, restart } from '../forum/doubles.ts'
import { until } from '../until.ts'
import { MemoryStream } from './memory-stream.ts'

const log = pino({ level: 'silent' })

function newDirectory(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-lead-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  return dir
}

/** A node without edges: its log, its forum and its checkpoints. */
class TestNode {
  readonly forum: Forum = newWorld().forum
  readonly checkpoints: CheckpointSchedule
  readonly dir: string
  journal!: Journal
  leading: Leading | null = null
  readonly notices: string[] = []

  constructor(dir: string) {
    this.dir = dir
    const nodeLimits = { textBytesMax: 1 << 30 }
    const config = { data: dir, checkpointMb: 0, scrubHours: 0, nodeLimits }
    this.checkpoints = new CheckpointSchedule(config, log)
  }

  async open(): Promise<this> {
    const { forum, checkpoints } = this
    const fresh = () => {
      restart(forum, newWorld().forum.state)
      return forum.state
    }
    this.journal = await openJournal({
      dir: this.dir,
      from: (storeId) => checkpoints.load(storeId, fresh, () => {}),
      onRecord: (position, row) => apply(forum.state, position, decode(row)),
    })
    forum.journal = this.journal
    checkpoints.begin(this.journal, forum.state)
    return this
  }

  async lead(stream: MemoryStream, mode: ReplicateMode = 'acked'): Promise<boolean> {
    this.leading = await lead({
      stream,
      journal: this.journal,
      forum: this.forum,
      checkpoints: this.checkpoints,
      node: loadNodeId({ disk: realDisk, dir: this.dir }),
      mode,
      lagBytesMax: 1 << 20,
      takeoverMs: 60_000,
      onNotice: (event) => this.notices.push(event),
      isStopped: () => false,
    })
    return this.leading !== null
  }

  /** Writes a thread; returns the number of its message. */
  async write(text: string): Promise<number> {
    const { forum } = this
    const { identities, messages } = forum.state
    const id = (n: number) => n.toString(16).padStart(32, '0')
    const own = () => {
      const permit = admitOwn(forum) as Permit
      return { permit, at: permit.at }
    }
    if (identities.count === 0) {
      const { permit, at } = own()
      commit(forum, permit, {
        type: 'identity.created',
        at,
        id: id(1),
        kind: 'persistent',
        displayName: 'Ana',
        tokenDigest: 'a'.repeat(64),
        expiresAt: 0,
        client: '',
      })
    }
    const { permit, at } = own()
    const number = messages.count
    commit(forum, permit, {
      type: 'thread.posted',
      at,
      by: 0,
      id: id(100 + number),
      messageId: id(1000 + number),
      title: 'A thread',
      content: text,
      visibility: 'public',
      participants: [],
      key: `key-${number}-00000`,
      client: '',
    })
    await (this.leading?.journal ?? this.journal).sync()
    return number
  }

  async close(): Promise<void> {
    await this.leading?.drain()
    await this.checkpoints.stop()
    await (this.leading?.journal ?? this.journal).close()
    await this.leading?.stop()
    this.leading = null
  }
}

t.test('lead: an empty log: the stream has every record; a restart begins a term', async (t) => {
  const stream = new MemoryStream()
  const dir = newDirectory(t)
  const node = await new TestNode(dir).open()
  t.equal(await node.lead(stream), true)
  await node.write('one')
  await node.write('two')
  t.equal(stream.messages.at(-1)!.last, 4)
  t.equal(node.forum.journal.durable, 4)
  t.match(await stream.lease.read(), { node: loadNodeId({ disk: realDisk, dir }), term: 1 })
  await node.close()
  t.equal(await stream.lease.read(), null, 'a stop gives the lease back')
  const again = await new TestNode(dir).open()
  t.equal(await again.lead(stream), true)
  t.match(again.forum.state.term, { number: 2, began: 5 })
  await again.close()
})

t.test('lead: the stream goes on elsewhere: does not lead, and appends nothing', async (t) => {
  const stream = new MemoryStream()
  const first = await new TestNode(newDirectory(t)).open()
  await first.lead(stream)
  await first.write('one')
  const second = await new TestNode(newDirectory(t)).open()
  t.equal(await second.lead(stream), false)
  t.equal(second.journal.position, 0)
  await Promise.all([first.close(), second.close()])
})

t.test('lead: a log before there was a stream: its checkpoint is there first', async (t) => {
  const stream = new MemoryStream()
  const node = await new TestNode(newDirectory(t)).open()
  await node.write('long ago')
  await node.lead(stream)
  t.match(await uploadedCheckpoint(stream), { position: 2, store: node.journal.storeId })
  t.equal(stream.messages[0]!.first, 3)
  await node.write('today')

  const dir = newDirectory(t)
  const place = { disk: realDisk, dir }
  const fetched = (await fetchCheckpoint(stream, place))!
  t.same(fetched, { position: 2, storeId: node.journal.storeId })
  beginLog(place, fetched)
  const other = await new TestNode(dir).open()
  const local = () => ({ position: other.journal.position, term: other.forum.state.term.number })
  t.match(await compareWithStream(stream, local()), { kind: 'behind', next: 1 })
  for (const { first, last, bytes } of stream.messages) {
    other.journal.appendEncoded(bytes, last - first + 1)
  }
  await other.journal.sync()
  await other.close()
  const read = await new TestNode(dir).open()
  t.same(factsOf(read.forum.state), factsOf(node.forum.state))
  await Promise.all([read.close(), node.close()])
})

t.test('uploads: trimmed behind the checkpoint, but for what a follower needs', async (t) => {
  const stream = new MemoryStream()
  const node = await new TestNode(newDirectory(t)).open()
  await node.lead(stream)
  for (let n = 0; n < 5; n++) await node.write(`message ${n}`)
  await stream.notes.write('follower.b', { version: 1, position: 3 })
  await node.checkpoints.take()
  await until('the trim', () => node.notices.includes('stream_trimmed'))
  t.equal(stream.at((await stream.firstSequence()) as number)!.first, 4)
  t.equal((await uploadedCheckpoint(stream))!.position, 7)

  node.notices.length = 0
  const names = () => [...stream.objects.objects.keys()]
  const before = names()
  const messageId = `msg_${(1000).toString(16).padStart(32, '0')}`
  // The log may have to begin a segment first.
  await until('the erasure', () => {
    return !('rejected' in eraseMessage(node.forum, { id: messageId, reason: 'a test' }))
  })
  await node.checkpoints.take()
  await until('the trim', () => node.notices.includes('stream_trimmed'))
  const first = stream.at(await stream.firstSequence())!
  t.ok(first.last >= node.forum.state.erasedPosition, 'a follower that is behind does not keep it')
  const text = Buffer.from('message 0')
  for (const [name, bytes] of stream.objects.objects) t.notOk(bytes.includes(text), name)
  t.notSame(names(), before)
  await node.close()
})

t.test(
  'tail: not acknowledged, then restarted: it is published, and the term goes on',
  async (t) => {
    const stream = new MemoryStream()
    const dir = newDirectory(t)
    const node = await new TestNode(dir).open()
    await node.lead(stream)
    await node.write('one')
    stream.isDown = true
    void node.write('two').catch(() => {})
    void node.write('three').catch(() => {})
    node.leading!.journal.publisher.stop()
    stream.isDown = false
    await node.close()
    const again = await new TestNode(dir).open()
    const { position } = again.journal
    t.equal(position, 5)
    const found = await compareWithStream(stream, { position, term: again.forum.state.term.number })
    if (found.kind !== 'ahead') throw new Error(found.kind)
    const { storeId } = again.journal
    t.equal(
      await publishTail(stream, { disk: realDisk, dir, storeId }, { ...found, position }),
      true,
    )
    t.equal(stream.messages.at(-1)!.last, 5)
    t.equal(await again.lead(stream), true)
    await again.close()
  },
)

t.test('history: the first node writes it; another store or secret takes no part', async (t) => {
  const stream = new MemoryStream()
  const secret = fingerprintOf(Buffer.from('key'))
  t.equal(await readHistory(stream, secret), null)
  const mine = { store: 'a', epoch: 'a', epochBegin: null, secret }
  t.match(await agreeOnHistory(stream, mine), mine)
  t.match(await agreeOnHistory(stream, { ...mine, epoch: 'b' }), { epoch: 'a' })
  await t.rejects(agreeOnHistory(stream, { ...mine, store: 'b' }), /store/)
  await t.rejects(readHistory(stream, fingerprintOf(Buffer.from('other'))), /secret/)
})

t.test('node id: made once; a copy of the data without it gets another one', async (t) => {
  const place = { disk: realDisk, dir: newDirectory(t) }
  const id = loadNodeId(place)
  t.match(id, /^[0-9a-f]{16}$/)
  t.equal(loadNodeId(place), id)
  t.not(loadNodeId({ disk: realDisk, dir: newDirectory(t) }), id)
  t.same(readdirSync(place.dir), ['node'])
})

t.test('lead: after another node in the mode async: a new epoch, and else none', async (t) => {
  const stream = new MemoryStream()
  const dir = newDirectory(t)
  const node = await new TestNode(dir).open()
  await node.lead(stream, 'async')
  await node.write('one')
  await node.close()
  const again = await new TestNode(dir).open()
  await again.lead(stream, 'async')
  t.equal(again.forum.state.epoch, null, 'the same node has all that it showed')
  await again.close()
  rmSync(join(dir, 'node'))
  const other = await new TestNode(dir).open()
  await other.lead(stream)
  const { epoch } = other.forum.state
  t.match(epoch, { id: /^[0-9a-f]{32}$/, begin: 4 })
  t.equal(pageStart(other.forum, 99), 4, 'a cursor that is beyond the end begins there')
  await other.checkpoints.take()
  await other.close()
  const last = await new TestNode(dir).open()
  t.same(last.forum.state.epoch, epoch)
  await last.lead(stream)
  t.same(last.forum.state.epoch, epoch)
  await last.close()
})
