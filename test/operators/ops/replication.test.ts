// Replication as operators see it.

import t from 'tap'
import { nodeStatus } from '../../../src/operators/ops/node-status.ts'
import { readiness } from '../../../src/operators/ops/readiness.ts'
import { metrics } from '../../../src/operators/ops/status.ts'
import type { ReplicationStats, Vitals } from '../../../src/operators/ops/vitals.ts'
import { noDelays, vitalsOf } from './vitals.ts'

function replicated(
  role: ReplicationStats['role'],
  positions: number,
  seconds: number,
  isStale = false,
) {
  const vitals = vitalsOf(null, 'ok')
  vitals.replication = {
    node: 'this-node',
    role,
    term: () => 3,
    lagPositions: () => positions,
    lagSeconds: () => seconds,
    isStale: () => isStale,
    takeovers: () => 1,
    fenced: () => 2,
    forwarded: () => 40,
  }
  return vitals
}

t.test('readiness: a follower: ready while it is not far behind', async (t) => {
  const text = (seconds: number) =>
    readiness(replicated('follower', 7, seconds, seconds > 30), false)
  t.strictSame(text(0.2), { isReady: true, text: 'ok\n' })
  const late = 'degraded: replication: 7 positions and 6.0 s behind\n'
  t.strictSame(text(6), { isReady: true, text: late })
  const lagging = { isReady: false, text: 'lagging: 7 positions and 31.0 s behind\n' }
  t.strictSame(text(31), lagging)
})

t.test('readiness: a leader that the stream is behind: ready, as it answers', async (t) => {
  const { isReady, text } = readiness(replicated('leader', 1, 31), false)
  t.ok(isReady)
  t.equal(text, 'degraded: replication: the stream is 1 position and 31.0 s behind\n')
})

t.test('readiness: a leader whose lease has lapsed: not ready, whatever its lag is', async (t) => {
  const text = 'cut off: the lease of this leader has lapsed, another node may lead\n'
  t.strictSame(readiness(replicated('leader', 0, 0, true), false), { isReady: false, text })
})

t.test('readiness: verbose: the part, the term and the lag', async (t) => {
  const { text } = readiness(replicated('follower', 0, 0), true)
  t.match(text, '[+] replication: follower in term 3, 0 positions and 0.0 s behind\n')
  const late = readiness(replicated('follower', 0, 31, true), true).text
  t.match(late, '[-] replication: follower in term 3')
  t.match(late, '[-] requests: lagging: 0 positions and 31.0 s behind\n')
})

t.test('readiness: verbose: a follower that is behind: one line of replication', async (t) => {
  const lines = readiness(replicated('follower', 7, 6), true).text.split('\n')
  const ofReplication = lines.filter((line) => line.includes('replication'))
  t.strictSame(ofReplication, ['[-] replication: follower in term 3, 7 positions and 6.0 s behind'])
})

t.test('status: a follower, a leader, a node alone, one that starts: role and lag', async (t) => {
  const vitals = replicated('follower', 7, 31, true)
  vitals.state.term = { number: 3, began: 1, node: 'that-node', nonce: 'n' }
  const replication = { node: 'this-node', leader: 'that-node', term: 3 }
  t.match(nodeStatus(vitals), {
    is_ready: false,
    readiness: 'lagging: 7 positions and 31.0 s behind',
    role: 'follower',
    replication: { ...replication, lag_positions: 7, lag_seconds: 31 },
  })
  t.match(nodeStatus(replicated('leader', 0, 0)), { is_ready: true, role: 'leader' })
  t.match(nodeStatus(vitalsOf(null, 'ok')), { role: 'alone', position: 7, replication: null })
  const starting = vitalsOf('starting', null)
  starting.start = { step: 'stream', done: 0, of: 0, why: 'no server answers' }
  t.match(nodeStatus(starting), {
    is_ready: false,
    readiness: 'starting: no server answers',
    role: null,
    position: null,
    replication: null,
  })
})

t.test('readiness: starting, with a full disk: says both', async (t) => {
  const text = (health: 'ok' | 'storage_full') => {
    const vitals = vitalsOf('starting', health)
    vitals.start = { step: 'stream', done: 0, of: 0 }
    return readiness(vitals, false).text
  }
  const waiting = 'starting: waits for the stream of the log, or reads it'
  t.equal(text('ok'), `${waiting}\n`)
  t.equal(text('storage_full'), `${waiting}; storage: storage_full\n`)
})

t.test('metrics: of a node that is alone: none of replication; else all', async (t) => {
  const valuesOf = (vitals: Vitals) => {
    vitals.journal = null
    const lines = metrics(vitals, noDelays).split('\n')
    return lines.filter((line) => line.startsWith('agent_forum_replication_'))
  }
  t.strictSame(valuesOf(vitalsOf(null, null)), [])
  t.strictSame(valuesOf(replicated('leader', 5, 1.5)), [
    'agent_forum_replication_leader 1',
    'agent_forum_replication_term 3',
    'agent_forum_replication_lag_positions 5',
    'agent_forum_replication_lag_seconds 1.5',
    'agent_forum_replication_forwarded_total 40',
    'agent_forum_replication_takeovers_total 1',
    'agent_forum_replication_fenced_total 2',
  ])
})
