// A port that is closed and reopened, as readers and their main process do with a shared port.
// Node's own server opens it asynchronously.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Handler } from '../../../src/edge/http/exchange.ts'
import { Load } from '../../../src/edge/http/load.ts'
import { listenNode } from '../../../src/edge/http/node.ts'
import { until } from '../../until.ts'

const host = '127.0.0.1'
const handler: Handler = (exchange) => exchange.answer(200, 'text/plain', '', 'here')

async function scene(t: Test) {
  const options = { load: new Load(), behindProxy: false }
  const { port, setOpen, stop, close } = await listenNode(host, 0, handler, options)
  t.teardown(() => {
    stop()
    close!()
  })
  // fetch is not used: its WebAssembly reserves so much memory that Node 24 could no longer start a
  // process.
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
