// The reader's port to the main process: what it knows of the main process, and the outcome of
// requests.

import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { MainPort } from '../../../src/cluster/readers/main-port.ts'
import {
  frameMessage,
  kinds,
  message,
  numberAt,
  numbersMessage,
  packedMessage,
  Splitter,
  sharedNow,
  silenceMsMax,
  toShared,
  unreadBytesMax,
} from '../../../src/cluster/readers/messages.ts'
import { encodeAnswer, type ForwardedAnswer } from '../../../src/cluster/replication/forwarding.ts'
import { Pair } from '../replication/follower-pair.ts'

const request = {
  ...{ method: 'post', path: '/api/threads', query: '', address: '127.0.0.1' },
  ...{ headers: [], body: null },
}

function scene() {
  const socket = Object.assign(new EventEmitter(), { sent: [] as number[], write() {} })
  const read: number[][] = []
  const splitter = new Splitter((kind, payload) => {
    if (kind === kinds.read) read.push([numberAt(payload, 0), numberAt(payload, 1)])
    socket.sent.push(kind)
  })
  socket.write = (bytes?: Buffer) => splitter.add(bytes!)
  const events: string[] = []
  const note = (event: string) => () => events.push(event)
  const main = new MainPort(socket as unknown as Socket, {
    ...{ onSetup: note('setup'), onNews: note('news'), onCheckpoint: note('checkpoint') },
    onRole: (role) => events.push(`role ${role}`),
    onSeen: (seen) => events.push(`seen ${seen}`),
    onGiveUp: note('give up'),
    onFailed: (failure) => events.push(`failed ${failure}`),
    ...{ onStop: note('stop'), onLost: note('lost') },
  })
  main.role = new Pair().role
  return { socket, events, main, read, come: (bytes: Buffer) => socket.emit('data', bytes) }
}

t.test('D3: no news for as long as the main process waits: not fresh, until there is news', (t) => {
  const { main, events, come } = scene()
  t.notOk(main.isFresh, 'before any news')
  come(numbersMessage(kinds.durable, 0, sharedNow(), 0, 0))
  t.ok(main.isFresh)
  come(numbersMessage(kinds.durable, 0, sharedNow() - silenceMsMax, 0, 0))
  t.notOk(main.isFresh, 'what comes late does not count as new')
  t.same(events, ['news', 'news'])
  come(numbersMessage(kinds.durable, 0, sharedNow(), toShared(7), Number.POSITIVE_INFINITY))
  const { decidesUntilMs, showsUntilMs } = main.standing
  t.same([Math.round(decidesUntilMs), showsUntilMs], [7, Number.POSITIVE_INFINITY])
  t.end()
})

t.test('records arrive: nothing of them is shown before their position does', (t) => {
  const { main, come } = scene()
  const calls: string[] = []
  main.role = {
    receive: (first, count) => calls.push(`receive ${first} ${count}`) > 0,
    show: (position) => calls.push(`show ${position}`),
  }
  come(frameMessage(1, 2, Buffer.from([1, 0, 0, 0, 1, 1, 0, 0, 0, 1])))
  t.same(calls, ['receive 1 2'])
  come(numbersMessage(kinds.durable, 2, sharedNow(), 0, 0))
  t.same(calls, ['receive 1 2', 'show 2'])
  t.end()
})

t.test('D2: what was read is acknowledged before much is unread', (t) => {
  const { come, read } = scene()
  const durable = (position: number) => numbersMessage(kinds.durable, position, sharedNow(), 0, 0)
  let bytes = 0
  const arrive = (sent: Buffer) => {
    bytes += sent.length
    come(sent)
  }
  arrive(durable(0))
  t.same(read, [[bytes, 0]])
  const checkpoint = numbersMessage(kinds.checkpoint, 0, 0)
  while (bytes - read[0]![0]! < unreadBytesMax / 2) arrive(Buffer.from(checkpoint))
  t.equal(read.length, 1, 'only with a position')
  arrive(durable(0))
  t.same(read.slice(1), [[bytes, 0]])
  t.end()
})

t.test('D4: answers come in any order: each to its request; lost: none has one', async (t) => {
  const { main, socket, events, come } = scene()
  const answers: (string | null)[] = ['-', '-', '-']
  const answer = (body: string): ForwardedAnswer => {
    return { status: 201, type: 'text/plain', headers: '', body, position: 0 }
  }
  for (const i of [0, 1, 2]) {
    main.request(request, (found) => {
      answers[i] = found === null ? null : `${found.body}`
    })
  }
  await new Promise((resolve) => setImmediate(resolve))
  t.same(socket.sent, [kinds.request, kinds.request, kinds.request])
  come(message(kinds.answer, encodeAnswer(2, answer('second'))))
  come(message(kinds.answer, encodeAnswer(1, answer('first'))))
  t.same(answers, ['first', 'second', '-'])
  socket.emit('close')
  t.same(answers, ['first', 'second', null])
  main.request(request, (found) => t.equal(found, null))
  t.same(events, ['lost'])
})

t.test('its role, or its failure: passed on as it is', (t) => {
  const { come, events } = scene()
  come(packedMessage(kinds.role, 'leader'))
  come(packedMessage(kinds.giveUp, null))
  come(packedMessage(kinds.failed, 'no_leader'))
  t.same(events, ['role leader', 'give up', 'failed no_leader'])
  t.end()
})

t.test('records with a gap: the reader cannot go on', (t) => {
  const { come } = scene()
  const head = Buffer.alloc(12)
  head.writeDoubleLE(7)
  head.writeUInt32LE(1, 8)
  t.throws(() => come(message(kinds.frame, head, Buffer.from([1, 0, 0, 0, 1]))), /before 7 are/)
  t.end()
})
