// Goal:   a leader decides only while no standby can have seen its lease lapse, whatever is late,
//         lost or stopped; the leader shows nothing before it has the lease.
// Method: a stream in memory whose answers the test delays, on a clock that the test sets.

import t, { type Test } from 'tap'
import { JetStreamLease } from '../../../src/cluster/replication/jetstream/notes.ts'
import { watchUndecided } from '../../../src/cluster/replication/lead.ts'
import { LeaseKeeper } from '../../../src/cluster/replication/lease-keeper.ts'
import { StreamGone, StreamUnavailable } from '../../../src/cluster/replication/log-stream.ts'
import { until } from '../../until.ts'
import { MemoryNotes, MemoryStream, nameOf } from './memory-stream.ts'

const takeoverMs = 60_000
const holder = { version: 1, node: 'a', term: 1, since: 0 } as const
const none = new Uint8Array()
const always = Number.POSITIVE_INFINITY

/**
 * Returns the lease keeper of a leader whose stream ends in its term; `clock` replaces
 * performance.now.
 */
function scene(t: Test) {
  const clock = { ms: 1_000, renewals: 0 }
  const { now } = performance
  Object.assign(performance, { now: () => clock.ms })
  t.teardown(() => Object.assign(performance, { now }))
  const stream = new MemoryStream()
  const { term } = holder
  stream.messages.push({
    sequence: 1,
    first: 1,
    last: 1,
    term,
    name: nameOf('', term),
    bytes: none,
  })
  const notices: string[] = []
  const keeper = new LeaseKeeper({
    stream,
    holder,
    takeoverMs,
    onNotice: ({ event }) => notices.push(event),
  })
  const hold = stream.lease.hold.bind(stream.lease)
  /** The delay of a renewal in transit, and whether it fails. */
  const way = { ms: 0, fails: false }
  stream.lease.hold = async (...args) => {
    clock.renewals += 1
    clock.ms += way.ms
    if (way.fails) throw new StreamUnavailable('no answer')
    return hold(...args)
  }
  return { clock, stream, keeper, notices, way }
}

/** Begins the renewals, with timers that the test runs. */
function begin(t: Test, keeper: LeaseKeeper) {
  const timers: (() => void)[] = []
  const { setInterval } = globalThis
  Object.assign(globalThis, {
    setInterval: (run: () => void) => {
      timers.push(run)
      return { unref: () => null }
    },
  })
  let losses = 0
  let lapses = 0
  keeper.begin(
    () => {
      losses += 1
    },
    () => {
      lapses += 1
    },
  )
  Object.assign(globalThis, { setInterval })
  t.teardown(() => keeper.stop())
  return {
    get losses() {
      return losses
    },
    get lapses() {
      return lapses
    },
    async renew() {
      for (const run of timers) run()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

t.test('K1: it decides for nine tenths of the time, from when the renewal was sent', async (t) => {
  const { clock, keeper, way } = scene(t)
  t.equal(keeper.decidesUntilMs, -always, 'before it has the lease')
  way.ms = 7_000
  t.ok(await keeper.take(() => false))
  t.equal(keeper.decidesUntilMs, 1_000 + 54_000, 'an answer that is late does not count')
  const renewing = begin(t, keeper)
  clock.ms = 30_000
  await renewing.renew()
  t.equal(keeper.decidesUntilMs, 30_000 + 54_000)
})

t.test('K2: another node has the lease: it waits until that is over', async (t) => {
  const { stream, keeper } = scene(t)
  stream.lease.holder = { ...holder, node: 'b' }
  let looks = 0
  const taking = keeper.take(() => {
    looks += 1
    if (looks === 3) stream.lease.holder = null
    return false
  })
  t.equal(keeper.decidesUntilMs, -always)
  t.ok(await taking)
  t.equal(looks, 3)
})

t.test('K2: a dead node has it, looks are rare or late: it lapses, but not early', async (t) => {
  const { clock } = scene(t)
  const notes = new MemoryNotes()
  const dead = { ...holder, node: 'dead' }
  await notes.write('lease', dead)
  const lease = new JetStreamLease(notes, takeoverMs)
  t.equal(await lease.hold(holder), false, 'seen for the first time')
  clock.ms += takeoverMs - 1_000
  t.equal(await lease.hold(holder), false, 'a look after most of the time')
  await notes.write('lease', dead)
  const { read } = notes
  notes.read = async (key) => {
    const note = await read.call(notes, key)
    clock.ms += 2 * takeoverMs // as in a process that was suspended
    return note
  }
  t.equal(await lease.hold(holder), false, 'renewed before a suspension')
  t.equal(await lease.hold(holder), false, 'suspended again: the answer is as old as its request')
  notes.read = read
  clock.ms += 1_000
  t.equal(await lease.hold(holder), true)
})

t.test('K2: another node has begun a later term, or it is stopped: it does not lead', async (t) => {
  const { stream, keeper } = scene(t)
  t.equal(await keeper.take(() => true), false)
  await stream.publish({ first: 2, last: 2, term: 2, name: nameOf('', 2), bytes: none }, 1)
  t.equal(await keeper.take(() => false), false)
  t.equal(keeper.decidesUntilMs, -always)
})

t.test('K3: another node has it, or leads: whoever looks at the stream is told', async (t) => {
  const { stream, keeper, notices } = scene(t)
  await keeper.take(() => false)
  const { decidesUntilMs } = keeper
  const renewing = begin(t, keeper)
  stream.lease.holder = { ...holder, node: 'b' }
  await renewing.renew()
  await renewing.renew()
  t.same([renewing.losses, notices], [2, ['lease_lost']])
  t.same([keeper.decidesUntilMs, keeper.showsUntilMs], [decidesUntilMs, decidesUntilMs])
  stream.lease.holder = null
  await renewing.renew()
  t.same([renewing.losses, notices], [2, ['lease_lost', 'lease_held']])
  await stream.publish({ first: 2, last: 2, term: 2, name: nameOf('', 2), bytes: none }, 1)
  await renewing.renew()
  t.equal(renewing.losses, 3, 'though it has the lease')
})

t.test('stopped while a renewal is on its way: the lease is free afterwards', async (t) => {
  const { stream, keeper } = scene(t)
  await keeper.take(() => false)
  const renewing = begin(t, keeper)
  const { hold } = stream.lease
  let arrive = () => {}
  stream.lease.hold = async (...args) => {
    await new Promise<void>((resolve) => {
      arrive = resolve
    })
    return hold(...args)
  }
  await renewing.renew()
  const stopping = keeper.stop()
  await new Promise((resolve) => setImmediate(resolve))
  arrive()
  await stopping
  t.equal(stream.lease.holder, null)
})

t.test('K4: the servers are out of reach: pages are shown after three failures', async (t) => {
  const { clock, stream, keeper, notices, way } = scene(t)
  await keeper.take(() => false)
  const renewing = begin(t, keeper)
  way.fails = true
  clock.ms = 100_000 // as after a stop
  t.same(keeper.showsUntilMs, 55_000)
  const { hold } = stream.lease
  let lose = () => {}
  stream.lease.hold = () =>
    new Promise((_, reject) => {
      lose = () => reject(new StreamUnavailable('the connection was lost'))
    })
  await renewing.renew()
  await renewing.renew() // not answered until then
  lose()
  await new Promise((resolve) => setImmediate(resolve))
  t.same(keeper.showsUntilMs, 55_000, 'this happens to one that was stopped')
  stream.lease.hold = hold
  t.match(keeper.warnings, [/lapsed 45 s ago/])
  await renewing.renew()
  t.same([keeper.decidesUntilMs, keeper.showsUntilMs], [55_000, always])
  t.equal(renewing.losses, 0)
  t.same(notices, ['lease_lost'], 'said once')
  way.fails = false
  await renewing.renew()
  t.same(notices, ['lease_lost', 'lease_held'])
  t.same([keeper.decidesUntilMs, keeper.showsUntilMs], [154_000, 154_000])
  const { lapses } = renewing
  t.ok(lapses > 0, 'K5: what waits is given up')
  await renewing.renew()
  t.equal(renewing.lapses, lapses)
  t.same(keeper.warnings, [])
})

t.test('K3: the stream has no message any more, or is gone: whoever looks is told', async (t) => {
  const { stream, keeper } = scene(t)
  t.ok(await keeper.take(() => false))
  const renewing = begin(t, keeper)
  await renewing.renew()
  t.equal(renewing.losses, 0)
  const [message] = stream.messages.splice(0)
  await renewing.renew()
  t.equal(renewing.losses, 1, 'it was purged')
  stream.messages.push(message!)
  stream.last = () => Promise.reject(new StreamGone('removed'))
  await renewing.renew()
  t.equal(renewing.losses, 2, 'it was removed')
})

t.test('an answer that cannot be read: counts as none, is said, and ends nothing', async (t) => {
  const { clock, stream, keeper } = scene(t)
  t.ok(await keeper.take(() => false))
  const renewing = begin(t, keeper)
  const { last } = stream
  stream.last = () => Promise.reject(new Error('message 2 of the stream is not part of a log'))
  clock.ms = 100_000
  for (let i = 0; i < 3; i++) await renewing.renew()
  t.same([keeper.decidesUntilMs, keeper.showsUntilMs, renewing.losses], [55_000, always, 0])
  t.match(keeper.warnings, [/lapsed 45 s ago.*: message 2 of the stream is not part of a log$/])
  stream.last = last
  await renewing.renew()
  t.equal(keeper.decidesUntilMs, 154_000, 'the next renewal is sent')
  t.same(keeper.warnings, [])
})

t.test('lead: nothing is acknowledged for nine seconds: what waits is refused', async (t) => {
  const stall = { ms: 8_999, looks: 0, refusals: 0 }
  const stalledMs = () => {
    stall.looks += 1
    return stall.ms
  }
  const giveUp = () => {
    stall.refusals += 1
  }
  t.teardown(watchUndecided(stalledMs, giveUp, 1))
  await until('three looks', () => stall.looks > 2)
  t.equal(stall.refusals, 0)
  stall.ms = 9_000
  await until('two refusals', () => stall.refusals > 1)
})
