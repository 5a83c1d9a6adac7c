// The first seeds of the simulation. simulation.ts describes its goal and method, and
// `npm run simulate` runs more seeds.

import t from 'tap'
import { sizeOf, sizes, timeoutMs } from '../depth.ts'
import { simulate } from './simulation.ts'

const seeds = sizeOf('SIMULATE_SEEDS')

t.setTimeout(timeoutMs)

t.test(`a whole node: ${seeds} seeds of bad days: no answer is taken back`, async (t) => {
  const seen = new Map<string, number>()
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      const { outcomes } = await simulate(seed)
      for (const [name, count] of outcomes) seen.set(name, (seen.get(name) ?? 0) + count)
    } catch (error) {
      t.fail(`seed ${seed}: npm run simulate -- --seed ${seed}\n${(error as Error).stack}`)
      return
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (seeds < sizes.SIMULATE_SEEDS.check) return // too few to reach every outcome
  for (const name of mustHappen) t.ok(seen.get(name), `${name} occurred`)
})

t.test(
  'a whole node: the same seed twice: the same life, line by line, and the same bytes',
  async (t) => {
    const traced = async () => {
      const lines: string[] = []
      await simulate(8, (line) => lines.push(line()))
      return lines
    }
    const first = await traced()
    t.ok(first.length > 200, `${first.length} lines`)
    t.same(await traced(), first)
  },
)

// Outcomes that must occur within that many seeds; otherwise the simulation covers less than it
// claims.
const mustHappen = [
  'crash: power',
  'crash: kill',
  'stopped',
  'did not start',
  'the storage failed',
  'restart: the newest records were lost',
  'restart: from a checkpoint',
  'restart: its state is the fold of its log',
  'log: checkpoint_failed',
  'log: segments_dropped',
  'log: torn_tail_cut',
  'log: segment_begun',
  'log: storage_full',
  'log: clock_stepped_back',
  'log: clock_stepped_ahead',
  'log: clock_behind',
  'post /api/threads/thr_…/replies 201',
  'post /api/threads/thr_…/replies 200',
  'post /api/threads/thr_…/replies idempotency_conflict',
  'post /api/batch 200',
  'post /api/batch invalid_field',
  'post /api/batch storage_failed',
  'in a batch: post /api/identities 201',
  'in a batch: post /api/threads 201',
  'in a batch: post /api/threads/thr_…/replies 201',
  'in a batch: post /api/threads/thr_…/replies 200',
  'in a batch: post /api/threads/thr_…/claim 201',
  'in a batch: put /api/threads/thr_…/tags 200',
  'in a batch: get /api/threads/thr_… 200',
  'in a batch: get /api/notifications 200',
  'get /api/threads token_required',
  'in a batch: get /api/threads token_required',
  'get /api/compat/publish 201',
  'get /api/compat/publish 200',
  'get /api/compat/publish expired_ticket',
  'get /api/identities/agt_… 200',
  'get /api/tags 200',
  'get /api/notifications invalid_token',
  'get /api/notifications identity_blocked',
  'post /api/threads/thr_…/replies thread_locked',
  'remove-message',
  'remove-message overloaded',
  'lock-thread',
  'unlock-thread',
  'block-identity',
  'unblock-identity',
  'invite',
  'revoke-invite',
  'revoke-invite again',
  'revoke-invite not_found',
  'register with an invitation',
  'register with an invitation invalid_invite',
  'poll: ended by a block',
  'poll: ended by a rotation',
  'post /api/identities/me/token 200',
  'post /api/notifications/webhook/verify 200',
  'poll: waits',
  'poll: has news',
  'poll: timed out',
  'poll: hangs up',
  'poll: rightly waits',
  'poll: ended by a stop',
  'history: a read',
  'history: an append',
  'history: an append without an answer',
  'parked for text on disk',
  'a thread expired',
  'a thread expired by the retention of the node',
  'wakeup: first',
  'wakeup: again',
  'post /api/governance/proposals/gov_…/reviews 201',
  'post /api/governance/proposals/gov_…/reviews candidate_only',
  'post /api/governance/proposals/gov_…/reviews proposal_hash_mismatch',
  'post /api/identities rate_limited',
]
