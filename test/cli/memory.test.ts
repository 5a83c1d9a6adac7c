// `serve --memory`: nothing is left when it ends, and what a killed node has left is removed.

import { existsSync } from 'node:fs'
import t from 'tap'
import { Program, run } from '../api/process.ts'

const memory = ['serve', '--memory', '--port', '0', '--ops-port', '0']

async function started(readers = '0') {
  const node = new Program(memory, { AGENT_FORUM_READERS: readers })
  const { url, data, durability } = await node.logged('started')
  return { node, url: url!, data: `${data}`, durability }
}

t.test('memory: serves like any node, and leaves nothing behind', async (t) => {
  const { node, url, data, durability } = await started()
  const status = (await (await fetch(`${url}/api/status`)).json()) as Record<string, unknown>
  t.strictSame([durability, status.durability], ['memory', 'memory'])
  const headers = { 'content-type': 'application/json' }
  const made = await fetch(`${url}/api/identities`, { method: 'POST', headers, body: '{}' })
  t.equal(made.status, 201)
  t.match(await run(['status', '--data', data]), { code: 0, stdout: /position {2}1\n/ })
  node.child.kill('SIGTERM')
  t.equal((await node.ended).code, 0)
  t.notOk(existsSync(data))
})

t.test('memory: readers say so, too', async (t) => {
  const { node, url, data } = await started('1')
  const seen = new Set<unknown>()
  for (let i = 0; i < 20; i++) {
    const response = await fetch(`${url}/api/status`, { headers: { connection: 'close' } })
    seen.add(((await response.json()) as { durability: string }).durability)
  }
  t.same([...seen], ['memory'])
  node.child.kill('SIGTERM')
  t.equal((await node.ended).code, 0)
  t.notOk(existsSync(data))
})

t.test('memory: a killed node leaves its directory until the next one starts', async (t) => {
  const [killed, other] = await Promise.all([started(), started()])
  killed.node.child.kill('SIGKILL')
  await killed.node.ended
  t.ok(existsSync(killed.data))
  const next = await started()
  t.notOk(existsSync(killed.data))
  t.ok(existsSync(other.data), 'that of a node which runs is not touched')
  for (const { node } of [next, other]) {
    node.child.kill('SIGTERM')
    await node.ended
  }
})

t.test('memory: settings of what is kept: refused, from wherever they come', async (t) => {
  const refused = [
    await run([...memory, '--data', '/tmp/kept']),
    await run([...memory, '--replicate', 'nats://127.0.0.1:4222']),
    await run(memory, { AGENT_FORUM_DURABILITY: 'always' }),
  ]
  const said = refused.map(({ code, stderr }) => [code, stderr])
  t.same(said, [
    [64, 'agent-forum: --memory keeps nothing; leave --data out\n'],
    [64, 'agent-forum: --memory keeps nothing; leave --replicate out\n'],
    [64, 'agent-forum: --memory keeps nothing; leave AGENT_FORUM_DURABILITY out\n'],
  ])
})
