// Pipelined requests on Node's own server: a client that hangs up while an answer waits behind an
// earlier one that has not been sent yet.

import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { Exchange, Handler } from '../../../src/edge/http/exchange.ts'
import { Load } from '../../../src/edge/http/load.ts'
import { listenNode } from '../../../src/edge/http/node.ts'
import { until } from '../../until.ts'

const host = '127.0.0.1'
const longAnswer = 'x'.repeat(100_000)
/** As the edge does, after all requests of a packet: Node stops reading if many answers wait. */
const answerLong = (exchange: Exchange) => {
  setImmediate(() => exchange.answer(200, 'text/plain', '', longAnswer))
}

t.test('pipelining: hung up before the first answer: everything is released', async (t) => {
  const load = new Load()
  const held: Exchange[] = []
  let hangUps = 0
  const handler: Handler = (exchange) => {
    if (exchange.path === '/long') return answerLong(exchange)
    held.push(exchange)
    exchange.hold()
    exchange.onHangUp(() => {
      hangUps += 1
    })
  }
  const { port, stop, close } = await listenNode(host, 0, handler, { load, behindProxy: false })
  t.teardown(() => {
    stop()
    close!()
  })
  const socket = connect(port, host)
  await once(socket, 'connect')
  const paths = ['/held', '/long', '/held', ...Array.from({ length: 20 }, () => '/long')]
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  await until('the answers to wait', () => load.answerBytes === 21 * longAnswer.length)
  t.equal(hangUps, 0)
  socket.destroy()
  await until('the connection to end', () => load.connections() === 0)
  await until('both to be told', () => hangUps === 2)
  t.equal(load.answerBytes, 0)
  t.ok(held.every(({ isGone }) => isGone))
})

t.test('pipelining: all answers are read: everything is released once', async (t) => {
  const load = new Load()
  let first: Exchange | null = null
  const handler: Handler = (exchange) => {
    if (exchange.path === '/long') return answerLong(exchange)
    first = exchange
  }
  const { port, stop, close } = await listenNode(host, 0, handler, { load, behindProxy: false })
  t.teardown(() => {
    stop()
    close!()
  })
  const socket = connect(port, host)
  await once(socket, 'connect')
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
  })
  const paths = ['/held', '/long', '/long']
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  await until('the answers to wait', () => load.answerBytes === 2 * longAnswer.length)
  first!.answer(200, 'text/plain', '', 'first')
  await until('the answers to arrive', () => bytes > 2 * longAnswer.length)
  await until('the answers to be released', () => load.answerBytes === 0)
  socket.destroy()
  await until('the connection to end', () => load.connections() === 0)
  t.equal(load.answerBytes, 0)
})
