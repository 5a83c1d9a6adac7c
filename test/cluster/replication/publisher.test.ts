// Goal:   the stream has everything that the publisher reports as acknowledged: in order, without
//         gaps, each record once, whatever happens to requests and replies (publisher.ts, P1 to
//         P4).
// Method: by seed, a leader publishes random frames through a network that delays, loses and
//         reorders, to an engine that is full or unavailable at times; in some seeds another node
//         begins a term meanwhile.

import t, { type Test } from 'tap'
import { beginTerm } from '../../../src/cluster/replication/lead.ts'
import { type Ended, Publisher } from '../../../src/cluster/replication/publisher.ts'
import { recordHeaderBytes } from '../../../wal/journal/format.ts'
import { sizeOf, timeoutMs } from '../../depth.ts'
import { settled, VirtualTime } from '../../simulate/virtual-time.ts'
import { until } from '../../until.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { MemoryStream, nonceOf } from './memory-stream.ts'
import { SimulatedEngine } from './simulated-engine.ts'
import { SimulatedStream } from './simulated-stream.ts'

const seeds = sizeOf('PUBLISHER_SEEDS')
const store = 'the store'

/** Returns records as in a frame, of random lengths, each with its position as its content. */
function frame(first: number, count: number, random: () => number): Buffer {
  const records = Array.from({ length: count }, (_, index) => {
    const bytes = Buffer.alloc(recordHeaderBytes + 8 + Math.floor(random() * 200))
    bytes.writeUInt32LE(bytes.length - recordHeaderBytes)
    bytes.writeDoubleLE(first + index, recordHeaderBytes)
    return bytes
  })
  return Buffer.concat(records)
}

/** Returns the positions that the records of a message hold. */
function positionsIn(bytes: Uint8Array): number[] {
  const buffer = Buffer.from(bytes)
  const positions: number[] = []
  for (let at = 0; at < buffer.length; at += recordHeaderBytes + buffer.readUInt32LE(at)) {
    positions.push(buffer.readDoubleLE(at + recordHeaderBytes))
  }
  return positions
}

class Trial {
  readonly random: () => number
  readonly time: VirtualTime
  readonly engine: SimulatedEngine
  readonly ended: Ended[] = []
  publisher: Publisher | null = null
  end = 1
  /** The acknowledgements that were not true when they were reported. */
  readonly lies: string[] = []

  constructor(seed: number) {
    this.random = seededRandom(seed)
    this.time = new VirtualTime(this.random, 0)
    this.engine = new SimulatedEngine(this.random)
  }

  async step(): Promise<void> {
    this.engine.completeOne()
    await settled()
    if (this.random() < 0.2) await this.time.advance(this.random() * 300)
    await this.time.turn()
  }

  async finish<T>(call: Promise<T>): Promise<T> {
    let isOver = false
    void call.finally(() => (isOver = true))
    for (let steps = 0; !isOver; steps++) {
      if (steps > 50_000) throw new Error('it never ends')
      await this.step()
    }
    return call
  }

  async lead(messageBytesMax = 600): Promise<void> {
    const stream = new SimulatedStream(this.engine, { messageBytesMax })
    const end = { position: 0, term: 0, nonce: '', store }
    const beginning = { node: 'a', end, isFirst: true, at: 1 }
    const {
      record: { term },
      name,
      message,
    } = (await this.finish(beginTerm(stream, beginning)))!
    this.publisher = new Publisher({
      stream,
      term,
      name,
      sequence: message.sequence,
      position: message.last,
      onAcknowledged: (position) => {
        const has = this.engine.messages.filter((each) => each.term === term).at(-1)!.last
        if (position > has) this.lies.push(`${position} of ${has}`)
      },
      onEnded: (why) => this.ended.push(why),
    })
  }

  add(): void {
    const count = 1 + Math.floor(this.random() * 6)
    this.publisher!.add(this.end + 1, count, frame(this.end + 1, count, this.random))
    this.end += count
  }

  disturb(): void {
    const { engine, random } = this
    engine.lossRate = random() < 0.5 ? 0 : random() * 0.4
    engine.staleRate = random() < 0.5 ? 0 : 0.5
    engine.isAvailable = random() < 0.9
    engine.capacityBytes = random() < 0.9 ? Number.POSITIVE_INFINITY : 1000
  }

  calm(): void {
    Object.assign(this.engine, { lossRate: 0, staleRate: 0, isAvailable: true })
    this.engine.capacityBytes = Number.POSITIVE_INFINITY
  }
}

async function live(seed: number, t: Test): Promise<Trial> {
  const trial = new Trial(seed)
  trial.time.enter()
  try {
    await trial.lead()
    const { random, engine } = trial
    const isContested = random() < 0.4
    const frames = 5 + Math.floor(random() * 30)
    for (let n = 0; n < frames; n++) {
      trial.add()
      if (random() < 0.2) trial.disturb()
      for (let steps = Math.floor(random() * 30); steps > 0; steps--) await trial.step()
    }
    trial.calm()
    if (isContested) {
      const other = new SimulatedStream(engine)
      for (let isBegun = false; !isBegun; ) {
        const { last: position, name } = engine.message(engine.lastSequence)!
        const end = { position, term: 1, nonce: name.nonce, store }
        const about = { node: 'b', at: 1 }
        const beginning = { ...about, end, isFirst: false }
        isBegun = (await trial.finish(beginTerm(other, beginning))) !== null
      }
      for (let n = 0; trial.ended.length === 0 && n < 50_000; n++) {
        await trial.step()
        trial.publisher!.check()
      }
      t.same(trial.ended, [{ kind: 'fenced', term: 2 }])
    } else {
      await trial.finish(trial.publisher!.whenAcknowledged(trial.end))
      t.same([trial.publisher!.acknowledged, trial.publisher!.bytes], [trial.end, 0])
    }
    trial.publisher!.stop()
  } finally {
    trial.time.leave()
  }
  return trial
}

t.test(
  'publisher: calls lost, late, in any order: each record once',
  { timeout: timeoutMs },
  async (t) => {
    const outcomes = new Map<string, number>()
    for (let seed = 1; seed <= seeds; seed++) {
      const trial = await live(seed, t)
      const { engine, lies, publisher } = trial
      t.same(lies, [])
      const mine = engine.messages.filter(({ term }) => term === 1)
      const positions = mine.slice(1).flatMap(({ bytes }) => positionsIn(bytes))
      t.strictSame(
        positions,
        Array.from(positions, (_, index) => index + 2),
      )
      t.ok(publisher!.acknowledged <= mine.at(-1)!.last)
      for (const { first, last, bytes } of mine.slice(1)) {
        t.same([first, last], [positionsIn(bytes)[0], positionsIn(bytes).at(-1)])
        t.ok(bytes.length <= 600)
      }
      for (const [name, count] of engine.outcomes) {
        outcomes.set(name, (outcomes.get(name) ?? 0) + count)
      }
      if (!t.passing()) {
        t.comment(`seed ${seed}`)
        break
      }
    }
    for (const name of ['request lost', 'reply lost', 'publish: wrong sequence', 'publish: full']) {
      t.ok(outcomes.get(name)! > 0, `${name} has happened`)
    }
  },
)

t.test(
  'publisher: the stream ends within what is to be sent: it ends, and says where',
  async (t) => {
    const stream = new MemoryStream()
    const bytes = Buffer.alloc(0)
    const name = { store, nonce: nonceOf(1) }
    await stream.publish(
      { first: 1, last: 1, term: 1, name: { ...name, previousNonce: '' }, bytes },
      0,
    )
    await stream.publish({ first: 2, last: 5, term: 1, name, bytes }, 1)
    const ended: Ended[] = []
    const publisher = new Publisher({
      ...{ stream, term: 1, name, sequence: 1, position: 1 },
      onAcknowledged: () => t.fail('nothing of it is acknowledged'),
      onEnded: (why) => ended.push(why),
    })
    publisher.add(2, 5, frame(2, 5, Math.random))
    await until('its end', () => ended.length > 0)
    t.same(ended, [{ kind: 'lost', position: 5 }])
  },
)

t.test(
  'publisher: the stream has a term of the same number by another node: fenced at once',
  async (t) => {
    const stream = new MemoryStream()
    const bytes = Buffer.alloc(0)
    const other = { store, nonce: nonceOf(2), previousNonce: '' }
    await stream.publish({ first: 1, last: 1, term: 1, name: other, bytes }, 0)
    const ended: Ended[] = []
    const publisher = new Publisher({
      ...{ stream, term: 1, name: { store, nonce: nonceOf(1) }, sequence: 0, position: 0 },
      onAcknowledged: () => t.fail('nothing of it is acknowledged'),
      onEnded: (why) => ended.push(why),
    })
    t.teardown(() => publisher.stop())
    publisher.add(1, 5, frame(1, 5, Math.random))
    await until('its end', () => ended.length > 0)
    t.same(ended, [{ kind: 'fenced', term: 1 }])
  },
)

t.test(
  'publisher: the stream is unreachable for long, then a server lags: it goes on',
  async (t) => {
    const time = new VirtualTime(seededRandom(1), 0)
    time.enter()
    try {
      const stream = new MemoryStream()
      const name = { store, nonce: nonceOf(1) }
      const bytes = Buffer.alloc(0)
      const begin = { first: 1, last: 1, term: 1, name: { ...name, previousNonce: '' }, bytes }
      await stream.publish(begin, 0)
      await stream.publish({ first: 2, last: 5, term: 1, name, bytes }, 1)
      const ended: Ended[] = []
      const publisher = new Publisher({
        ...{ stream, term: 1, name, sequence: 2, position: 5 },
        onAcknowledged: () => {},
        onEnded: (why) => ended.push(why),
      })
      const pass = async (ms: number) => {
        for (let left = ms; left > 0; left -= 100) await time.advance(100)
      }
      stream.isDown = true
      publisher.check()
      await pass(20_000)
      const { last } = stream
      stream.isDown = false
      stream.last = async () => stream.at(1)
      await pass(10_000)
      t.same(ended, [], 'it may come yet')
      stream.last = last
      publisher.add(6, 2, frame(6, 2, Math.random))
      await pass(2_000)
      t.equal(publisher.acknowledged, 7)
      stream.last = async () => stream.at(1)
      publisher.check()
      await pass(20_000)
      t.same(ended, [{ kind: 'lost', position: 1 }])
    } finally {
      time.leave()
    }
  },
)

t.test('publisher: a frame after a long rest: the stream has been silent since then', async (t) => {
  const time = new VirtualTime(seededRandom(1), 0)
  time.enter()
  try {
    const stream = new MemoryStream()
    const name = { store, nonce: nonceOf(1) }
    const bytes = Buffer.alloc(0)
    await stream.publish(
      { first: 1, last: 1, term: 1, name: { ...name, previousNonce: '' }, bytes },
      0,
    )
    const publisher = new Publisher({
      ...{ stream, term: 1, name, sequence: 1, position: 1 },
      onAcknowledged: () => {},
      onEnded: () => {},
    })
    await time.advance(60_000)
    t.equal(publisher.stalledMs, 0)
    stream.isDown = true
    publisher.add(2, 1, frame(2, 1, Math.random))
    t.equal(publisher.stalledMs, 0)
    await time.advance(2_000)
    t.equal(publisher.stalledMs, 2_000)
    publisher.stop()
  } finally {
    time.leave()
  }
})
