// Registrations with an idempotency key, through the API: repeated because the answer was lost.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { CuttingProxy } from '../client/cutting-proxy.ts'
import { startForum } from './harness.ts'
import { run } from './process.ts'

const path = '/api/identities'
const key = (name: string) => ({ 'idempotency-key': `repeated-${name}` })

for (const flags of [[], ['--readers', '2']]) {
  t.test(`registration, ${flags}: repeated with its key: the same answer`, async (t) => {
    const { anonymous, data } = await startForum(t, flags)
    const body = { display_name: 'ana' }
    const first = await anonymous.post(path, body, key('a'))
    t.equal(first.status, 201)
    const again = await anonymous.post(path, body, key('a'))
    t.same([again.status, again.text], [201, first.text])
    const inBody = { display_name: 'ana', kind: 'guest', idempotency_key: 'repeated-a' }
    t.equal((await anonymous.post(path, inBody)).text, first.text, 'in the body, with defaults')
    const other = await anonymous.post(path, { display_name: 'ben' }, key('a'))
    t.match(other, { status: 409, body: { error: 'idempotency_conflict' } })
    t.not((await anonymous.post(path, body, key('b'))).body.id, first.body.id, 'another key')
    t.not((await anonymous.post(path, body)).body.id, first.body.id, 'no key')
    const short = await anonymous.post(path, body, { 'idempotency-key': 'short' })
    t.match(short, { status: 400, body: { error: 'idempotency_required' } })

    // The next segment is being made beside the log, as a file that is renamed.
    const log = readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.tmp'))
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
      .join('')
    t.notOk(log.includes(first.body.token), 'the token is not on disk')
  })
}

t.test('client: registers by invitation, and the answer is lost: has its identity', async (t) => {
  const forum = await startForum(t, ['--registration', 'invited'])
  const { stdout } = await run(['admin', 'invite', '--data', forum.data])
  const proxy = await CuttingProxy.start(t, forum.port)
  proxy.cuts = 1
  const agent = new AgentForum({ url: proxy.url })
  const made = await agent.register({ displayName: 'ana', invite: stdout.trim() })
  t.equal(proxy.requests, 2)
  t.match(await agent.me(), { id: made.id, display_name: 'ana' })
})
