// A reader that its main process tells something before it has a state, or the records, to apply it
// to: a reader takes a while to load a checkpoint, and to catch up.

import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { Socket } from 'node:net'
import { basename } from 'node:path'
import { Packr } from 'msgpackr'
import pino from 'pino'
import t, { type Test } from 'tap'
import {
  frameMessage,
  type Kind,
  kinds,
  message,
  numbersMessage,
  packedMessage,
  Splitter,
  sharedNow,
  unpacked,
} from '../../src/cluster/readers/messages.ts'
import type { ReaderReport } from '../../src/cluster/readers/report.ts'
import type { ReaderSetup } from '../../src/cluster/readers/setup.ts'
import { decodeRequest, encodeAnswer } from '../../src/cluster/replication/forwarding.ts'
import { checkSettings, findSettings, settingTexts } from '../../src/config/config.ts'
import type { Handler, Listen } from '../../src/edge/http/exchange.ts'
import { createIdentity } from '../../src/forum/identities/commands.ts'
import { moderationCommands } from '../../src/forum/moderation/commands.ts'
import { encode } from '../../src/forum/records.ts'
import { createThread } from '../../src/forum/threads/commands.ts'
import { isRejection } from '../../src/kernel/rejection.ts'
import { runReader } from '../../src/node/reader.ts'
import { manifestName } from '../../wal/checkpoint/manifest.ts'
import { type Disk, realDisk } from '../../wal/disk.ts'
import { dataDirectory } from '../api/process.ts'
import { FakeExchange } from '../edge/http/fake-exchange.ts'
import { newWorld } from '../forum/doubles.ts'
import { until } from '../until.ts'

/** A reader on an empty directory, and the main process's end of its socket. */
function scene(t: Test, disk?: Disk) {
  const data = dataDirectory(t)
  mkdirSync(data)
  const settings = findSettings(['--data', data, '--no-search'], {})
  const { nodeLimits } = checkSettings(settings, {})
  const setup: ReaderSetup = {
    ...{ reader: 1, version: '0.0.0', storeId: '0'.repeat(32), epoch: '', epochBegin: null },
    ...{ role: 'follower', publicUrl: 'http://localhost', sessionKey: Buffer.alloc(32), port: 1 },
    ...{ texts: settingTexts(settings), nodeLimits },
  }
  const sent: Kind[] = []
  /** The ids of the requests that it has passed on. */
  const requests: number[] = []
  const seen: number[] = []
  const splitter = new Splitter((kind, payload) => {
    sent.push(kind)
    if (kind === kinds.request) requests.push(decodeRequest(payload).id)
    if (kind === kinds.report) seen.push(...(unpacked(payload) as ReaderReport).seen)
  })
  const socket = Object.assign(new EventEmitter(), {
    write: (bytes: Buffer) => splitter.add(bytes),
  })
  const process = {
    openLog: () => pino({ level: 'silent' }),
    fail: (error: Error) => {
      throw error
    },
    exit: () => socket.emit('exit'),
  }
  const served = { handle: null as Handler | null }
  const listen: Listen = async (_host, _port, handle) => {
    served.handle = handle
    return { port: 1, stop: () => {}, setOpen: () => true }
  }
  runReader(socket as unknown as Socket, process, { listen, ...(disk && { disk }) })
  const tell = (message: Buffer) => socket.emit('data', message)
  const exited = () => once(socket, 'exit')
  const end = async () => {
    const ended = exited()
    socket.emit('close')
    await ended
  }
  tell(packedMessage(kinds.setup, setup))
  return { sent, requests, seen, served, tell, end, exited }
}

/** Returns the first record of a log, as in a frame. */
function firstRecord(): Buffer {
  const row = encode({ type: 'leader.began', at: 1, term: 1, node: 'a', nonce: 'n' })
  return inFrame(new Packr({ useRecords: false }).pack(row))
}

/** Returns a record as in a frame. */
function inFrame(packed: Buffer): Buffer {
  const record = Buffer.concat([Buffer.alloc(4), packed])
  record.writeUInt32LE(packed.length)
  return record
}

/** Returns the packed records of a forum whose only message is removed by the last one. */
async function recordsWithRemoval(): Promise<Buffer[]> {
  const { forum, rows } = newWorld()
  const ana = { kind: 'persistent', displayName: 'Ana', address: '' } as const
  assert.ok(!isRejection(createIdentity(forum, ana, 'open')))
  const said = { caller: 0, address: '', mentionIds: [], participantIds: [], key: 'a-key-for-it' }
  createThread(forum, { ...said, title: 'T', content: 'text', visibility: 'public' })
  const id = `msg_${forum.state.messages.id(0)}`
  const removed = await moderationCommands['remove-message'](forum, { id, reason: '' })
  assert.ok(!isRejection(removed) && removed.isNew)
  return rows.packed
}

t.test('reader: told while it loads when identities were last seen: knows it', async (t) => {
  const { sent, seen, tell, end } = scene(t)
  tell(packedMessage(kinds.seen, [3, 29_000_000]))
  t.notOk(sent.includes(kinds.start), 'its state is not loaded yet')
  tell(packedMessage(kinds.seen, [4, 29_000_001]))
  const isLoaded = () => sent.includes(kinds.start) && sent.at(-1) === kinds.report
  await until('its first report after that', isLoaded)
  await end()
  t.strictSame(seen, [3, 29_000_000, 4, 29_000_001])
})

/** Returns a reader that has loaded its state, and the names of the files that it opens. */
async function loaded(t: Parameters<typeof scene>[0]) {
  const opened: string[] = []
  const open: Disk['open'] = (path, mode) => {
    opened.push(basename(path))
    return realDisk.open(path, mode)
  }
  const { sent, tell, end } = scene(t, { ...realDisk, open })
  await until('its state', () => sent.includes(kinds.start))
  return { opened, tell, end }
}

t.test('reader: told of a checkpoint ahead of its records: adopts it with these', async (t) => {
  const { opened, tell, end } = await loaded(t)
  const record = firstRecord()
  tell(numbersMessage(kinds.checkpoint, 2, 1))
  t.strictSame(opened, [], 'it has no record yet')
  tell(frameMessage(1, 1, record))
  tell(numbersMessage(kinds.durable, 1, sharedNow(), 0, 0))
  t.strictSame(opened, [manifestName(2)])
  await end()
})

t.test('reader: a text was erased after a checkpoint: adopts the next, not this', async (t) => {
  const { opened, tell, end } = await loaded(t)
  const records = await recordsWithRemoval()
  const removal = records.length
  tell(frameMessage(1, removal, Buffer.concat(records.map(inFrame))))
  tell(numbersMessage(kinds.durable, removal, sharedNow(), 0, 0))
  tell(numbersMessage(kinds.checkpoint, 2, removal - 1))
  t.strictSame(opened, [], 'its page files have the text')
  tell(numbersMessage(kinds.checkpoint, 3, removal))
  t.strictSame(opened, [manifestName(3)])
  await end()
})

t.test('reader: stopped while an answer is on its way: it leaves before the end', async (t) => {
  const { sent, requests, served, tell, exited } = scene(t)
  const isDurable = (position: number) => {
    const always = Number.MAX_SAFE_INTEGER
    tell(numbersMessage(kinds.durable, position, sharedNow(), always, always))
  }
  await until('its state', () => sent.includes(kinds.start))
  isDurable(0)
  await until('it to listen', () => served.handle !== null)
  const exchange = new FakeExchange('post', '/api/identities', { host: 'localhost' })
  isDurable(0) // it has heard of the main process just now
  served.handle!(exchange)
  await new Promise((resolve) => setImmediate(resolve))
  exchange.end({ kind: 'guest' })
  await until('its request', () => requests.length === 1)
  const ended = exited()
  tell(message(kinds.stop))
  await new Promise((resolve) => setImmediate(resolve))
  const answer = { status: 201, type: 'text/plain', headers: '', body: 'made', position: 1 }
  tell(message(kinds.answer, encodeAnswer(requests[0]!, answer)))
  tell(frameMessage(1, 1, firstRecord()))
  isDurable(1)
  await ended
  t.match(exchange.answers, [{ status: 201, text: 'made' }])
})
