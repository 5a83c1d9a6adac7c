// Goal:   a standby leads once the lease has lapsed, and only with everything that the stream has;
//         of several standbys, one leads; and none leads while the leader shows a sign of life.
// Method: a stream in memory; a function of the test takes the place of leading.

import t, { type Test } from 'tap'
import type { StreamMessage } from '../../../src/cluster/replication/log-stream.ts'
import { Standby } from '../../../src/cluster/replication/standby.ts'
import { until } from '../../until.ts'
import { MemoryStream, nameOf } from './memory-stream.ts'

const takeoverMs = 100
const holder = { version: 1 as const, node: 'leader', term: 1, since: 0 }

/** Makes a stream whose leader holds the lease, with one message of its term. */
async function ledStream(): Promise<MemoryStream> {
  const stream = new MemoryStream()
  const bytes = new Uint8Array()
  await stream.publish({ first: 1, last: 3, term: 1, name: nameOf('', 1), bytes }, 0)
  await stream.lease.hold(holder)
  return stream
}

function standbyOf(t: Test, stream: MemoryStream, node: string, position = 3) {
  const seen = {
    durable: position,
    term: 1,
    led: [] as StreamMessage[],
    looks: 0,
    failures: [] as string[],
  }
  const standby = new Standby({
    stream,
    node,
    takeoverMs,
    wall: () => 1_790_000_000_000,
    onFailed: ({ message }) => seen.failures.push(message),
    term: () => seen.term,
    durable: () => {
      seen.looks += 1
      return seen.durable
    },
    lead: async (last) => {
      const [position, term] = [last.last + 1, last.term + 1]
      const message = { first: position, last: position, term, name: nameOf('', term, last) }
      const published = await stream.publish({ ...message, bytes: new Uint8Array() }, last.sequence)
      if ('rejected' in published) return false
      seen.led.push(last)
      return true
    },
  })
  standby.start()
  t.teardown(() => standby.stop())
  return { seen, standby }
}

t.test('standby: the leader holds the lease: it waits, then leads', async (t) => {
  const stream = await ledStream()
  const { seen } = standbyOf(t, stream, 'a')
  await new Promise((resolve) => setTimeout(resolve, 3 * takeoverMs))
  t.same(seen.led, [])
  await stream.lease.release('leader')
  await until('it leads', () => seen.led.length > 0)
  t.match(await stream.lease.read(), { node: 'a', term: 2 })
})

t.test('standby: it lacks records: does not lead before it has them', async (t) => {
  const stream = await ledStream()
  await stream.lease.release('leader')
  const { seen } = standbyOf(t, stream, 'a', 2)
  await until('several looks', () => seen.looks > 20)
  t.same(seen.led, [])
  seen.durable = 3
  await until('it leads', () => seen.led.length > 0)
})

t.test('standby: several of them: one leads', async (t) => {
  const stream = await ledStream()
  const all = ['a', 'b', 'c'].map((node) => standbyOf(t, stream, node))
  await stream.lease.release('leader')
  await until('one leads', () => all.some(({ seen }) => seen.led.length > 0))
  await new Promise((resolve) => setTimeout(resolve, 3 * takeoverMs))
  t.equal(all.filter(({ seen }) => seen.led.length > 0).length, 1)
  t.equal(stream.messages.length, 2)
})

t.test('standby: another node began a term: its lease goes back, and it waits', async (t) => {
  const stream = await ledStream()
  await stream.lease.release('leader')
  const { seen } = standbyOf(t, stream, 'a', 2)
  await until('it holds the lease', async () => (await stream.lease.read())?.node === 'a')
  const message = { first: 4, last: 4, term: 2, name: nameOf('', 2) }
  await stream.publish({ ...message, bytes: new Uint8Array() }, 1)
  // It now has the earlier records, but those of the new term are missing.
  seen.durable = 3
  await until('it gave the lease back', async () => (await stream.lease.read()) === null)
  t.same(seen.led, [])
})

t.test('standby: the engine is away: it does not lead, and tries when it is back', async (t) => {
  const stream = await ledStream()
  await stream.lease.release('leader')
  stream.isDown = true
  const { seen } = standbyOf(t, stream, 'a')
  await new Promise((resolve) => setTimeout(resolve, 3 * takeoverMs))
  t.same(seen.led, [])
  stream.isDown = false
  await until('it leads', () => seen.led.length > 0)
  t.same(seen.failures, [])
})

t.test('standby: stopped: it does not lead', async (t) => {
  const stream = await ledStream()
  const { seen, standby } = standbyOf(t, stream, 'a')
  await standby.stop()
  await stream.lease.release('leader')
  await new Promise((resolve) => setTimeout(resolve, 3 * takeoverMs))
  t.same(seen.led, [])
})

t.test('standby: an answer that cannot be read: it tries again, and leads', async (t) => {
  const stream = await ledStream()
  await stream.lease.release('leader')
  const { last } = stream
  let failures = 0
  stream.last = () => {
    failures += 1
    if (failures === 3) stream.last = last
    return Promise.reject(new Error('message 2 of the stream is not part of a log'))
  }
  const { seen } = standbyOf(t, stream, 'a')
  await until('it leads', () => seen.led.length > 0)
  t.equal(failures, 3)
  t.same(seen.failures, ['message 2 of the stream is not part of a log'], 'reported once')
})
