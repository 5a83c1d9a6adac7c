// Goal:   a start finds its place in the common history, and does nothing irreversible because a
//         server's answer was stale.
// Method: a stream in memory that shows an older end for a while, and a log on the real disk.

import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import t, { type Test } from 'tap'
import { uploadCheckpoint } from '../../../src/cluster/replication/checkpoint-transfer.ts'
import { HistoryPlace } from '../../../src/cluster/replication/history-place.ts'
import { announce } from '../../../src/cluster/replication/holders.ts'
import type { StreamMessage } from '../../../src/cluster/replication/log-stream.ts'
import { writeHistory } from '../../../src/cluster/replication/notes.ts'
import type { Term } from '../../../src/forum/state.ts'
import { factsOf } from '../../../src/kernel/saved.ts'
import { realDisk } from '../../../wal/disk.ts'
import { type Journal, openJournal } from '../../../wal/journal/journal.ts'
import { beginLog } from '../../../wal/tools/begin-log.ts'
import { LeadingNode, newDirectory } from './leading-node.ts'
import { MemoryStream, nameOf, nonceOf } from './memory-stream.ts'

const log = pino({ level: 'silent' })
const none = new Uint8Array()
const store = '5'.repeat(32)

/** A stream whose first answers show an end that is older than the truth. */
class LateStream extends MemoryStream {
  lateAnswers = 0

  override async last(): Promise<StreamMessage | null> {
    const last = await super.last()
    return this.lateAnswers-- > 0 ? this.at(this.messages.length - 1) : last
  }
}

/** Makes a stream of two messages of term 1, positions 1 to 4. */
async function newStream(): Promise<LateStream> {
  const stream = new LateStream()
  await publish(stream, { first: 1, last: 2, term: 1 })
  await publish(stream, { first: 3, last: 4, term: 1 })
  return stream
}

interface Published {
  first: number
  last: number
  term: number
  store?: string
}

/** Adds a message that continues the stream. */
async function publish(stream: MemoryStream, { store: of = store, ...message }: Published) {
  const name = nameOf(of, message.term, stream.messages.at(-1))
  await stream.publish({ ...message, name, bytes: none }, stream.messages.length)
}

async function logOf(t: Test, records: number): Promise<{ dir: string; journal: Journal }> {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-place-'))
  beginLog({ disk: realDisk, dir }, { storeId: store, position: 0 })
  const journal = await openJournal({ dir, segmentBytes: 1 << 20, onRecord: () => {} })
  while (journal.health !== 'ok') await new Promise((resolve) => setImmediate(resolve))
  for (let n = 0; n < records; n++) journal.append(`record ${n}`)
  await journal.sync()
  t.teardown(async () => {
    await journal.close()
    rmSync(dir, { recursive: true })
  })
  return { dir, journal }
}

interface Setting {
  patienceMs?: number
  beginAt?: number | null
  waits?: string[]
}

async function placeOf(
  stream: MemoryStream,
  { dir, journal }: { dir: string; journal: Journal },
  { patienceMs = 0, beginAt = null, waits = [] }: Setting = {},
): Promise<HistoryPlace> {
  const store = journal.storeId
  if (stream.messages.length > 0) {
    await writeHistory(stream, { store, epoch: store, epochBegin: null, secret: '' })
  }
  return new HistoryPlace({
    secret: '',
    ...{ stream, directory: { disk: realDisk, dir }, node: 'this', beginAt, log, patienceMs },
    begins: { empty: true, log: true },
    beginAfterMs: 0,
    onWait: (why) => waits.push(why),
    isStopped: () => waits.length > 0,
  })
}

interface Beginning {
  records: number
  of: Term
  holders?: readonly (readonly [position: number | null, term: number])[]
  hasHistory?: boolean
  /** The position to which another node has followed. */
  followed?: number
  beginAt?: number
}

const term = (node: string, number = 1) => {
  return { number, began: 1, node, nonce: nonceOf(number) }
}

t.test('place: a follower is ahead of a late answer: it asks again, and goes on', async (t) => {
  const stream = await newStream()
  const own = await logOf(t, 4)
  stream.lateAnswers = 2
  const next = await (await placeOf(stream, own, { patienceMs: 60_000 })).agree(
    own.journal,
    term('leader'),
  )
  t.same(next, { sequence: 3, end: 4 })
})

t.test('place: the servers cannot be reached, and then one lags: it asks again', async (t) => {
  const stream = await newStream()
  const own = await logOf(t, 4)
  const patienceMs = 2_000
  const place = await placeOf(stream, own, { patienceMs })
  stream.isDown = true
  stream.lateAnswers = 2
  setTimeout(() => {
    stream.isDown = false
  }, patienceMs + 500)
  const next = await place.agree(own.journal, term('leader'))
  t.same(next, { sequence: 3, end: 4 })
})

t.test('place: a follower stays ahead: refused with 77, nothing is changed', async (t) => {
  const stream = await newStream()
  const own = await logOf(t, 6)
  const refused = { exitCode: 77, message: /ends at position 6 of term 1, .* has lost/ }
  await t.rejects((await placeOf(stream, own)).agree(own.journal, term('leader')), refused)
  const names = readdirSync(own.dir)
  t.ok(names.includes('0000000001.wal'))
  t.notOk(names.some((name) => name.includes('.replaced') || name.includes('-log')))
})

t.test('place: a term is lost that it led: refused; the stream is removed: begins', async (t) => {
  const stream = await newStream()
  const led = term('this', 2)
  const own = await logOf(t, 6)
  const refused = { exitCode: 77, message: /this node led .*: remove the stream .* not its notes/ }
  await t.rejects((await placeOf(stream, own)).agree(own.journal, led), refused)
  t.ok(untouched(own.dir))
  const again = await logOf(t, 6)
  const place = await placeOf(stream, again)
  stream.messages.length = 0
  t.equal(await place.agree(again.journal, led), null)
})

t.test('place: a leader returns with an end of its own: it is published', async (t) => {
  const stream = await newStream()
  const own = await logOf(t, 6)
  const next = await (await placeOf(stream, own)).agree(own.journal, term('this'))
  t.same(next, { sequence: 4, end: 6 })
  t.match(stream.messages[2], { first: 5, last: 6, term: 1 })
})

t.test('place: another term began before the end: the tail is put aside', async (t) => {
  const stream = await newStream()
  const own = await logOf(t, 6)
  await publish(stream, { first: 5, last: 5, term: 2 })
  await t.rejects((await placeOf(stream, own)).agree(own.journal, term('this')), {
    message: /from position 5 on/,
  })
  t.ok(readdirSync(own.dir).includes('5-6.wal.replaced'))
})

/** Writes only the note of a checkpoint at this position beside the stream. */
async function noteCheckpoint(stream: MemoryStream, { storeId: store }: Journal, position: number) {
  const about = { version: 1, node: 'leader', number: 1, form: 5, pieceBytes: 1, files: [] }
  await stream.notes.write('checkpoint', { ...about, store, position })
}

/** Returns whether no file of a log was renamed or removed, or is about to be. */
function untouched(dir: string): boolean {
  const names = readdirSync(dir)
  const isChanged = (name: string) => /\.replaced$|\.void$|^clear-log|^replace-log/.test(name)
  return names.includes('0000000001.wal') && !names.some(isChanged)
}

t.test('place: trimmed, and no checkpoint has what is between: waits, keeps its log', async (t) => {
  const stream = await newStream()
  const own = await logOf(t, 1)
  await publish(stream, { first: 5, last: 9, term: 1 })
  await stream.trim(3)
  await noteCheckpoint(stream, own.journal, 3)
  const waits: string[] = []
  await t.rejects((await placeOf(stream, own, { waits })).agree(own.journal, term('leader')), {
    name: 'StoppedEarly',
  })
  t.match(waits, [/begins at position 5, this log ends at 1, .* the leader uploads one/])
  t.ok(untouched(own.dir))
})

/**
 * Makes the log of a node that was away while another one went on, uploaded a checkpoint, and
 * trimmed the stream up to it.
 */
async function trimmed(t: Test) {
  const node = await new LeadingNode(newDirectory(t)).open()
  await node.write('one')
  await node.close()
  const dir = newDirectory(t)
  cpSync(node.dir, dir, { recursive: true })
  const ahead = await new LeadingNode(node.dir).open()
  await ahead.write('two')
  await ahead.checkpoints.take()
  const { directory, newest: manifest } = ahead.checkpoints
  const stream = new MemoryStream()
  const { storeId } = ahead.journal
  await publish(stream, { first: 1, last: 3, term: 1, store: storeId })
  await publish(stream, { first: 4, last: 4, term: 1, store: storeId })
  await stream.trim(2)
  await uploadCheckpoint(stream, directory, { node: 'leader', manifest, isStopped: () => false })
  const own = await new LeadingNode(dir).open()
  t.teardown(() => Promise.all([ahead.close(), own.close()]))
  t.same([own.journal.position, ahead.journal.position], [2, 3])
  return { stream, own, ahead }
}

const lacking: readonly (readonly [string, (stream: MemoryStream) => unknown, RegExp])[] = [
  ['all are missing', ({ objects: { objects } }) => objects.clear(), /is not whole/],
  [
    'one is missing',
    ({ objects: { objects } }) => objects.delete([...objects.keys()][0]!),
    /is not whole/,
  ],
  [
    'one is damaged',
    ({ objects: { objects } }) => objects.set([...objects.keys()][0]!, Buffer.from('other')),
    /lacks 0000000001\.pages/,
  ],
]

for (const [what, change, why] of lacking) {
  t.test(`H5: trimmed, objects of the checkpoint: ${what}: keeps its log`, async (t) => {
    const { stream, own } = await trimmed(t)
    change(stream)
    const waits: string[] = []
    const place = await placeOf(stream, own, { waits })
    await t.rejects(place.agree(own.journal, term('leader')), { name: 'StoppedEarly' })
    t.match(waits, [why])
    t.ok(untouched(own.dir))
    const names = readdirSync(own.dir, { recursive: true }) as string[]
    t.same(
      names.filter((name) => name.startsWith('fetched-log/')),
      [],
      'the room is given back',
    )
    const again = await new LeadingNode(own.dir).open()
    t.equal(again.journal.position, 2)
    await again.close()
  })
}

/** Has the node be stopped once an object was read; returns the number of objects read. */
function stopAtFirst(stream: MemoryStream, waits: string[]): () => number {
  let gets = 0
  const { get } = stream.objects
  stream.objects.get = (name) => {
    gets += 1
    waits.push('the node is stopped')
    return get.call(stream.objects, name)
  }
  return () => gets
}

t.test('place: stopped while a checkpoint is fetched: it stops at once', async (t) => {
  const { stream, own } = await trimmed(t)
  const waits: string[] = []
  const place = await placeOf(stream, own, { waits })
  const gets = stopAtFirst(stream, waits)
  await t.rejects(place.agree(own.journal, term('leader')), { name: 'StoppedEarly' })
  t.equal(gets(), 1)
  t.ok(untouched(own.dir))
  waits.length = 0
  const dir = newDirectory(t)
  const empty = await placeOf(stream, { dir, journal: own.journal }, { waits })
  await t.rejects(empty.prepare(null), { name: 'StoppedEarly' })
  t.equal(gets(), 2)
})

for (const [node, keeps] of [
  ['leader', false],
  ['this', true],
] as const) {
  t.test(`H5: trimmed, ${node} led: replaced by the checkpoint, and kept: ${keeps}`, async (t) => {
    const { stream, own, ahead } = await trimmed(t)
    const { storeId } = own.journal
    const place = await placeOf(stream, own)
    await t.rejects(place.agree(own.journal, term(node)), { message: /after position 2/ })
    t.ok(readdirSync(own.dir).includes('0000000001.wal'), 'the old log, until the next life')
    stream.objects.objects.clear()
    t.equal(await place.prepare(storeId), storeId)
    t.equal(readdirSync(own.dir).includes('0000000001.wal.replaced'), keeps)
    const next = await new LeadingNode(own.dir).open()
    t.same(factsOf(next.forum.state), factsOf(ahead.forum.state))
    t.equal(next.journal.position, 3)
    await next.close()
  })
}

const foreign = { store: 'f'.repeat(32), nonce: 'n', previousNonce: '' }

for (const [what, name, refusal] of [
  ['of another store', foreign, { message: /the log of store ffff/ }],
  [
    'behind another term of the same number',
    { nonce: 'n', previousNonce: 'another' },
    { exitCode: 77, message: /two histories of one store/ },
  ],
] as const) {
  t.test(`place: the stream is ${what}: refused, nothing is changed`, async (t) => {
    const stream = new LateStream()
    const own = await logOf(t, 6)
    const named = { store: own.journal.storeId, ...name }
    await stream.publish({ first: 5, last: 5, term: 2, name: named, bytes: none }, 0)
    await t.rejects((await placeOf(stream, own)).agree(own.journal, term('this')), refusal)
    t.ok(untouched(own.dir))
  })
}

t.test('place: the stream is of another store, this log has no record: it joins', async (t) => {
  const stream = new LateStream()
  const own = await logOf(t, 0)
  const place = await placeOf(stream, own)
  await stream.publish({ first: 1, last: 1, term: 1, name: foreign, bytes: none }, 0)
  const { store } = foreign
  await writeHistory(stream, { store, epoch: store, epochBegin: null, secret: '' })
  await t.rejects(place.agree(own.journal, term('', 0)), { name: 'StartAgain' })
  t.equal(await place.prepare(own.journal.storeId), store, 'its log begins anew, of that store')
})

const led = term('this')
const unled = term('leader')
const unshared = term('', 0)
const beginnings: readonly (readonly [string, Beginning, RegExp | null])[] = [
  ['its log was never in a stream', { records: 3, of: unshared }, null],
  ['it led last, and nobody later', { records: 3, of: led, hasHistory: true }, null],
  ['it led last, but notes are lost', { records: 3, of: led }, /--begin-stream 3$/],
  ['it followed last', { records: 3, of: unled, hasHistory: true }, /--begin-stream 3$/],
  ['the operator says so', { records: 3, of: unled, beginAt: 3 }, null],
  ['the operator meant another end', { records: 3, of: unled, beginAt: 2 }, /3, not 2$/],
  ['another has led since', { records: 3, of: led, hasHistory: true, holders: [[5, 2]] }, /term 2/],
  ['another has shown more', { records: 3, of: led, hasHistory: true, followed: 4 }, /has less/],
  ['another has shown as much', { records: 3, of: led, hasHistory: true, followed: 3 }, null],
  ['another has less', { records: 3, of: led, hasHistory: true, holders: [[2, 1]] }, null],
  ['another has a log', { records: 0, of: unshared, holders: [[5, 1]] }, /node other holds/],
  ['another reads its log', { records: 0, of: unshared, holders: [[null, 0]] }, /node other holds/],
  ['nobody has a log', { records: 0, of: unshared }, null],
]

for (const [what, { records, of, holders, hasHistory, followed, beginAt }, why] of beginnings) {
  t.test(`place: no message: ${what}: ${why === null ? 'begins' : 'waits'}`, async (t) => {
    const stream = new LateStream()
    const own = await logOf(t, records)
    const { storeId: store } = own.journal
    for (const [position, number] of holders ?? []) {
      await announce(stream, 'other', { store, position, term: number })
    }
    const note = { version: 1, position: followed, seen: 0 }
    if (followed !== undefined) await stream.notes.write('follower.other', note)
    const waits: string[] = []
    const place = await placeOf(stream, own, { waits, beginAt: beginAt ?? null })
    const base = { store, epoch: store, epochBegin: null, secret: '' }
    if (hasHistory === true) await writeHistory(stream, base)
    const agreeing = place.agree(own.journal, of)
    if (why === null) t.equal(await agreeing, null)
    else await t.rejects(agreeing, { name: 'StoppedEarly' })
    t.match(waits, why === null ? [] : [why])
    t.ok(untouched(own.dir))
  })
}
