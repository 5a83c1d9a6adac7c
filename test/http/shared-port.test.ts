// A port that is closed and opened again, as readers and their main process do with a shared one:
// by Node's own server, which opens it later than it is told to.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Handler } from '../../src/http/exchange.ts'
import { Load } from '../../src/http/load.ts'
import { listenNode } from '../../src/http/node.ts'
import { until } from '../until.ts'

const host = '127.0.0.1'
const handler: Handler = (exchange) => exchange.answer(200, 'text/plain', '', 'here')

async function scene(t: Test) {
  const options = { load: new Load(), behindProxy: false }
  const { port, setOpen, stop, close } = await listenNode(host, 0, handler, options)
  t.teardown(() => {
    stop()
    close!()
  })
  // Not by fetch: its WebAssembly reserves so much that Node 24 could start no process any more.
  const connects = async () => {
    const socket = connect(port, host)
    t.teardown(() => socket.destroy())
    return once(socket, 'connect').then(
      () => true,
      () => false,
    )
  }
  return { port, setOpen: setOpen!, connects }
}

t.test('shared port: another has taken it: reported, and opened when it is free', async (t) => {
  const { port, setOpen, connects } = await scene(t)
  t.equal(await connects(), true)
  t.equal(setOpen(true), true)
  t.equal(setOpen(false), true)
  const other = createServer((socket) => socket.destroy()).listen(port, host)
  await once(other, 'listening')
  for (let i = 0; i < 3; i++) {
    t.equal(setOpen(true), false, 'nothing is open')
    await sleep(20)
  }
  other.close()
  await until('the port to be open', () => setOpen(true))
  t.equal(await connects(), true)
})

t.test('shared port: opened and closed at once: stays closed', async (t) => {
  const { setOpen, connects } = await scene(t)
  setOpen(false)
  t.equal(setOpen(true), false, 'it opens in a moment')
  t.equal(setOpen(true), false, 'told twice')
  t.equal(setOpen(false), true)
  await sleep(50)
  t.equal(await connects(), false)
})
