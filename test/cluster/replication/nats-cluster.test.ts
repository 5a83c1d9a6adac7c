// The environment of the other tests of this room: servers die, stop and come back, and links cut,
// silence and slow down connections, as the tests require.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { until } from '../../until.ts'
import { nats, startCluster } from './nats-cluster.ts'
import { TcpLink } from './tcp-link.ts'

t.test(
  'cluster: a server killed, another stopped: the others serve, all come back',
  nats,
  async (t) => {
    const cluster = await startCluster(t)
    t.equal(cluster.url.split(',').length, 3)
    const [first, second] = cluster.servers
    await first!.kill()
    t.equal(await first!.monitor('/healthz'), null)
    await cluster.isReady()
    first!.start()
    await cluster.isReady()
    second!.pause()
    t.equal(second!.isRunning, false)
    t.equal(await second!.monitor('/healthz'), null)
    second!.resume()
    await cluster.isReady()
  },
)

/** Starts a server that sends back what it receives, behind a link, and a client of it. */
async function linkedEcho(t: Test) {
  const sockets = new Set<Socket>()
  const echo = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(echo, 'listening')
  const link = await TcpLink.to((echo.address() as { port: number }).port)
  const client = connect(link.port, '127.0.0.1')
  client.on('error', () => {})
  t.teardown(() => {
    client.destroy()
    link.close()
    for (const socket of sockets) socket.destroy()
    echo.close()
  })
  await once(client, 'connect')
  let text = ''
  client.setEncoding('utf8').on('data', (piece) => {
    text += piece
  })
  return { link, client, received: () => text, passed: () => until('an echo', () => text !== '') }
}

t.test('link: open: bytes pass both ways and are counted', async (t) => {
  const { link, client, passed, received } = await linkedEcho(t)
  client.write('hello')
  await passed()
  t.equal(received(), 'hello')
  t.equal(link.bytes, 10)
})

t.test('link: silent, then open: nothing passes, then everything in its order', async (t) => {
  const { link, client, passed, received } = await linkedEcho(t)
  link.set('silent')
  for (const word of ['one ', 'two ', 'three']) client.write(word)
  const other = connect(link.port, '127.0.0.1')
  await once(other, 'connect')
  other.destroy()
  t.equal(link.bytes, 0)
  link.set('open')
  await passed()
  await until('the rest', () => received().length === 13)
  t.equal(received(), 'one two three')
})

t.test('link: cut: the connection is reset, a new one is too, until it is open', async (t) => {
  const { link, client } = await linkedEcho(t)
  link.set('cut')
  await until('the end of the connection', () => client.destroyed)
  const refused = connect(link.port, '127.0.0.1')
  refused.on('error', () => {})
  await until('a refusal', () => refused.destroyed)
  link.set('open')
  const again = connect(link.port, '127.0.0.1')
  again.setEncoding('utf8').write('hello')
  t.equal((await once(again, 'data'))[0], 'hello')
  again.destroy()
})

t.test('link: slow: bytes arrive no faster than the pace allows', async (t) => {
  const { link, client, received } = await linkedEcho(t)
  link.pace = { delayMs: 50, bytesPerSecond: 1_000_000 }
  const begun = performance.now()
  client.write('x'.repeat(200_000))
  await until('all bytes', () => received().length === 200_000)
  // 200 ms for each direction, which overlap, and 50 ms for the way there and back.
  t.ok(performance.now() - begun >= 300)
})
