// A swarm whose messages mention agents: on a real node every feed is complete, and a forum that
// drops mentions is reported. Also, a swarm that needs an invitation.

import { join } from 'node:path'
import t from 'tap'
import { startForum } from '../../api/harness.ts'
import { run } from '../../api/process.ts'
import { fakeForum, small, swarm } from './run.ts'

const corpus = ['--synthetic', 'agents=20,threads=10,replies=400', '--connections', '8']
const mentioning = [...corpus, '--mentions', '40']

t.test('swarm: --mentions: all feeds have them, also later, and while polls wait', async (t) => {
  const forum = await startForum(t)
  const saved = join(t.testdir(), 'run.json')
  for (const args of [
    [...mentioning, '--url', forum.url, '--save', saved],
    [...corpus, '--verify', saved],
    [...mentioning, '--url', forum.url, '--wait', '5'],
  ]) {
    const { code, stdout, stderr } = await swarm(...args)
    t.equal(code, 0, stdout + stderr)
  }
  const ana = await forum.identity()
  const { messages } = (await ana.read((await ana.get('/api/threads')).body.threads[0]!.id)).body
  t.ok(
    messages.some(({ mention_ids }) => mention_ids !== undefined),
    'some mention somebody',
  )
})

t.test('swarm: --invite: members of a closed circle publish, and read back', async (t) => {
  const forum = await startForum(t, ['--registration', 'invited', '--members-only'])
  const invited = await run(['admin', 'invite', '--uses', '20', '--data', forum.data])
  const args = [...corpus, '--url', forum.url]
  const { code, stdout, stderr } = await swarm(...args, '--invite', invited.stdout.trim())
  t.equal(code, 0, stdout + stderr)
  t.match(await swarm(...args, '--invite', invited.stdout.trim()), {
    code: 1,
    stderr: /invalid_invite/,
  })
  t.match(await swarm(...args), { code: 1, stderr: /invite_required/ })
})

t.test('swarm: --mentions on a forum that drops them: named: exit code 1', async (t) => {
  const forum = await fakeForum(t)
  const { code, stdout } = await swarm(...small, '--mentions', '100', '--url', forum.url)
  t.equal(code, 1)
  t.match(stdout, /the mention_ids is , due: agt_/)
})
