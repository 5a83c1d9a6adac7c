import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { nats } from '../cluster/replication/nats-cluster.ts'
import { isDeep } from '../depth.ts'

const program = fileURLToPath(new URL('../../bench/replication.js', import.meta.url))

// This test takes half a minute.
const inDeepRun = isDeep ? nats : { skip: 'half a minute; npm run test:deep runs it' }

t.test('bench: replication: run small: all is reported, without errors', inDeepRun, async (t) => {
  const args = ['--messages', '2000', '--seconds', '1', '--rounds', '1']
  const small = [...args, '--takeovers', '1', '--behind', '100']
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...small])
  for (const side of ['page, follower', 'reply, alone', 'reply, leader']) {
    t.match(stdout, new RegExp(`^${side}: [1-9]\\d*/s`, 'm'))
  }
  t.match(stdout, /^a reply: [1-9]\d* bytes through nats-servers$/m)
  t.match(stdout, /^lag under load: p99 \d+ positions/m)
  t.match(stdout, /^catch-up: \d+ records in [\d.]+ s/m)
  t.match(stdout, /^takeover .* 1 kills: p50 \d+ ms/m)
  t.notMatch(stdout, /errors/)
})
