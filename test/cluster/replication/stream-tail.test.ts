// Goal:   a follower of the stream gets every record once, in order, from the place where its own
//         log ends, whatever interrupts its reading, and knows how far it is behind.
// Method: a stream in memory and a receiver that remembers; each record contains its position.

import t, { type Test } from 'tap'
import { StreamTail } from '../../../src/cluster/replication/stream-tail.ts'
import { eachEncoded } from '../../../wal/journal/format.ts'
import { until } from '../../until.ts'
import { MemoryStream, nameOf, nonceOf } from './memory-stream.ts'

const store = 'the store'

/** Returns records as in a frame; each contains its position. */
function recordsOf(first: number, last: number): Buffer {
  const records: Buffer[] = []
  for (let position = first; position <= last; position++) {
    const record = Buffer.from(String(position))
    const length = Buffer.alloc(4)
    length.writeUInt32LE(record.length)
    records.push(length, record)
  }
  return Buffer.concat(records)
}

async function publish(stream: MemoryStream, first: number, last: number, term = 1): Promise<void> {
  const bytes = recordsOf(first, last)
  const name = nameOf(store, term, stream.messages.at(-1))
  await stream.publish({ first, last, term, name, bytes }, stream.messages.length)
}

/** A follower that remembers what it receives. */
class Remembering {
  readonly taken: number[] = []
  readonly begin: number
  /** Called before anything is accepted. */
  wait: () => Promise<void> = async () => {}

  constructor(begin = 0) {
    this.begin = begin
  }

  get position(): number {
    return this.begin + this.taken.length
  }

  async receive(first: number, count: number, records: Uint8Array): Promise<void> {
    await this.wait()
    const bytes = Buffer.from(records)
    let position = first
    const isWhole = eachEncoded(bytes, count, (start, end) => {
      if (bytes.toString('utf8', start, end) !== String(position)) throw new Error('other records')
      this.taken.push(position++)
    })
    if (!isWhole) throw new Error('the records do not fill their bytes')
  }
}

interface Setting {
  receiver?: Remembering
  next?: number
  term?: number
  now?: () => number
  lookEveryMs?: number
}

function follow(t: Test, stream: MemoryStream, setting: Setting = {}) {
  const { receiver = new Remembering(), next = 1, term = 0, now, lookEveryMs } = setting
  const failures: Error[] = []
  const interruptions: Error[] = []
  const tail = new StreamTail({
    stream,
    receiver,
    next,
    term: { term, nonce: nonceOf(term), store },
    onFailed: (error) => failures.push(error),
    onInterrupted: (error) => interruptions.push(error),
    ...(now === undefined ? {} : { now }),
    ...(lookEveryMs === undefined ? {} : { lookEveryMs }),
  })
  tail.start()
  t.teardown(() => tail.stop())
  return { tail, receiver, failures, interruptions }
}

const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

t.test('tail: from an empty log: every record once, and those that come later', async (t) => {
  const stream = new MemoryStream()
  await publish(stream, 1, 1)
  await publish(stream, 2, 9)
  const { receiver, tail } = follow(t, stream)
  await until('the first nine', () => receiver.position === 9)
  await publish(stream, 10, 10, 2)
  await until('the tenth', () => receiver.position === 10)
  t.same(receiver.taken, upTo(10))
  t.equal(tail.term, 2)
})

t.test('tail: the log ends within a message: the rest of it', async (t) => {
  const stream = new MemoryStream()
  await publish(stream, 1, 6)
  await publish(stream, 7, 8)
  const { receiver } = follow(t, stream, { receiver: new Remembering(4), term: 1 })
  await until('the end', () => receiver.position === 8)
  t.same(receiver.taken, upTo(8, 5))
})

t.test('tail: interrupted, also while nobody answers: goes on where it was', async (t) => {
  const stream = new MemoryStream()
  await publish(stream, 1, 3)
  const { receiver, interruptions, failures } = follow(t, stream)
  await until('the first three', () => receiver.position === 3)
  stream.isDown = true
  stream.interrupt()
  await until('a second attempt', () => interruptions.length >= 2)
  stream.isDown = false
  await publish(stream, 4, 5)
  await until('the fifth', () => receiver.position === 5)
  t.same(receiver.taken, upTo(5))
  t.same(failures, [])
})

t.test('tail: a server sends nothing of what the stream has: it is read again', async (t) => {
  const stream = new MemoryStream()
  await publish(stream, 1, 3)
  let [stops, readings] = [0, 0]
  const silent = { stop: () => void stops++ }
  const partly = Object.assign(Object.create(stream) as MemoryStream, {
    last: () => stream.last(),
    firstSequence: () => stream.firstSequence(),
    read: (...args: Parameters<MemoryStream['read']>) =>
      readings++ === 0 ? silent : stream.read(...args),
  })
  const { receiver, interruptions, failures } = follow(t, partly, { lookEveryMs: 1 })
  await until('all three', () => receiver.position === 3)
  t.same(receiver.taken, upTo(3))
  t.match(interruptions, [/message 1 of 1 does not arrive/])
  t.equal(stops, 1, 'the first reading has been stopped')
  t.same(failures, [])
})

t.test('tail: R2: interrupted while a message is processed: it comes once', async (t) => {
  const stream = new MemoryStream()
  await publish(stream, 1, 3)
  const receiver = new Remembering()
  let [calls, accept] = [0, () => {}]
  receiver.wait = () => {
    calls += 1
    return new Promise((resolve) => {
      accept = resolve
    })
  }
  let readings = 0
  const { read } = stream
  stream.read = (...parts) => {
    readings += 1
    return read.apply(stream, parts)
  }
  const { failures, interruptions } = follow(t, stream, { receiver })
  await until('the first message', () => calls === 1)
  stream.interrupt()
  await until('the interruption', () => interruptions.length === 1)
  await new Promise((resolve) => setTimeout(resolve, 300)) // longer than the first pause
  t.same([calls, readings], [1, 1], 'it is not read again before it is processed')
  receiver.wait = async () => {}
  accept()
  await publish(stream, 4, 5)
  await until('the rest', () => receiver.position === 5)
  t.same(receiver.taken, upTo(5))
  t.same(failures, [])
})

t.test('tail: the follower is slow: one message at a time', async (t) => {
  const stream = new MemoryStream()
  for (let position = 1; position <= 20; position++) await publish(stream, position, position)
  const receiver = new Remembering()
  let [inside, most] = [0, 0]
  receiver.wait = async () => {
    inside += 1
    most = Math.max(most, inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside -= 1
  }
  follow(t, stream, { receiver })
  await until('all', () => receiver.position === 20)
  t.equal(most, 1)
})

/** The name of another message of term 2. */
const own = { store, nonce: nonceOf(2) }
const four = { first: 4, last: 4, bytes: recordsOf(4, 4) }

for (const [what, why, break_] of [
  ['a gap', /begins at 5, behind 4/, (stream: MemoryStream) => publish(stream, 5, 6, 2)],
  ['an older term', /of an older term, 1/, (stream: MemoryStream) => publish(stream, 4, 4, 1)],
  [
    'a later term at a position that the log has',
    /begins term 3 at 3, which is taken/,
    (stream: MemoryStream) => publish(stream, 3, 3, 3),
  ],
  [
    'a message of another store',
    /of another history, in term 2/,
    (stream: MemoryStream) =>
      stream.publish({ ...four, term: 2, name: { store: 'another', nonce: nonceOf(2) } }, 1),
  ],
  [
    'a message of another term 2',
    /of another history, in term 2/,
    (stream: MemoryStream) => stream.publish({ ...four, term: 2, name: { store, nonce: 'b' } }, 1),
  ],
  [
    'a later term that goes on from another one',
    /of another history, in term 3/,
    (stream: MemoryStream) =>
      stream.publish({ ...four, term: 3, name: { store, nonce: 'c', previousNonce: 'b' } }, 1),
  ],
  [
    'a later term that has begun elsewhere',
    /of another history, in term 3/,
    (stream: MemoryStream) => stream.publish({ ...four, term: 3, name: { store, nonce: 'c' } }, 1),
  ],
  [
    'a message whose records do not fill it',
    /does not hold its records/,
    (stream: MemoryStream) =>
      stream.publish({ first: 3, last: 5, term: 2, name: own, bytes: Buffer.alloc(7) }, 1),
  ],
] as const) {
  t.test(`tail: ${what}: nothing of it is taken, and it says why`, async (t) => {
    const stream = new MemoryStream()
    await publish(stream, 1, 3, 2)
    const { receiver, failures } = follow(t, stream)
    await until('the first three', () => receiver.position === 3)
    await break_(stream)
    await until('a failure', () => failures.length > 0)
    t.same(receiver.taken, upTo(3))
    t.match(failures[0]?.message, why)
    t.equal(failures.length, 1)
  })
}

t.test('tail: what is missing is trimmed meanwhile: it says so', async (t) => {
  const stream = new MemoryStream()
  for (let position = 1; position <= 9; position++) await publish(stream, position, position)
  await stream.trim(5)
  const { receiver, failures } = follow(t, stream, {
    receiver: new Remembering(2),
    next: 3,
    term: 1,
  })
  await until('a failure', () => failures.length > 0)
  t.match(failures[0]?.message, /begins at message 5, not 3/)
  t.same(receiver.taken, [])
})

t.test('tail: the receiver cannot take more, as on a broken disk: it ends', async (t) => {
  const stream = new MemoryStream()
  await publish(stream, 1, 3)
  const receiver = new Remembering()
  receiver.wait = () => Promise.reject(new Error('the disk is broken'))
  const { failures } = follow(t, stream, { receiver })
  await until('a failure', () => failures.length > 0)
  t.equal(failures[0]?.message, 'the disk is broken')
})

t.test('tail: lag: positions and seconds, which grow while the stream is away', async (t) => {
  const stream = new MemoryStream()
  let nowMs = 0
  const receiver = new Remembering()
  let release = () => {}
  const { tail } = follow(t, stream, { receiver, now: () => nowMs })
  t.same(tail.lag(), { positions: 0, seconds: 0 })
  receiver.wait = () => new Promise((resolve) => (release = resolve))
  await publish(stream, 1, 4)
  await until('a look', () => tail.lag().positions === 4)
  nowMs = 2_500
  t.same(tail.lag(), { positions: 4, seconds: 2.5 }, 'it is behind for 2.5 seconds')
  release()
  await until('the records', () => receiver.position === 4)
  t.same(tail.lag().positions, 0)
  await until('another look', () => tail.lag().seconds === 0)
  stream.isDown = true
  nowMs = 60_000
  t.ok(tail.lag().seconds >= 57.5, 'nobody knows for 57.5 seconds, at least')
})

t.test('tail: the log grows, and nobody asks for the lag: nothing gathers', async (t) => {
  const stream = new MemoryStream()
  let looks = 0
  const look = stream.last.bind(stream)
  stream.last = () => {
    looks += 1
    return look()
  }
  const { tail, receiver } = follow(t, stream, { lookEveryMs: 1 })
  for (let position = 1; position <= 20; position++) {
    await publish(stream, position, position)
    const before = looks
    await until('two looks', () => looks > before + 1)
  }
  await until('the end', () => receiver.position === 20)
  t.ok(tail.missing <= 1, `${tail.missing} positions are kept of 20 that have arrived`)
})

t.test('tail: behind for long: what it keeps is bounded, and the lag hardly differs', async (t) => {
  const stream = new MemoryStream()
  let nowMs = 0
  const look = stream.last.bind(stream)
  stream.last = async () => {
    nowMs += 1000
    const position = nowMs / 1000
    if (position <= 1000) await publish(stream, position, position)
    return look()
  }
  const receiver = new Remembering()
  let arrived = 0
  let goOn = () => {}
  receiver.wait = async () => {
    while (receiver.position >= arrived) await new Promise<void>((resolve) => (goOn = resolve))
  }
  const { tail } = follow(t, stream, { receiver, now: () => nowMs, lookEveryMs: 0 })
  await until('a thousand looks', () => tail.lag().positions >= 1000)
  t.ok(tail.missing <= 128, `${tail.missing} entries of 1000 positions`)
  for (const position of [0, 1, 250, 500, 999]) {
    arrived = position
    goOn()
    await until('what arrives', () => receiver.position === position)
    const exact = (nowMs - (position + 1) * 1000) / 1000
    const { seconds } = tail.lag()
    t.ok(seconds >= exact && seconds <= exact + 1000 / 64 + 1, `${seconds}, not ${exact}`)
  }
  arrived = Number.POSITIVE_INFINITY
  goOn()
  await until('the end', () => tail.missing === 0)
})

t.test(
  'tail: no message any more: it says so, and nobody knows how far behind it is',
  async (t) => {
    const stream = new MemoryStream()
    await publish(stream, 1, 3)
    let nowMs = 0
    let looks = 0
    const look = stream.last.bind(stream)
    stream.last = () => {
      looks += 1
      return look()
    }
    const setting = { now: () => nowMs, lookEveryMs: 1 }
    const { tail, receiver, failures } = follow(t, stream, setting)
    await until('the first three', () => receiver.position === 3)
    stream.messages.splice(0)
    await until('a warning', () => tail.warnings.length > 0)
    nowMs = 60_000
    const before = looks
    await until('two looks', () => looks > before + 1)
    t.match(tail.warnings, [/removed or purged/])
    t.ok(tail.lag().seconds >= 57)
    t.same(failures, [])
  },
)

t.test('tail: the stream is begun again in a later term: it ends, whatever it has', async (t) => {
  const stream = new MemoryStream()
  for (let position = 1; position <= 3; position++) await publish(stream, position, position)
  const { receiver, failures } = follow(t, stream, { lookEveryMs: 1 })
  await until('the first three', () => receiver.position === 3)
  stream.messages.splice(0)
  await publish(stream, 4, 4, 2)
  await until('a failure', () => failures.length > 0)
  t.match(failures, [/ends with message 1, and 3 was read/])
  t.same(receiver.taken, upTo(3))
})
