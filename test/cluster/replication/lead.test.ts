// A node that leads, on a real disk: what it publishes to the stream and stores beside it, and what
// another node finds there.

import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import {
  fetchCheckpoint,
  uploadedCheckpoint,
} from '../../../src/cluster/replication/checkpoint-transfer.ts'
import { compareWithStream } from '../../../src/cluster/replication/compare.ts'
import { connectEngine } from '../../../src/cluster/replication/jetstream/connect.ts'
import { type LogStream, StreamUnavailable } from '../../../src/cluster/replication/log-stream.ts'
import {
  fingerprintOf,
  hasHistory,
  readHistory,
  writeHistory,
} from '../../../src/cluster/replication/notes.ts'
import { publishTail } from '../../../src/cluster/replication/publisher.ts'
import { tend, Uploads } from '../../../src/cluster/replication/uploads.ts'
import { loadNodeId } from '../../../src/engine/storage/node-files.ts'
import { eraseMessage } from '../../../src/forum/moderation/commands.ts'
import { factsOf } from '../../../src/kernel/saved.ts'
import { realDisk } from '../../../wal/disk.ts'
import { beginLog } from '../../../wal/tools/begin-log.ts'
import { until } from '../../until.ts'
import { LeadingNode, newDirectory } from './leading-node.ts'
import { MemoryStream, nameOf } from './memory-stream.ts'
import { nats, startCluster } from './nats-cluster.ts'

t.test('lead: an empty log: the stream has every record; a restart begins a term', async (t) => {
  const stream = new MemoryStream()
  const dir = newDirectory(t)
  const node = await new LeadingNode(dir).open()
  t.equal(await node.lead(stream), true)
  await node.write('one')
  await node.write('two')
  t.equal(stream.messages.at(-1)!.last, 4)
  t.equal(node.forum.journal.durable, 4)
  t.match(await stream.lease.read(), { node: loadNodeId({ disk: realDisk, dir }), term: 1 })
  await node.close()
  t.equal(await stream.lease.read(), null, 'a stop gives the lease back')
  const again = await new LeadingNode(dir).open()
  t.equal(await again.lead(stream), true)
  t.match(again.forum.state.term, { number: 2, began: 5 })
  await again.close()
})

t.test('L3: stopped while its term is begun: does not lead, and keeps no lease', async (t) => {
  const stream = new MemoryStream()
  const node = await new LeadingNode(newDirectory(t)).open()
  const { hold } = stream.lease
  let stopped = Promise.resolve()
  stream.lease.hold = (holder) => {
    stopped = node.role.stop()
    return hold.call(stream.lease, holder)
  }
  t.equal(await node.lead(stream), false)
  await stopped
  t.equal(await stream.lease.read(), null)
  t.equal(node.forum.journal, node.journal, 'nothing is written for others')
  t.strictSame([stream.messages.length, node.journal.position], [1, 1], 'the term has begun')
  await node.close()
})

t.test(
  'lead: the stream is emptied: what waits is refused as no_leader, not as a fault',
  async (t) => {
    const stream = new MemoryStream()
    const node = await new LeadingNode(newDirectory(t)).open()
    await node.lead(stream)
    await node.write('one')
    stream.isDown = true
    const unsent = node.write('two').catch(() => {})
    const sent: (string | null)[] = []
    node.role.gate.keep(node.journal.position, (failure) => sent.push(failure))
    stream.messages.length = 0
    stream.isDown = false
    const failure = await node.role.failed.catch((error) => error)
    t.match(failure, { exitCode: 78, message: /the stream has no message any more/ })
    t.strictSame(sent, ['no_leader'])
    t.notOk(node.role.gate.mayShow, 'another node may have begun the stream again')
    await unsent
    await node.close()
  },
)

t.test('lead: the stream goes on elsewhere: does not lead, and appends nothing', async (t) => {
  const stream = new MemoryStream()
  const first = await new LeadingNode(newDirectory(t)).open()
  await first.lead(stream)
  await first.write('one')
  const second = await new LeadingNode(newDirectory(t)).open()
  t.equal(await second.lead(stream), false)
  t.equal(second.journal.position, 0)
  await Promise.all([first.close(), second.close()])
})

/**
 * Leads with a log that is older than the stream. Another node gets the same state from the
 * checkpoint and the stream.
 */
async function joined(t: Test, stream: LogStream): Promise<void> {
  const node = await new LeadingNode(newDirectory(t)).open()
  await node.write('long ago')
  await node.lead(stream)
  t.match(await uploadedCheckpoint(stream), { position: 2, store: node.journal.storeId })
  t.equal((await stream.get(1))!.first, 3)
  await node.write('today')

  const dir = newDirectory(t)
  const place = { disk: realDisk, dir }
  const fetched = (await fetchCheckpoint(stream, place, node.journal.storeId))!
  t.same(fetched, { position: 2, storeId: node.journal.storeId })
  beginLog(place, fetched)
  const other = await new LeadingNode(dir).open()
  t.match(await compareWithStream(stream, other.end), { kind: 'behind', next: 1 })
  for (let next = 1; ; next++) {
    const message = await stream.get(next)
    if (message === null) break
    other.journal.appendEncoded(message.bytes, message.last - message.first + 1)
  }
  await other.journal.sync()
  await other.close()
  const read = await new LeadingNode(dir).open()
  t.same(factsOf(read.forum.state), factsOf(node.forum.state))
  await Promise.all([read.close(), node.close()])
}

t.test('lead: a log before there was a stream: its checkpoint is there first', (t) => {
  return joined(t, new MemoryStream())
})

t.test('lead: a log before there was a stream: the same on a real server', nats, async (t) => {
  const cluster = await startCluster(t, { size: 1 })
  const options = { stream: 'test', replicas: 1, node: 'a', takeoverMs: 5_000 }
  const stream = await connectEngine(
    { ...options, servers: [cluster.url], credentials: null, tls: null },
    () => {},
  )
  t.teardown(() => stream.close())
  await joined(t, stream)
})

t.test('uploads: trimmed behind the checkpoint, but for what a follower needs', async (t) => {
  const stream = new MemoryStream()
  const node = await new LeadingNode(newDirectory(t)).open()
  await node.lead(stream)
  for (let n = 0; n < 5; n++) await node.write(`message ${n}`)
  await stream.notes.write('follower.b', { version: 1, position: 3 })
  const own = loadNodeId({ disk: realDisk, dir: node.dir })
  await stream.notes.write(`follower.${own}`, { version: 1, position: 1 }) // before it took over
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

t.test('uploads: stopped while one is under way: it is given up, without its note', async (t) => {
  const stream = new MemoryStream()
  const node = await new LeadingNode(newDirectory(t)).open()
  await node.lead(stream)
  await node.write('one')
  const { objects } = stream
  let puts = 0
  let letOn: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    letOn = resolve
  })
  const put = objects.put.bind(objects)
  objects.put = async (name, bytes) => {
    puts += 1
    await held
    await put(name, bytes)
  }
  await node.checkpoints.take()
  await until('an upload', () => puts === 1)
  const closing = node.close()
  letOn()
  await closing
  t.equal(puts, 1)
  t.equal(await uploadedCheckpoint(stream), null)
})

/**
 * Returns a node with a checkpoint to upload, and a stream with its records, which it does not
 * lead.
 */
async function uploading(t: Test) {
  const stream = new MemoryStream()
  const node = await new LeadingNode(newDirectory(t)).open()
  await node.write('one')
  for (let n = 1; n <= node.journal.position; n++) {
    const name = nameOf(node.journal.storeId, 1, stream.messages.at(-1))
    await stream.publish({ first: n, last: n, term: 1, name, bytes: Buffer.alloc(0) }, n - 1)
  }
  const notices: string[] = []
  const onNotice = ({ event }: { event: string }) => void notices.push(event)
  const { checkpoints, forum } = node
  const isStopped = () => false
  const uploads = new Uploads({ stream, checkpoints, forum, node: 'a', onNotice, isStopped })
  uploads.begin()
  t.teardown(async () => {
    await uploads.stop()
    await node.close()
  })
  return { stream, node, uploads, notices, store: node.journal.storeId }
}

t.test('U3: uploaded, but not trimmed: says so, and trims later without an upload', async (t) => {
  const { stream, node, uploads, notices, store } = await uploading(t)
  const { trim } = stream
  stream.trim = () => Promise.reject(new StreamUnavailable('no majority'))
  await node.checkpoints.take()
  await until('a failure', () => uploads.warnings.length > 0)
  t.same(uploads.warnings, ['replication: the stream is not trimmed: no majority'])
  t.same(notices, ['checkpoint_uploaded', 'stream_trim_failed'])
  stream.trim = trim
  await uploads.mend(store)
  await until('the trim', () => uploads.warnings.length === 0)
  t.same(notices.slice(2), ['stream_trimmed'])
  t.equal(await stream.firstSequence(), 2)
})

t.test('U3: an upload fails: the next look at the checkpoint tries it again', async (t) => {
  const { stream, node, uploads, notices, store } = await uploading(t)
  const put = stream.objects.put
  stream.objects.put = () => Promise.reject(new StreamUnavailable('no majority'))
  await node.checkpoints.take()
  await until('a failure', () => uploads.warnings.length > 0)
  t.same(uploads.warnings, ['replication: no checkpoint is uploaded: no majority'])
  stream.objects.put = put
  await uploads.mend(store)
  await until('the upload', () => uploads.position === node.journal.position)
  await until('the trim', () => notices.includes('stream_trimmed'))
  t.same(uploads.warnings, [])
})

t.test('U5: the note is of a newer program: a warning, until it is not any more', async (t) => {
  const { stream, uploads, store } = await uploading(t)
  await stream.notes.write('checkpoint', { version: 2 })
  await uploads.mend(store)
  t.match(uploads.warnings, [
    /^replication: the checkpoint beside the stream is not checked: .* 2;/,
  ])
  await stream.notes.remove('checkpoint')
  await uploads.mend(store)
  t.same(uploads.warnings, [])
})

t.test('H4: nodes are silent for an hour: their notes go, unless they name its term', async (t) => {
  const { stream, uploads, store } = await uploading(t)
  const { notes } = stream
  const holder = (name: string, term: number, of = store) =>
    notes.write(`holder.${name}`, { version: 1, store: of, position: 1, term })
  const follows = (name: string) =>
    notes.write(`follower.${name}`, { version: 1, position: 1, seen: 0 })
  await holder('a', 3) // of this leader
  for (const name of ['replaced', 'stopped', 'following']) await holder(name, 2)
  for (const name of ['stopped', 'following']) await follows(name)
  await holder('rival', 3)
  await holder('foreign', 2, 'another store')
  const all = await notes.keys('')
  await uploads.mend(store)
  t.same(await notes.keys(''), all, 'it has only just begun to lead')
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  performance.now = () => now.call(performance) + 3_700_000
  await follows('following')
  await uploads.mend(store)
  const left = ['holder.a', 'holder.following', 'holder.foreign', 'holder.rival']
  t.same((await notes.keys('holder.')).sort(), left)
  t.same(await notes.keys('follower.'), ['follower.following'])
})

t.test('U4: a look takes longer than the time between two: none is kept for later', async (t) => {
  const stream = new MemoryStream()
  const timers: (() => void)[] = []
  const { setInterval } = globalThis
  const newTimer = (run: () => void) => {
    timers.push(run)
    return { unref: () => undefined }
  }
  let letOn: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    letOn = resolve
  })
  let reads = 0
  const { read } = stream.notes
  stream.notes.read = async (key) => {
    if (key === 'history') reads += 1
    await held
    return read.call(stream.notes, key)
  }
  const history = { epoch: 'a', epochBegin: null, secret: '' }
  const uploads = { mend: async () => {} }
  Object.assign(globalThis, { setInterval: newTimer })
  const stop = tend({ stream, node: 'a', history, uploads }, { store: 'a', position: 1, term: 1 })
  Object.assign(globalThis, { setInterval })
  for (let n = 0; n < 5; n++) for (const run of timers) run()
  letOn()
  await stop()
  t.equal(reads, 1)
  for (const run of timers) run()
  await stop()
  t.equal(reads, 2, 'and the next one is not left out')
  t.ok(await hasHistory(stream))
})

t.test('tend: a note that cannot be read: nothing ends', async (t) => {
  const stream = new MemoryStream()
  stream.notes.read = () => Promise.reject(new SyntaxError('Unexpected token'))
  const history = { epoch: 'a', epochBegin: null, secret: '' }
  const uploads = { mend: async () => {} }
  const own = { store: 'a', position: 1, term: 1 }
  await t.resolves(tend({ stream, node: 'a', history, uploads }, own)())
})

t.test(
  'tail: not acknowledged, then restarted: it is published, and the term goes on',
  async (t) => {
    const stream = new MemoryStream()
    const dir = newDirectory(t)
    const node = await new LeadingNode(dir).open()
    await node.lead(stream)
    await node.write('one')
    stream.isDown = true
    void node.write('two').catch(() => {})
    void node.write('three').catch(() => {})
    node.leading!.journal.publisher.stop()
    stream.isDown = false
    await node.close()
    const again = await new LeadingNode(dir).open()
    const { position } = again.journal
    t.equal(position, 5)
    const found = await compareWithStream(stream, again.end)
    if (found.kind !== 'ahead') throw new Error(found.kind)
    const { storeId } = again.journal
    let isStopped = false
    const publish = () =>
      publishTail(stream, { disk: realDisk, dir, storeId }, { ...found, position }, () => isStopped)
    stream.isDown = true
    const stopped = t.rejects(publish(), { name: 'StreamUnavailable' }, 'stopped, not forever')
    isStopped = true
    await stopped
    stream.isDown = false
    isStopped = false
    t.equal(await publish(), true)
    t.equal(stream.messages.at(-1)!.last, 5)
    t.equal(await again.lead(stream), true)
    await again.close()
  },
)

t.test('history: written once; another secret takes no part', async (t) => {
  const stream = new MemoryStream()
  const secret = fingerprintOf(Buffer.from('key'))
  t.equal(await readHistory(stream, { secret }), null)
  const mine = { store: 'a', epoch: 'a', epochBegin: null, secret }
  await writeHistory(stream, mine)
  await writeHistory(stream, { ...mine, epoch: 'b' })
  t.match(await readHistory(stream, { secret }), mine)
  const other = fingerprintOf(Buffer.from('other'))
  await t.rejects(readHistory(stream, { secret: other }), /secret/)
})

t.test('node id: made once; a copy of the data without it gets another one', async (t) => {
  const place = { disk: realDisk, dir: newDirectory(t) }
  const id = loadNodeId(place)
  t.match(id, /^[0-9a-f]{16}$/)
  t.equal(loadNodeId(place), id)
  t.not(loadNodeId({ disk: realDisk, dir: newDirectory(t) }), id)
  t.same(readdirSync(place.dir), ['node'])
})
