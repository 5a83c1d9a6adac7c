// The schedule with a ledger and a sender that each test controls. Time is simulated unless a test
// says otherwise.

import t from 'tap'
import {
  type Ledger,
  Schedule,
  type ScheduledAttempt,
} from '../../../src/forum/webhooks/schedule.ts'
import type { Sent } from '../../../src/forum/webhooks/send.ts'

const received: Sent = { status: 200, error: null, body: '' }

interface Begun extends ScheduledAttempt {
  webhook: number
}

/** The due times of webhooks by number, and the attempts that have begun and have been sent. */
class World implements Ledger<Begun> {
  readonly due: { webhook: number; endpoint: string; at: number }[] = []
  readonly begun: number[] = []
  readonly left: number[] = []
  readonly finished: number[] = []
  readonly release = new Map<number, () => void>()
  position = 0
  time = 1000
  begins: (webhook: number) => Begun | null | 'later'
  isWritable = true
  readonly schedule: Schedule<Begun>

  constructor() {
    this.begins = (webhook) => {
      this.position += 1
      const post = { endpoint: '', secret: '', eventId: '', body: '' }
      return { ...post, webhook, position: this.position }
    }
    this.schedule = new Schedule<Begun>(this, (attempt) => this.send(attempt as Begun))
  }

  now = () => this.time
  nextDueAt = () => Math.min(Number.POSITIVE_INFINITY, ...this.due.map(({ at }) => at))

  takeDue() {
    const index = this.due.findIndex(({ at }) => at <= this.time)
    return index === -1 ? undefined : this.due.splice(index, 1)[0]
  }

  begin(webhook: number) {
    const attempt = this.begins(webhook)
    if (attempt !== 'later') this.begun.push(webhook)
    return attempt
  }

  send({ webhook }: Begun): Promise<Sent> {
    this.left.push(webhook)
    return new Promise((resolve) => this.release.set(webhook, () => resolve(received)))
  }

  finish({ webhook }: Begun) {
    if (this.isWritable) this.finished.push(webhook)
    return this.isWritable
  }

  add(count: number, hosts: number, at = 0) {
    for (let webhook = 0; webhook < count; webhook++) {
      this.due.push({ webhook, endpoint: `https://h${webhook % hosts}.example/`, at })
    }
  }

  /** Lets the schedule do what it has left for the next iterations. */
  async turns(count = 1) {
    for (let turn = 0; turn < count; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  /** Runs the schedule until no work is left. */
  async drain() {
    for (let turn = 0; turn < 10_000 && this.schedule.busy + this.due.length > 0; turn++) {
      this.schedule.onDurable(this.position)
      for (const [webhook, release] of this.release) {
        this.release.delete(webhook)
        release()
      }
      await this.turns()
    }
  }
}

t.test('C1: attempt: begun: sent when its record is durable, not before', async (t) => {
  const world = new World()
  world.add(3, 3)
  world.schedule.poke()
  t.same(world.begun, [0, 1, 2])
  world.schedule.onDurable(0)
  t.same(world.left, [])
  world.schedule.onDurable(2)
  t.same(world.left, [0, 1])
  world.schedule.onDurable(3)
  t.same(world.left, [0, 1, 2])
  await world.drain()
  t.same(world.finished.toSorted(), [0, 1, 2])
  await world.schedule.stop()
})

t.test('C2: one host with many due: eight attempts at a time, in order', async (t) => {
  const world = new World()
  world.add(20, 1)
  world.schedule.poke()
  world.schedule.onDurable(20)
  t.same(world.left, [0, 1, 2, 3, 4, 5, 6, 7])
  await world.drain()
  t.same(
    world.finished,
    Array.from({ length: 20 }, (_, n) => n),
  )
  await world.schedule.stop()
})

t.test('C2: a webhook is tried: it is due again: it waits for the first attempt', async (t) => {
  const world = new World()
  world.add(1, 1)
  world.schedule.poke()
  world.schedule.onDurable(1)
  world.due.push({ webhook: 0, endpoint: 'https://h0.example/', at: 0 })
  world.due.push({ webhook: 7, endpoint: 'https://h0.example/', at: 0 })
  world.schedule.poke()
  t.same(world.begun, [0, 7], 'another webhook of the host does not wait')
  await world.drain()
  t.same(world.finished, [0, 7, 0])
  await world.schedule.stop()
})

t.test('C2: a host that never answers: others overtake it', async (t) => {
  const world = new World()
  world.add(1000, 1)
  world.due.push({ webhook: 1000, endpoint: 'https://other.example/', at: 0 })
  for (let turn = 0; turn < 8; turn++) {
    world.schedule.onDurable(world.position)
    await world.turns()
  }
  world.schedule.onDurable(world.position)
  t.same(world.left, [0, 1, 2, 3, 4, 5, 6, 7, 1000])
  await world.drain()
  t.equal(world.finished.length, 1001)
  await world.schedule.stop()
})

t.test('C2: more hosts than the limit: the rest wait, none is forgotten', async (t) => {
  const world = new World()
  world.add(200, 200)
  world.schedule.poke()
  await world.turns(8)
  t.equal(world.begun.length, 64)
  t.equal(world.schedule.busy, 64)
  await world.drain()
  t.same(
    world.finished.toSorted((a, b) => a - b),
    Array.from({ length: 200 }, (_, n) => n),
  )
  await world.schedule.stop()
})

t.test(
  'C3: very many due at once, all with nothing to send: an iteration takes a bounded part',
  async (t) => {
    const world = new World()
    world.add(10_000, 10_000)
    world.begins = () => null
    for (let n = 0; n < 3; n++) world.schedule.poke()
    t.equal(world.begun.length, 16, 'however often it is poked')
    for (let turn = 0; turn < 10_000 && world.begun.length < 10_000; turn++) await world.turns()
    t.equal(world.begun.length, 10_000)
    t.equal(world.schedule.busy, 0)
    await world.schedule.stop()
  },
)

t.test('schedule: due later: a timer begins it', async (t) => {
  const world = new World()
  world.add(1, 1, 1020)
  world.schedule.poke()
  t.same(world.begun, [])
  world.time = 1020 // the schedule computed its delay from the earlier time
  await new Promise<void>((resolve) => {
    const { begins } = world
    world.begins = (webhook) => {
      resolve()
      return begins(webhook)
    }
  })
  t.equal(world.schedule.busy, 1)
  await world.drain()
  await world.schedule.stop()
})

t.test('schedule: the log accepts nothing: tries again, and loses nothing', async (t) => {
  const world = new World()
  world.add(2, 2)
  const { begins } = world
  let refusals = 0
  await new Promise<void>((resolve) => {
    world.begins = (webhook) => {
      if (refusals++ === 0) return 'later'
      if (world.begun.length === 1) resolve()
      return begins(webhook)
    }
    world.schedule.poke()
    world.schedule.poke()
    t.equal(refusals, 1, 'one refusal is enough for now')
    t.equal(world.schedule.busy, 0)
  })
  await world.drain()
  t.same(world.finished.toSorted(), [0, 1])
  await world.schedule.stop()
})

t.test('C4: stopping: waits for attempts that were sent, others stay due', async (t) => {
  const world = new World()
  world.add(3, 3)
  world.schedule.poke()
  world.schedule.onDurable(2)
  let isStopped = false
  const stopped = world.schedule.stop().then(() => {
    isStopped = true
  })
  world.schedule.onDurable(3)
  world.add(1, 1)
  world.schedule.poke()
  t.same(world.left, [0, 1])
  world.release.get(0)!()
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(isStopped, false)
  world.release.get(1)!()
  await stopped
  t.same(world.finished, [0, 1])
  t.same(world.begun, [0, 1, 2])
})

t.test('C4: stopping while the log accepts nothing: it does not wait forever', async (t) => {
  const world = new World()
  world.add(1, 1)
  world.isWritable = false
  world.schedule.poke()
  world.schedule.onDurable(1)
  const stopped = world.schedule.stop()
  world.release.get(0)!()
  await stopped
  t.same(world.finished, [])
})
