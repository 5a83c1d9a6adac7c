// The simulated stream keeps the promises of LogStream, and fails calls as networks do.

import t from 'tap'
import {
  type LogStream,
  type StreamMessage,
  StreamUnavailable,
} from '../../../src/cluster/replication/log-stream.ts'
import { settled, VirtualTime } from '../../simulate/virtual-time.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { nameOf } from './memory-stream.ts'
import { SimulatedEngine } from './simulated-engine.ts'
import { SimulatedStream } from './simulated-stream.ts'

const message = (first: number, last = first, term = 1) => ({
  first,
  last,
  term,
  name: nameOf('', term),
  bytes: Buffer.from(`${first} to ${last}`),
})

function engineAndTwo(seed = 1) {
  const engine = new SimulatedEngine(seededRandom(seed))
  return { engine, one: new SimulatedStream(engine), two: new SimulatedStream(engine) }
}

/** Completes steps until the call is over, and returns its result. */
async function done<T>(engine: SimulatedEngine, call: Promise<T>): Promise<T> {
  let isOver = false
  call.then(
    () => (isOver = true),
    () => (isOver = true),
  )
  await settled()
  while (!isOver) {
    if (!engine.completeOne()) throw new Error('the call waits for ever')
    await settled()
  }
  return call
}

/** Reads from a position. Returns the received messages in a list that grows, and the errors. */
function reading(stream: LogStream, from: number) {
  const got: StreamMessage[] = []
  const errors: Error[] = []
  stream.read(
    from,
    (found) => void got.push(found),
    (error) => errors.push(error),
  )
  return { got, errors }
}

async function completeAll(engine: SimulatedEngine): Promise<void> {
  while (engine.completeOne()) await settled()
}

t.test('stream: two append behind the same message: one is rejected', async (t) => {
  const { engine, one, two } = engineAndTwo()
  const both = [one.publish(message(1), 0), two.publish(message(1, 5), 0)]
  const outcomes = await done(engine, Promise.all(both))
  t.same(outcomes.map((outcome) => 'rejected' in outcome).sort(), [false, true])
  const last = (await done(engine, one.last()))!
  t.equal(last.sequence, 1)
  t.same(await done(engine, two.get(1)), last)
  t.equal(await done(engine, two.get(2)), null)
})

t.test('stream: readers: get every message once, in order, however it is delayed', async (t) => {
  const { engine, one, two } = engineAndTwo()
  const { got } = reading(two, 1)
  for (let n = 0; n < 20; n++) await done(engine, one.publish(message(n + 1), n))
  await completeAll(engine)
  t.same(
    got.map(({ sequence }) => sequence),
    Array.from({ length: 20 }, (_, n) => n + 1),
  )
  t.equal(Buffer.from(got[4]!.bytes).toString(), '5 to 5')
})

t.test('stream: trimmed: a reader that is behind has an error, and nothing after it', async (t) => {
  const { engine, one, two } = engineAndTwo()
  for (let n = 0; n < 5; n++) await done(engine, one.publish(message(n + 1), n))
  await done(engine, one.trim(4))
  t.equal(await done(engine, one.firstSequence()), 4)
  t.equal(await done(engine, one.get(3)), null)
  const { got, errors } = reading(two, 3)
  await completeAll(engine)
  t.same([got.length, errors.length], [0, 1])
  await done(engine, one.trim(99))
  t.equal(await done(engine, one.firstSequence()), 5, 'the newest message stays')
})

t.test('stream: full: refused', async (t) => {
  const { engine, one } = engineAndTwo()
  engine.capacityBytes = 10
  t.same(await done(engine, one.publish(message(1), 0)), { sequence: 1 })
  t.same(await done(engine, one.publish(message(2), 1)), { rejected: 'full' })
})

t.test(
  'stream: a call without an answer in time: unknown, and may still take effect',
  async (t) => {
    const time = new VirtualTime(seededRandom(1), 0)
    time.enter()
    try {
      const { engine, one, two } = engineAndTwo()
      one.isCut = true
      const outcome = one.publish(message(1), 0).catch((error: Error) => error)
      await time.advance(10_000)
      t.ok((await outcome) instanceof StreamUnavailable)
      t.equal(await done(engine, two.last()), null)
      one.isCut = false
      await completeAll(engine)
      t.match(await done(engine, two.last()), { first: 1 })
    } finally {
      time.leave()
    }
  },
)

t.test('stream: its process dies: what it sent may arrive, and nobody is answered', async (t) => {
  const outcomes = new Set<boolean>()
  for (let seed = 1; seed <= 20; seed++) {
    const { engine, one, two } = engineAndTwo(seed)
    let isAnswered = false
    void one.publish(message(1), 0).then(() => (isAnswered = true))
    engine.died(one)
    outcomes.add((await done(engine, two.last())) !== null)
    await completeAll(engine)
    t.equal(isAnswered, false)
  }
  t.equal(outcomes.size, 2)
})

t.test('lease: held, renewed, lapsed: one node has it at a time', async (t) => {
  const time = new VirtualTime(seededRandom(1), 0)
  time.enter()
  try {
    const { engine, one, two } = engineAndTwo()
    const holder = (node: string) => ({ version: 1 as const, node, term: 1, since: 0 })
    t.equal(await done(engine, one.lease.hold(holder('a'))), true)
    t.equal(await done(engine, two.lease.hold(holder('b'))), false)
    await time.advance(4_000)
    t.equal(await done(engine, one.lease.hold(holder('a'))), true)
    await time.advance(4_000)
    t.equal((await done(engine, two.lease.read()))?.node, 'a')
    await time.advance(4_000)
    t.equal(await done(engine, two.lease.read()), null)
    t.equal(await done(engine, two.lease.hold(holder('b'))), true)
    await done(engine, one.lease.release('a'))
    t.equal((await done(engine, two.lease.read()))?.node, 'b')
    await done(engine, two.lease.release('b'))
    t.equal(await done(engine, one.lease.read()), null)
  } finally {
    time.leave()
  }
})

t.test('notes and objects: written, compared, listed, removed', async (t) => {
  const { engine, one, two } = engineAndTwo()
  const revision = await done(engine, one.notes.write('follower.a', { version: 1 }, 0))
  t.equal(await done(engine, two.notes.write('follower.a', { version: 2 }, 0)), null)
  t.same(await done(engine, two.notes.read('follower.a')), { value: { version: 1 }, revision })
  t.ok(await done(engine, two.notes.write('follower.a', { version: 2 }, revision!)))
  await done(engine, one.notes.write('history', 1))
  t.same(await done(engine, one.notes.keys('follower.')), ['follower.a'])
  await done(engine, one.notes.remove('follower.a'))
  t.equal(await done(engine, two.notes.read('follower.a')), null)
  await done(engine, one.objects.put('pages', Buffer.from('bytes')))
  t.same(await done(engine, two.objects.list()), ['pages'])
  t.equal(Buffer.from((await done(engine, two.objects.get('pages')))!).toString(), 'bytes')
  await done(engine, two.objects.remove('pages'))
  t.equal(await done(engine, one.objects.get('pages')), null)
})

t.test('calls: to the leader of a term: answered; to nobody: null', async (t) => {
  const { engine, one, two } = engineAndTwo()
  t.equal(await done(engine, two.calls.call(1, Buffer.from('a'))), null)
  const answering = one.calls.answer(1, async (request) => Buffer.concat([request, request]))
  const answer = await done(engine, two.calls.call(1, Buffer.from('a')))
  t.equal(Buffer.from(answer!).toString(), 'aa')
  t.equal(await done(engine, two.calls.call(2, Buffer.from('a'))), null)
  answering.stop()
  t.equal(await done(engine, two.calls.call(1, Buffer.from('a'))), null)
})
