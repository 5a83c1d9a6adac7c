// The hub of the readers, and the messages between the hub and them, without processes: over
// sockets that accept as much as the test lets them.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { type HubJournal, ReaderHub } from '../../../src/cluster/readers/hub.ts'
import {
  frameOf,
  fromShared,
  type Kind,
  kinds,
  message,
  numberAt,
  numbersMessage,
  packedMessage,
  Splitter,
  silenceMsMax,
  unreadBytesMax,
} from '../../../src/cluster/readers/messages.ts'
import { Gate } from '../../../src/edge/http/gate.ts'
import { until } from '../../until.ts'
import { appendEach, dir, open, openFiles } from '../../wal/helpers.ts'
import { SimulatedDisk } from '../../wal/simulated-disk.ts'

/** Resolves when the reader has received `count` more beats with the main process's position. */
async function beats({ messages }: FakeSocket, count: number): Promise<void> {
  const told = () => messages.filter(({ kind }) => kind === kinds.durable).length
  const before = told()
  await until(`${count} beats`, () => told() >= before + count)
}

/** A socket whose other end accepts everything or, if `takes` is false, nothing until `drain`. */
class FakeSocket extends EventEmitter {
  writableLength = 0
  isDestroyed = false
  takes = true
  /** The number of bytes that the other end could have read. */
  bytes = 0
  readonly messages: { kind: Kind; payload: Buffer }[] = []
  readonly #splitter = new Splitter((kind, payload) => {
    this.messages.push({ kind, payload: Buffer.from(payload) })
  })
  #kept: Buffer[] = []

  write(bytes: Buffer): void {
    this.bytes += bytes.length
    if (this.takes) return this.#splitter.add(Buffer.from(bytes))
    this.#kept.push(Buffer.from(bytes))
    this.writableLength += bytes.length
  }

  /** Accepts the waiting bytes, and everything from now on. */
  drain(): void {
    this.takes = true
    for (const bytes of this.#kept.splice(0)) this.#splitter.add(bytes)
    this.writableLength = 0
    this.emit('drain')
  }

  destroy(): void {
    this.isDestroyed = true
  }

  /** Has the reader send these bytes. */
  send(bytes: Buffer): void {
    this.emit('data', bytes)
  }

  /** The positions of the records that the reader has received, in order. */
  get positions(): number[] {
    return this.messages.flatMap(({ kind, payload }) => {
      if (kind !== kinds.frame) return []
      const { first, count } = frameOf(payload)
      return Array.from({ length: count }, (_, i) => first + i)
    })
  }

  get durable(): number {
    const { payload } = this.messages.findLast(({ kind }) => kind === kinds.durable)!
    return numberAt(payload, 0)
  }
}

async function scene(t: { teardown(end: () => void): void }) {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  const files = openFiles(disk)
  const isRead = () => [...files.values()].some(({ how }) => how === 'read')
  const shown: number[] = []
  const gone: string[] = []
  const clock = { ms: 1000, stepMs: 0 }
  const gate = new Gate()
  const hub = new ReaderHub({
    ...{ journal, gate, log: { disk, dir, storeId: journal.storeId } },
    show: (durable) => shown.push(durable),
    run: () => assert.fail('no request is checked'),
    handler: (exchange) => exchange.answer(201, 'text/plain', '', 'done'),
    now: () => (clock.ms += clock.stepMs),
    onReport: () => {},
    onChange: () => {},
  })
  journal.onDurable = (durable) => hub.announce(durable)
  t.teardown(() => hub.close())
  const add = (position: number, isServing = true) => {
    const socket = new FakeSocket()
    const reader = hub.add(socket as unknown as Socket, (why) => gone.push(why))
    socket.send(numbersMessage(kinds.start, position))
    socket.send(packedMessage(kinds.report, { isServing }))
    return { socket, reader }
  }
  return { journal, hub, gate, shown, gone, clock, add, isRead }
}

t.test('messages: cut in any way: found whole, in order', async () => {
  const payload = fc.uint8Array({ maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(fc.array(payload), fc.array(fc.nat(60)), async (payloads, cuts) => {
      const bytes = Buffer.concat(payloads.map((each) => message(kinds.answer, each)))
      const found: string[] = []
      const splitter = new Splitter((_, each) => found.push(Buffer.from(each).toString('hex')))
      let at = 0
      for (const cut of [...cuts, bytes.length]) {
        splitter.add(bytes.subarray(at, at + cut))
        at += cut
      }
      return found.join() === payloads.map((each) => Buffer.from(each).toString('hex')).join()
    }),
  )
})

t.test('messages: a length that no message has: refused', (t) => {
  const bytes = Buffer.alloc(5, 0xff)
  t.throws(() => new Splitter(() => {}).add(bytes), /too long/)
  t.end()
})

t.test('P1: a reader begins at any position while records come: each once, in order', async (t) => {
  const { journal, add } = await scene(t)
  const records = Array.from({ length: 60 }, (_, n) => ({ n, text: 'x'.repeat(n * 13) }))
  await appendEach(journal, records)
  const readers = [0, 1, 30, 59, 60].map((position) => ({ position, ...add(position) }))
  await appendEach(journal, records)
  await until('all to be live', () => readers.every(({ reader }) => reader.isLive))
  await appendEach(journal, records)
  for (const { socket } of readers) socket.send(numbersMessage(kinds.read, socket.bytes, 180))
  for (const { position, socket } of readers) {
    const wanted = Array.from({ length: 180 - position }, (_, i) => position + 1 + i)
    t.same(socket.positions, wanted, `behind ${position}`)
    t.equal(socket.durable, 180)
  }
  await journal.close()
})

t.test('P1: a reader that catches up drains often: one slice in each iteration', async (t) => {
  const { journal, clock, add } = await scene(t)
  for (let n = 0; n < 100; n++) await appendEach(journal, [{ n }])
  clock.stepMs = 0.4 // so that two frames fit into a slice
  const { socket, reader } = add(0)
  let most = 0
  while (!reader.isLive) {
    const before = socket.positions.length
    for (let i = 0; i < 5; i++) socket.emit('drain')
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, socket.positions.length - before)
  }
  clock.stepMs = 0
  t.equal(socket.positions.length, 100)
  t.ok(most <= 4, `${most} frames in an iteration`)
  await journal.close()
})

t.test('H1: a reader that serves has not taken a position: it is shown when it has', async (t) => {
  const { journal, shown, add } = await scene(t)
  const { socket, reader } = add(0)
  await until('it to be live', () => reader.isLive)
  await appendEach(journal, ['a'])
  t.same(shown, [1])
  socket.takes = false
  const last = journal.append('b')
  await until('it to be durable', () => journal.durable === last)
  t.same(shown, [1], 'not shown')
  socket.drain()
  t.same(shown, [1, 2])
  t.same(socket.positions, [1, 2])
  await journal.close()
})

t.test(
  'H1: one of two readers lacks a record: the other has it, and does not show it',
  async (t) => {
    const { journal, shown, add } = await scene(t)
    const [quick, slow] = [add(0), add(0)]
    await until('both to be live', () => quick.reader.isLive && slow.reader.isLive)
    await appendEach(journal, ['a'])
    slow.socket.takes = false
    const last = journal.append('b')
    await until('it to be durable', () => journal.durable === last)
    await beats(quick.socket, 2)
    t.same([quick.socket.positions, quick.socket.durable, shown], [[1, 2], 1, [1]])
    slow.socket.drain()
    t.same([quick.socket.durable, slow.socket.durable, shown], [2, 2, [1, 2]])
    slow.socket.takes = false
    await appendEach(journal, ['c'])
    slow.reader.giveUp('it is gone')
    t.same([quick.socket.durable, shown], [3, [1, 2, 3]])
    await journal.close()
  },
)

/** Records of which the first half is not too much to be unread, but all of it is. */
const many: string[] = Array.from({ length: 100 }, () => 'x'.repeat(unreadBytesMax / 80))

t.test('H1: the system takes all, the reader reads none of it: shown when it has', async (t) => {
  const { journal, shown, add } = await scene(t)
  const { socket, reader } = add(0, false)
  await until('it to be live', () => reader.isLive)
  await appendEach(journal, many)
  t.same([socket.positions.length, socket.writableLength], [100, 0], 'all of it was sent')
  const last = shown.at(-1)!
  t.equal(socket.durable, last, 'nor is it told more')
  t.ok(last > 50 && last < 90, `${last} were shown: the reader reads them before later requests`)
  socket.send(numbersMessage(kinds.read, 1, 95))
  t.equal(shown.at(-1), 95)
  socket.send(numbersMessage(kinds.read, socket.bytes, 100))
  t.equal(shown.at(-1), 100)
  await appendEach(journal, ['a'])
  t.equal(shown.at(-1), 101, 'what is unread is little again')
  await journal.close()
})

t.test('H2: two positions that a reader does not read: each waits its own time', async (t) => {
  const { journal, shown, clock, add } = await scene(t)
  const { socket, reader } = add(0)
  await until('it to be live', () => reader.isLive)
  await appendEach(journal, many)
  const last = shown.at(-1)!
  clock.ms += silenceMsMax - 1
  await appendEach(journal, ['b'])
  await beats(socket, 1)
  t.equal(shown.at(-1), last)
  clock.ms += 1
  await until('the first ones to be shown', () => shown.at(-1) !== last)
  t.equal(shown.at(-1), 100)
  await beats(socket, 2)
  t.equal(shown.at(-1), 100)
  clock.ms += silenceMsMax - 1
  await until('the last one to be shown', () => shown.at(-1) === 101)
  await journal.close()
})

t.test('H2: it takes nothing: waited for no longer than it answers, later given up', async (t) => {
  const { journal, shown, gone, clock, add } = await scene(t)
  const { socket, reader } = add(0)
  await until('it to be live', () => reader.isLive)
  socket.takes = false
  const last = journal.append('a')
  await until('it to be durable', () => journal.durable === last)
  clock.ms += silenceMsMax - 1
  await new Promise((resolve) => setTimeout(resolve, 600)) // the time of two beats
  t.same(shown, [])
  clock.ms += 1
  await until('it to be shown', () => shown.length > 0)
  t.same(gone, [])
  clock.ms += 10_000
  await until('it to be given up', () => gone.length > 0)
  t.same(gone, ['it is silent'])
  t.ok(socket.isDestroyed)
  await journal.close()
})

t.test('H2: a stop: one that is silent: waited for as long as it answers', async (t) => {
  const { journal, hub, gone, clock, add } = await scene(t)
  const [silent, busy] = [add(0), add(0)]
  clock.ms += silenceMsMax - 1
  hub.stop()
  t.equal(silent.socket.messages.at(-1)?.kind, kinds.stop)
  await beats(silent.socket, 2)
  t.same(gone, [])
  busy.socket.send(packedMessage(kinds.report, { isServing: true }))
  clock.ms += 2
  await until('one to be given up', () => gone.length > 0)
  t.ok(silent.socket.isDestroyed)
  t.notOk(busy.socket.isDestroyed, 'it finishes what it does')
  await journal.close()
})

t.test('H4: with each beat readers hear until when the node may answer', async (t) => {
  const { hub, gate, add } = await scene(t)
  const { socket } = add(0)
  await until('it is live', () => [...hub.readers].every(({ isLive }) => isLive))
  await beats(socket, 1)
  const standing = () => {
    const { payload } = socket.messages.findLast(({ kind }) => kind === kinds.durable)!
    return [2, 3].map((place) => fromShared(numberAt(payload, place)))
  }
  t.same(standing(), [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY], 'nothing limits it')
  gate.standing = { decidesUntilMs: 1000, showsUntilMs: 2000 }
  await beats(socket, 2)
  t.same(standing().map(Math.round), [1000, 2000])
})

t.test('H3: positions that the journal does not announce: readers hear nothing', async (t) => {
  const { journal, hub, shown, add } = await scene(t)
  const { socket, reader } = add(0)
  await until('it to be live', () => reader.isLive)
  await appendEach(journal, ['a'])
  const next: HubJournal = { written: 1, durable: 1, onFrame: null }
  hub.useJournal(next)
  Object.assign(next, { durable: 9 })
  await beats(socket, 2)
  t.equal(socket.durable, 1)
  t.same(shown, [1])
  await journal.close()
})

t.test('hub: another journal takes over: frames and positions go on with it', async (t) => {
  const { journal, hub, shown, add } = await scene(t)
  const { socket, reader } = add(0)
  await until('it to be live', () => reader.isLive)
  await appendEach(journal, ['a'])
  socket.takes = false
  const last = journal.append('b')
  await until('it to be durable', () => journal.durable === last)
  t.same(shown, [1], 'the second one waits for the reader')
  const next: HubJournal = { written: 2, durable: 2, onFrame: null }
  hub.useJournal(next)
  socket.drain()
  t.same(shown, [1, 2], 'what had waited is shown')
  next.onFrame!(3, 1, Buffer.from([1, 0, 0, 0, 1]))
  hub.announce(3)
  t.same([socket.positions, socket.durable, shown], [[1, 2, 3], 3, [1, 2, 3]])
  await journal.close()
})

t.test('hub: a reader that has not caught up: nobody waits for it', async (t) => {
  const { journal, hub, shown } = await scene(t)
  const socket = new FakeSocket()
  socket.takes = false
  const reader = hub.add(socket as unknown as Socket, () => {})
  reader.send(packedMessage(kinds.setup, 'x'.repeat(100_000)))
  t.notOk(reader.isLive)
  await appendEach(journal, ['a'])
  t.same(shown, [1])
  await journal.close()
})

t.test('hub: readers come and go: frames are passed on while one is there', async (t) => {
  const { journal, hub, add } = await scene(t)
  t.equal(journal.onFrame, null)
  const { socket, reader } = add(0)
  await until('it to be live', () => reader.isLive)
  t.not(journal.onFrame, null)
  socket.emit('close')
  t.equal(journal.onFrame, null)
  t.equal(hub.serving, 0)
  await journal.close()
})

t.test('hub: a reader ends while it catches up: no file of the log stays open', async (t) => {
  const { journal, clock, add, isRead } = await scene(t)
  for (let n = 0; n < 20; n++) await appendEach(journal, [{ n }])
  clock.stepMs = 0.4 // so that two frames fit into a slice
  const ends: ((reader: ReturnType<typeof add>) => void)[] = [
    ({ socket }) => socket.emit('close'),
    ({ socket }) => socket.emit('error', new Error('reset')),
    ({ socket }) => socket.send(message(kinds.setup)),
    ({ reader }) => reader.giveUp('the node has stopped'),
  ]
  for (const end of ends) {
    const each = add(0)
    t.same([each.reader.isLive, isRead()], [false, true])
    end(each)
    t.notOk(isRead())
  }
  const { reader } = add(0)
  await until('it to be live', () => reader.isLive)
  t.notOk(isRead(), 'it has caught up')
  await journal.close()
})

t.test('hub: a reader sends what no reader sends: it is given up', async (t) => {
  const { gone, add, journal } = await scene(t)
  const { socket } = add(0)
  socket.send(message(kinds.setup))
  t.same(gone, ['a reader does not send messages of kind 1'])
  await journal.close()
})
