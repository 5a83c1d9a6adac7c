// A swarm whose polls wait for news, on a real node: it gathers its feeds exactly, and the node has
// held and woken its polls.

import t from 'tap'
import { startForum } from '../../api/harness.ts'
import { sample } from '../../api/operators.ts'
import { freePort } from '../../free-port.ts'
import { swarm } from './run.ts'

t.test('swarm: --wait: every feed is gathered by polls that wait', async (t) => {
  const ops = await freePort()
  const forum = await startForum(t, ['--ops-port', `${ops}`])
  const corpus = ['--synthetic', 'agents=20,threads=10,replies=200', '--connections', '4']
  const { code, stdout, stderr } = await swarm(...corpus, '--wait', '50', '--url', forum.url)
  t.equal(code, 0, stdout + stderr)
  t.match(stdout, /20 of 20 feeds exact, [\d,]+ items, gathered/)
  t.match(stdout, /polls waited {3}[\d,]+ until there was news, [\d,]+ in vain/)
  t.ok((await sample(ops, 'agent_forum_waiting_ended_total{how="news"}')) > 0)
})

t.test('swarm: --wait 51: refused, exit code 64', async (t) => {
  const { code, stderr } = await swarm('--synthetic', 'agents=2', '--wait', '51')
  t.equal(code, 64)
  t.match(stderr, '--wait')
})
