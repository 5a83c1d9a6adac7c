// The operators' port in this process: who may reach it, and that its readers do not disturb each
// other.

import { networkInterfaces } from 'node:os'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { type Pages, serveOperators } from '../../../src/operators/ops/serve.ts'
import { sample } from '../../api/operators.ts'
import { until } from '../../until.ts'
import { vitalsOf } from './vitals.ts'

const noPages: Pages = {
  listen() {},
  answer: async () => ({ status: 404, type: 'text/plain', body: '' }),
}

async function serve(t: Test, opsHost: string, allowedHosts: string[] = []): Promise<number> {
  const reached = {
    ...{ opsHost, opsPort: 0, data: t.testdir(), publicUrl: null },
    allowedHosts: new Set(allowedHosts),
  }
  const { port, stop } = await serveOperators(reached, vitalsOf('starting', null), noPages)
  t.teardown(stop)
  return port
}

const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
const own = addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address
const skip = own === undefined ? 'skipped: this machine has only loopback addresses' : false

t.test(
  'operators: beyond loopback: readiness is a status, metrics are there',
  { skip },
  async (t) => {
    const port = await serve(t, '0.0.0.0', ['forum'])
    const ask = async (address: string, path: string, host = `${address}:${port}`) => {
      const { statusCode, body } = await request(`http://${address}:${port}${path}`, {
        headers: { host },
      })
      return [statusCode, await body.text()] as const
    }
    for (const path of ['/readyz', '/readyz?verbose']) {
      t.same(await ask(own!, path), [503, 'not ready\n'])
      t.match(await ask('127.0.0.1', path), [503, /starting: 0% of the/])
    }
    t.same(await ask(own!, '/livez', `forum:${port}`), [200, 'ok\n'])
    t.match(await ask(own!, '/metrics'), [200, /agent_forum_serving 0\n/])
    for (const address of [own!, '127.0.0.1']) {
      t.match(await ask(address, '/livez', 'forum.example'), [421, /the Host of this request/])
    }
  },
)

t.test('operators: on loopback: no address but those of loopback is its host', async (t) => {
  const port = await serve(t, '127.0.0.1')
  const headers = { host: '192.0.2.1' }
  const { statusCode, body } = await request(`http://127.0.0.1:${port}/livez`, { headers })
  t.match([statusCode, await body.text()], [421, /the Host of this request/])
})

t.test('operators: the event loop was blocked: all who scrape metrics see it', async (t) => {
  const port = await serve(t, '127.0.0.1')
  const longest = () => sample(port, 'agent_forum_event_loop_delay_seconds{percentile="100"}')
  await longest() // the delay is measured from here on
  await until('one to see it', async () => {
    // A delay before the first tick of the measurement is not part of it.
    const end = performance.now() + 300
    while (performance.now() < end);
    return (await longest()) >= 0.2
  })
  for (let others = 0; others < 3; others++) t.ok((await longest()) >= 0.2, 'others see it, too')
})
