// The stream on a real cluster: the promises of log-stream.ts.

import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { connectEngine } from '../../../src/cluster/replication/jetstream/connect.ts'
import type { JetStreamLog } from '../../../src/cluster/replication/jetstream/log.ts'
import type {
  LeaseHolder,
  StreamMessage,
  Unplaced,
} from '../../../src/cluster/replication/log-stream.ts'
import { until } from '../../until.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { nameOf } from './memory-stream.ts'
import { type Cluster, type NatsServer, nats, startCluster } from './nats-cluster.ts'

const takeoverMs = 400
let cluster: Cluster
let streams = 0

t.before(async () => {
  if (nats.skip === false) cluster = await startCluster(t)
})

/** Connects nodes to one new stream. */
async function connected(t: Test, ...nodes: string[]): Promise<JetStreamLog[]> {
  streams += 1
  const stream = `test-${streams}`
  const logs: JetStreamLog[] = []
  for (const node of nodes) {
    const options = { servers: cluster.url.split(','), stream, replicas: 3, node, takeoverMs }
    const log = await connectEngine({ ...options, credentials: null, tls: null }, () => {})
    t.teardown(() => log.close())
    logs.push(log)
  }
  return logs
}

function message(first: number, last: number, term = 1): Omit<StreamMessage, 'sequence'> {
  const bytes = Buffer.from(`records ${first} to ${last}`)
  return { first, last, term, name: nameOf('the-store', term), bytes }
}

function text(found: StreamMessage | null): string {
  return Buffer.from(found?.bytes ?? []).toString()
}

t.test('stream: two writers, one expectation: one message is in it', nats, async (t) => {
  const [a, b] = await connected(t, 'a', 'b')
  t.equal(await a!.last(), null)
  t.same(await a!.publish(message(1, 3), 0), { sequence: 1 })
  const both = await Promise.all([
    a!.publish(message(4, 5), 1),
    b!.publish(message(4, 9, 2), 1),
    a!.publish(message(6, 7), 2),
  ])
  t.equal(both.filter((each) => 'sequence' in each && each.sequence === 2).length, 1)
  const winner = 'sequence' in both[0]! ? { last: 5, term: 1 } : { last: 9, term: 2 }
  t.match(await b!.get(2), { sequence: 2, first: 4, ...winner })
  // A rejected message is sent again by the same writer, and is not mistaken for a known one.
  const last = (await a!.last())!
  t.same(await a!.publish(message(10, 12, 2), last.sequence), { sequence: last.sequence + 1 })
  t.equal(text(await b!.last()), 'records 10 to 12')
  t.equal(await b!.get(99), null)
})

t.test(
  'stream: a message of another format: refused with 76, and says what to do',
  nats,
  async (t) => {
    const [log] = await connected(t, 'a')
    const versions = [
      [2, /message 1 of the stream has format version 2 .* build before release 1\.0/],
      [4, /message 2 of the stream has format version 4 .* start the newer program/],
    ] as const
    for (const [index, [version, message]] of versions.entries()) {
      const marks = headers()
      marks.set('Agent-Forum', `${version} 1 1 1`)
      await jetstream(log!.connection).publish(`${log!.name}.log`, Buffer.of(1), { headers: marks })
      await t.rejects(log!.get(index + 1), { exitCode: 76, message })
    }
  },
)

t.test('stream: two in flight, another takes the first place: none is in it', nats, async (t) => {
  const [a, b] = await connected(t, 'a', 'b')
  await a!.publish(message(1, 1), 0)
  const [second, third, fourth] = [message(2, 2), message(3, 3), message(4, 4)]
  const both = await Promise.all([a!.publish(second, 1), a!.publish(third, 2, second)])
  t.same(both, [{ sequence: 2 }, { sequence: 3 }])
  await b!.publish(message(4, 4, 2), 3)
  const rejected = { rejected: 'wrong_sequence' }
  t.same(await a!.publish(fourth, 3), rejected)
  t.same(await a!.publish(message(5, 5), 4, fourth), rejected)
  t.match(await a!.last(), { sequence: 4, term: 2 })
})

t.test(
  'stream: gone, or the connection is closed: whether it was appended is unknown',
  nats,
  async (t) => {
    const [log] = await connected(t, 'a')
    await log!.publish(message(1, 1), 0)
    const manager = await jetstreamManager(log!.connection)
    await manager.streams.delete(log!.name)
    await t.rejects(log!.publish(message(2, 2), 1), { name: 'StreamUnavailable' })
    const publishing = log!.publish(message(2, 2), 1)
    await log!.close()
    await t.rejects(publishing, { name: 'StreamUnavailable', message: /closed/ })
    await t.rejects(log!.publish(message(2, 2), 1), { name: 'StreamUnavailable' })
  },
)

t.test('stream: its servers are full: writes beside it say unavailable', nats, async (t) => {
  const { url } = await startCluster(t, { size: 1, storeBytesMax: 300_000 })
  const options = { servers: [url], stream: 'full', replicas: 1, node: 'a', takeoverMs }
  const log = await connectEngine({ ...options, credentials: null, tls: null }, () => {})
  t.teardown(() => log.close())
  const holder: LeaseHolder = { version: 1, node: 'a', term: 1, since: 0 }
  t.ok(await log.lease.hold(holder), 'while there is room')
  const bytes = Buffer.alloc(50_000)
  for (let n = 1; ; n++) {
    const published = await log.publish({ ...message(n, n), bytes }, n - 1)
    if ('sequence' in published) continue
    t.same(published, { rejected: 'full' })
    break
  }
  const unavailable = { name: 'StreamUnavailable' }
  const large = { filler: 'x'.repeat(60_000) }
  await t.rejects(log.notes.write('a-note', large), unavailable)
  await t.rejects(log.objects.put('an-object', bytes), unavailable)
})

/** Reads so many from a place on as a follower does: again, where a reading has ended before. */
function readOn(log: JetStreamLog, from: number, count: number, seen: number[] = []): number[] {
  const take = ({ sequence }: StreamMessage) => void seen.push(sequence)
  const again = () => seen.length < count && readOn(log, from, count, seen)
  log.read(from + seen.length, take, again)
  return seen
}

t.test(
  'stream: read: all from a place on, then what comes, then trimmed ones: an end',
  nats,
  async (t) => {
    const [log] = await connected(t, 'a')
    for (let n = 1; n <= 4; n++) await log!.publish(message(n, n), n - 1)
    const seen = readOn(log!, 2, 4)
    await until('three messages', () => seen.length === 3)
    await log!.publish(message(5, 5), 4)
    await until('the new one', () => seen.length === 4)
    t.same(seen, [2, 3, 4, 5])
    await log!.trim(4)
    t.equal(await log!.firstSequence(), 4)
    t.equal(await log!.get(3), null)
    // A server whose copy has not been trimmed yet delivers what it has; a silent one delivers
    // nothing.
    await until('an end because of what is trimmed', async () => {
      const again: number[] = []
      const ended = await new Promise<Error | null>((resolve) => {
        log!.read(2, ({ sequence }) => void (again.push(sequence) === 4 && resolve(null)), resolve)
      })
      t.same(again, [2, 3, 4, 5].slice(0, again.length), 'nothing is delivered behind a gap')
      return ended?.message.includes('message 2 is not there any more')
    })
    await log!.trim(99)
    t.equal(await log!.firstSequence(), 5, 'the newest is kept')
    t.equal(text(await log!.last()), 'records 5 to 5')
  },
)

t.test('stream: read: far more than is sent ahead: all of it, in order', nats, async (t) => {
  const [log, reader] = await connected(t, 'a', 'b')
  const seen: number[] = []
  reader!.read(1, ({ first }) => void seen.push(first), t.error)
  const random = seededRandom(1)
  const count = 800
  for (let n = 0; n < count; n += 8) {
    let previous: Unplaced | undefined
    const published = Array.from({ length: 8 }, (_, index) => {
      const [first, bytes] = [n + index + 1, Buffer.alloc(500 + Math.floor(random() * 8_000))]
      const next = { ...message(first, first), bytes }
      const outcome = log!.publish(next, first - 1, previous)
      previous = next
      return outcome
    })
    await Promise.all(published)
  }
  await until('all messages', () => seen.length === count)
  t.strictSame(
    seen,
    Array.from(seen, (_, index) => index + 1),
  )
})

interface Streams {
  account_details?: { stream_detail?: { name: string; consumer_detail?: object[] }[] }[]
}

/** Returns the server that serves the readers of a stream, or null if there is none yet. */
async function serverOfReaders(stream: string): Promise<NatsServer | null> {
  for (const server of cluster.servers) {
    const found = (await server.monitor('/jsz?streams=1&consumers=1')) as Streams | null
    const streams = (found?.account_details ?? []).flatMap((each) => each.stream_detail ?? [])
    const served = streams.find(({ name }) => name === stream)?.consumer_detail ?? []
    if (served.length > 0) return server
  }
  return null
}

t.test(
  'stream: read: the server of the reading is killed: an end; read again: the rest',
  nats,
  async (t) => {
    const [log] = await connected(t, 'a')
    await log!.publish(message(1, 1), 0)
    const seen: number[] = []
    const errors: Error[] = []
    const read = (from: number) =>
      log!.read(
        from,
        ({ sequence }) => void seen.push(sequence),
        (error) => errors.push(error),
      )
    const reading = read(1)
    t.teardown(() => reading.stop())
    await until('the first message', () => seen.length === 1)
    const server = await until('a server to serve it', () => serverOfReaders(log!.name))
    await server.kill()
    await until('the reading to end', () => errors.length === 1)
    t.match(errors[0], { name: 'StreamUnavailable', message: /is silent$|connection was lost$/ })
    await until('a message to be appended', async () => {
      const last = (await log!.last().catch(() => null))?.sequence
      return last !== undefined && (await log!.publish(message(2, 2), last).catch(() => false))
    })
    await until('the new one', () => {
      if (errors.length > 0) read(2)
      errors.length = 0
      return seen.includes(2)
    })
    t.same([...new Set(seen)].slice(0, 2), [1, 2])
    server.start()
    await cluster.isReady()
  },
)

t.test('lease: held, not renewed, then taken: one holder, after the time only', nats, async (t) => {
  const [a, b] = await connected(t, 'a', 'b')
  const holder = (node: string): LeaseHolder => ({ version: 1, node, term: 1, since: 0 })
  t.equal(await a!.lease.hold(holder('a')), true)
  t.equal(await a!.lease.hold(holder('a')), true)
  t.equal(await b!.lease.hold(holder('b')), false)
  t.match(await b!.lease.read(), { node: 'a' })
  // On a busy machine the lease may have lapsed when it is read, but not yet when it is taken.
  await until('the lease to lapse', () => b!.lease.hold(holder('b')))
  t.equal(await a!.lease.hold(holder('a')), false)
  await a!.lease.release('a')
  t.match(await b!.lease.read(), { node: 'b' })
  await b!.lease.release('b')
  t.equal(await a!.lease.hold(holder('a')), true)
})

t.test('lease: released, and taken meanwhile: the new holder keeps it', nats, async (t) => {
  const [a, b] = await connected(t, 'a', 'b')
  const holder = (node: string): LeaseHolder => ({ version: 1, node, term: 1, since: 0 })
  t.equal(await a!.lease.hold(holder('a')), true)
  const { remove } = a!.notes
  a!.notes.remove = async (...note) => {
    await until('the lease to lapse', () => b!.lease.hold(holder('b')))
    await remove.call(a!.notes, ...note)
  }
  await a!.lease.release('a')
  t.match(await b!.lease.read(), { node: 'b' })
  t.equal(await a!.lease.hold(holder('a')), false)
})

t.test('notes: written by two: the second one with an old revision is refused', nats, async (t) => {
  const [a, b] = await connected(t, 'a', 'b')
  t.equal(await a!.notes.read('history'), null)
  const revision = (await a!.notes.write('history', { version: 1 }, 0))!
  t.equal(await b!.notes.write('history', { version: 1 }, 0), null)
  t.ok(await b!.notes.write('history', { version: 1, by: 'b' }, revision))
  t.equal(await a!.notes.write('history', { version: 1 }, revision), null)
  t.match(await a!.notes.read('history'), { value: { by: 'b' } })
  await a!.notes.write('follower.b', 1)
  await a!.notes.write('follower.c', 1)
  t.same((await a!.notes.keys('follower.')).sort(), ['follower.b', 'follower.c'])
  await a!.notes.remove('follower.b')
  t.equal(await a!.notes.read('follower.b'), null)
})

t.test('notes: read, listed: by the server that leads them, not any copy', nats, async (t) => {
  const [log] = await connected(t, 'a')
  const requests: string[] = []
  const callback = (_: unknown, { subject }: { subject: string }) => void requests.push(subject)
  const observer = await connect({ servers: cluster.url.split(',') })
  t.teardown(() => observer.close())
  observer.subscribe('$JS.API.DIRECT.GET.>', { callback })
  observer.subscribe('$JS.API.STREAM.>', { callback })
  // A consumer that is created on a lagging server lists too little.
  observer.subscribe('$JS.API.CONSUMER.>', { callback })
  await observer.flush()
  await until('requests to be seen', async () => {
    await log!.notes.read('history')
    await log!.notes.keys('follower.')
    return new Set(requests).size > 1
  })
  const asked = ['INFO', 'MSG.GET'].map((what) => `$JS.API.STREAM.${what}.KV_${log!.name}-notes`)
  t.same([...new Set(requests)].sort(), asked)
})

t.test('objects: put, listed, read, removed: whole, or absent', nats, async (t) => {
  const [log] = await connected(t, 'a')
  const { objects } = log!
  t.same(await objects.list(), [])
  t.equal(await objects.get('a.1.pages'), null)
  const bytes = Buffer.alloc(500_000, 'some bytes')
  await objects.put('a.1.pages', Buffer.from('older'))
  await objects.put('a.1.pages', bytes)
  await objects.put('a.2.pages', new Uint8Array(0))
  t.same((await objects.list()).sort(), ['a.1.pages', 'a.2.pages'])
  t.ok(bytes.equals((await objects.get('a.1.pages'))!))
  t.equal((await objects.get('a.2.pages'))!.length, 0)
  await objects.remove('a.1.pages')
  t.equal(await objects.get('a.1.pages'), null)
})

t.test('calls: the leader of a term answers; of another one, nobody does', nats, async (t) => {
  const [leader, follower] = await connected(t, 'leader', 'follower')
  const ask = async (term: number) => {
    const answer = await follower!.calls.call(term, Buffer.from('question'))
    return answer === null ? null : Buffer.from(answer).toString()
  }
  t.equal(await ask(3), null)
  const answering = leader!.calls.answer(3, async (request) =>
    Buffer.from(`answer to ${Buffer.from(request)}`),
  )
  await until('an answer', async () => (await ask(3)) === 'answer to question')
  t.equal(await ask(2), null, 'of another term')
  const large = Buffer.alloc(300_000, 7)
  leader!.calls.answer(4, async (request) => request)
  await until('a long answer', async () => {
    const answer = await follower!.calls.call(4, large)
    return answer !== null && large.equals(Buffer.from(answer))
  })
  answering.stop()
  // A request that a server forwarded before it knew that nobody listens is never answered.
  await until('nobody', async () => (await ask(3).catch(() => 'unknown')) === null)
})

t.test('stream: a message of another program: refused, with what it is', nats, async (t) => {
  const [log] = await connected(t, 'a')
  await log!.publish(message(1, 1), 0)
  log!.connection.publish(`${log!.name}.log`, 'of another program')
  await log!.connection.flush()
  const refused = {
    name: 'JournalError',
    exitCode: 77,
    finding: /^message 2 .* not part of a log$/,
  }
  const last = () =>
    log!.last().then(
      () => null,
      (error) => error,
    )
  t.match(await until('it to be appended', last), refused)
  t.match(await log!.get(1), { sequence: 1 })
})
