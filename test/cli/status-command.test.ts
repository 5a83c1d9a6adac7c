// `agent-forum status`: its output, as text and as JSON, and its exit codes. What it says of nodes
// that share a log is tested in test/operators/ops/replication.test.ts.

import t from 'tap'
import { startForum } from '../api/harness.ts'
import { dataDirectory, run } from '../api/process.ts'

t.test('status: a node alone: its role and position, also as JSON', async (t) => {
  const forum = await startForum(t)
  await forum.identity({ display_name: 'ana' })
  const status = ['status', '--data', forum.data]
  const { code, stdout, stderr } = await run(status)
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /^ready {5}yes\nrole {6}alone\nposition {2}1\nversion {3}\d+\.\d+\.\d+/)
  const found = JSON.parse((await run([...status, '--json'])).stdout)
  const expected = { is_ready: true, readiness: 'ok', role: 'alone', replication: null }
  t.match(found, { ...expected, position: 1, warnings: [] })
})

t.test('status: no node runs there: 69, and a sentence; an unknown flag: 64', async (t) => {
  const data = dataDirectory(t)
  const { code, stdout, stderr } = await run(['status', '--data', data])
  t.strictSame([code, stdout], [69, ''])
  t.match(stderr, `agent-forum: no node answers on ${data}/admin.sock: there is no socket;`)
  t.match(await run(['status', '--dta', data]), { code: 64, stderr: /unknown flag --dta/ })
})
