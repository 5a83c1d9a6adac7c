import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { postgres } from '../../bench/peers/postgres.ts'
import { nats } from '../cluster/replication/nats-cluster.ts'

const program = fileURLToPath(new URL('../../bench/claims.js', import.meta.url))

t.test('bench: claims: run small: each task is done once, on every side', async (t) => {
  const sides = ['forum']
  if (nats.skip === false) sides.push('forum, two nodes')
  if (postgres.missing() === null) sides.push('postgres')
  const args = ['--tasks', '200', '--workers', '20', '--rounds', '1', '--kills', '1']
  if (sides.includes('forum, two nodes')) args.push('--cluster')
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args])
  const rate = String.raw`\d+ claims/s, p50 [\d.]+ ms, p99 [\d.]+ ms, \d+ refused, [\d.]+ s`
  const faults = '0 tasks not done, 0 done twice, 0 fences of two, 0 overlaps'
  for (const side of sides) {
    for (const how of ['no kills', String.raw`1 kills, \d+ workers dead`]) {
      t.match(stdout, new RegExp(`^${side}, ${how}: ${rate}; ${faults}$`, 'm'))
    }
  }
})
