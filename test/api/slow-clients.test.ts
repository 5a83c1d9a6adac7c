// Callers that hold a connection by being slow: the server closes it.

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { publishedThread, startForum } from './harness.ts'
import { sample } from './operators.ts'
import { requestText, type Wire, wire } from './wire.ts'

/** Sends one byte of `text` a second until the connection ends. Throws if it outlasts the text. */
async function drip(connection: Wire, text: string): Promise<void> {
  for (const byte of text) {
    if (connection.socket.destroyed) return
    await connection.write(byte)
    await sleep(1000)
  }
  throw new Error('the text was sent whole')
}

t.test('slow: a byte per second, silence, no reading: all are disconnected', async (t) => {
  const ops = await freePort()
  const times = ['--body-timeout', '4', '--idle-timeout', '4']
  const forum = await startForum(t, [...times, '--ops-port', `${ops}`])
  const ana = await forum.identity()
  const thread = await publishedThread(ana, { content: '😀'.repeat(8000) })
  for (let i = 0; i < 99; i++) await ana.reply(thread, '😀'.repeat(8000))
  const cut = async (what: string, begin: (connection: Wire) => unknown) => {
    const connection = await wire(t, forum.port)
    connection.socket.setTimeout(0) // only the server's timeout may act
    await Promise.all([connection.closed(), begin(connection)])
    t.pass(what)
  }
  const json = { 'Content-Type': 'application/json', 'Content-Length': '1000' }
  await Promise.all([
    cut('silence', () => {}),
    cut('a head', (connection) => drip(connection, requestText('GET', '/api/status'))),
    cut('a body', async (connection) => {
      await connection.write(requestText('POST', '/api/identities', json))
      await drip(connection, 'x'.repeat(100))
    }),
    cut('a refused body', async (connection) => {
      await connection.write(requestText('POST', '/nowhere', json))
      await drip(connection, 'x'.repeat(100))
    }),
    cut('between two requests', (connection) => {
      return connection.write(requestText('GET', '/api/status'))
    }),
    cut('a page nobody reads', async (connection) => {
      connection.socket.pause()
      // One at a time, until the kernel's buffer is full.
      const waitingBytes = () => sample(ops, 'agent_forum_queue_bytes{what="answers"}')
      do {
        await connection.write(requestText('GET', `/api/threads/${thread}?limit=100`))
        await sleep(100)
      } while ((await waitingBytes()) === 0)
      await until('the page to be given up', async () => {
        await sleep(500)
        return (await waitingBytes()) === 0
      })
      connection.socket.resume()
    }),
  ])
  const refused = await sample(ops, 'agent_forum_refusals_total{why="slow_bodies"}')
  t.ok(refused >= 1, 'a body that came too slowly was refused')
  t.equal((await ana.read(thread)).status, 200)
})

t.test(
  'slow: a body of 17 MiB is refused: nothing is left that a deadline would end',
  async (t) => {
    const forum = await startForum(t, ['--body-timeout', '1'])
    const connection = await wire(t, forum.port)
    const length = 17 << 20
    const head = { 'Content-Type': 'application/json', 'Content-Length': `${length}` }
    await connection.write(requestText('POST', '/api/identities', head))
    const piece = Buffer.alloc(1 << 16, ' ')
    for (let sent = 0; sent < length; sent += piece.length) {
      await connection.write(piece).catch(() => {}) // the server closes it before the end
    }
    await connection.closed()
    await sleep(3000) // deadlines are checked every second
    t.equal((await forum.anonymous.get('/api/status')).status, 200)
  },
)
