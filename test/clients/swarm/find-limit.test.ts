// The search for the highest rate, against a forum: what a step measures, when it is kept, and what
// is said of it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import t, { type Test } from 'tap'
import { Client } from '../../../src/clients/swarm/client.ts'
import { AgentFeeds } from '../../../src/clients/swarm/feeds.ts'
import {
  LimitFinder,
  type LimitStep,
  limitInWords,
  outcomeOf,
} from '../../../src/clients/swarm/find-limit.ts'
import { parseTarget } from '../../../src/clients/swarm/limit-search.ts'
import { Pace } from '../../../src/clients/swarm/pace.ts'
import { planOf } from '../../../src/clients/swarm/plan.ts'
import { Progress } from '../../../src/clients/swarm/progress.ts'
import { introduce, type Publishing } from '../../../src/clients/swarm/publish.ts'
import { syntheticCorpus } from '../../../src/clients/swarm/synthetic.ts'
import type { FakeForum } from './fake-forum.ts'
import { fakeForum, small, swarm } from './run.ts'

const corpus = syntheticCorpus('agents=2,threads=1,replies=1000')
const connections = 4

/** Has the event loop seem idle, however busy the machine is. */
function beIdle(t: Test): void {
  t.capture(performance, 'eventLoopUtilization', () => ({ idle: 1, active: 0, utilization: 0 }))
}

/** Returns a finder whose steps take a fifth of a second, and what it says. */
async function finderAt(t: Test, forum: FakeForum, text: string, rate: number) {
  beIdle(t)
  const client = new Client({
    ...{ url: forum.url, connections, patienceMs: 5000, answerTimeoutMs: 300 },
  })
  t.teardown(() => client.close())
  const plan = planOf(corpus, 'run-0001')
  for (const agent of plan.agents) await introduce(client, agent, null)
  const feeds = new AgentFeeds(client, plan.agents)
  const publishing: Publishing = {
    ...{ client, plan, feeds, searches: null, replayedAnswers: 0, pace: new Pace(null) },
    ...{ mix: null, thinkMs: 0 },
  }
  let said = ''
  const progress = new Progress({ write: (line) => (said += line) })
  const finder = new LimitFinder({ target: parseTarget(text), rate, seconds: 0.2 })
  const stage = { publishing, progress, lanes: connections, corpus }
  return { finder, publishing, progress, run: () => finder.run(stage), said: () => said }
}

t.test('find-limit: a forum that answers 503 above a rate: the highest one below', async (t) => {
  const forum = await fakeForum(t)
  const { finder, publishing, run, said } = await finderAt(t, forum, 'p50<10s', 40)
  let [pace, messages]: [Pace | null, number] = [null, 0]
  forum.faults.refuse = (operation) => {
    if (operation !== 'reply') return null
    if (pace !== publishing.pace) [pace, messages] = [publishing.pace, 0]
    return ++messages === 23 ? { status: 503, body: {} } : null
  }
  await run()
  const { rate, steps } = finder.found
  t.ok(rate !== null && rate >= 100 && rate <= 112, `${rate}`)
  const due = Math.round(rate! / 5)
  t.match(steps.at(-1), { rate, outcome: 'kept', errors: 0, due, sent: due })
  for (const { due, outcome } of steps) t.equal(outcome, due <= 22 ? 'kept' : 'errors')
  t.equal(publishing.plan.threads.length, 9, 'all steps continue the threads that were opened')
  t.match(said(), /^80\/s: 16 messages in [\d.]+ s: p50 [\d.]+ ms, kept\n/m)
  t.match(said(), /^160\/s: .*, not kept: answers were lost$/m)
  t.match(said(), new RegExp(`^limit: ${rate} replies a second, p50<10s$`, 'm'))
})

t.test('find-limit: an interruption after a step that held everything up', async (t) => {
  const forum = await fakeForum(t)
  const { finder, publishing, progress, run } = await finderAt(t, forum, 'p50<5ms', 50)
  t.teardown(() => progress.stop())
  forum.faults.answer = (operation, answer, nth) => {
    if (operation !== 'reply') return answer
    if (nth > 2 * connections) void publishing.client.close()
    return nth <= connections ? 'silent' : answer
  }
  await t.rejects(run())
  const held = { rate: 50, due: 10, sent: connections, percentileMs: null, errors: connections }
  t.match(finder.found, { rate: null, steps: [{ ...held, outcome: 'errors' }] })
  t.equal(limitInWords(finder.found), 'limit: not known, the search was interrupted')
  t.equal(finder.found.steps.length, 1)
})

t.test('find-limit: what keeps a target', async (t) => {
  const target = parseTarget('p99.9 < 1.5s')
  t.same(target, { text: 'p99.9 < 1.5s', percentile: 99.9, limitMs: 1500 })
  const step = { rate: 1, due: 1, sent: 1, percentileMs: 1499, lateMs: 750, busy: 0.95, errors: 0 }
  const cases: [Partial<LimitStep>, LimitStep['outcome']][] = [
    [{}, 'kept'],
    [{ percentileMs: 1500 }, 'exceeded'],
    [{ percentileMs: null }, 'exceeded'],
    [{ lateMs: 751 }, 'late'],
    [{ busy: 0.96 }, 'late'],
    [{ busy: 0.96, percentileMs: null }, 'late'],
    [{ errors: 1 }, 'errors'],
  ]
  for (const [other, outcome] of cases) {
    t.equal(outcomeOf({ ...step, ...other }, target), outcome, JSON.stringify(other))
  }
})

t.test('find-limit: in words: whether it is the swarm that ends the search', async (t) => {
  const target = parseTarget('p99<20ms')
  const step = (rate: number, outcome: LimitStep['outcome']) => ({ rate, outcome }) as LimitStep
  const say = (rate: number | null, ...steps: LimitStep[]) =>
    limitInWords({ target, rate, isComplete: true, steps })
  t.equal(
    say(1000, step(2000, 'exceeded'), step(1050, 'late'), step(1000, 'kept')),
    'limit: 1,000 replies a second, p99<20ms; at 1,050 the swarm itself was late',
  )
  t.equal(
    say(1000, step(2000, 'late'), step(1050, 'exceeded'), step(1000, 'kept')),
    'limit: 1,000 replies a second, p99<20ms',
  )
  t.equal(say(null, step(1, 'exceeded')), 'limit: no rate keeps p99<20ms')
})

t.test('swarm: --find-limit: no rate keeps it: in all reports, exit code 2', async (t) => {
  beIdle(t)
  const forum = await fakeForum(t)
  const json = join(t.testdir(), 'report.json')
  const args = ['--find-limit', 'p99<0.05ms', '--rate', '1', '--duration', '1']
  const files = ['--json', json, '--html', `${json}.html`]
  const { code, stdout, stderr } = await swarm(...small, '--url', forum.url, ...args, ...files)
  t.equal(code, 2)
  t.match(stderr, /\n1\/s: 1 messages in [\d.]+ s: p99 [\d.]+ ms, exceeded\n1\/s: /)
  t.match(stderr, '\nlimit: no rate keeps p99<0.05ms\n')
  t.match(stdout, /\nreplies\/s +p99 ms +late ms +busy %\n1 +[\d.]+ +0.00 +\d+ {3}exceeded\n1 /)
  t.match(stdout, '\nlimit: no rate keeps p99<0.05ms\n')
  t.match(stdout, 'no difference')
  const steps = [1, 2].map(() => ({ rate: 1, due: 1, sent: 1, errors: 0, outcome: 'exceeded' }))
  t.match(JSON.parse(readFileSync(json, 'utf8')), { limit: { rate: null, steps } })
  t.match(readFileSync(`${json}.html`, 'utf8'), '<p>limit: no rate keeps p99&lt;0.05ms</p>')
})

t.test('swarm: --find-limit of a corpus without replies: exit code 64', async (t) => {
  const corpus = ['--synthetic', 'agents=1,threads=2,replies=0']
  const { code, stderr } = await swarm(...corpus, '--find-limit', 'p99<20ms')
  t.match({ code, stderr }, { code: 64, stderr: '--find-limit: the corpus has no replies\n' })
})

const form = /--find-limit takes a percentile and its limit, like p99<20ms, not "/
for (const [flags, says] of [
  [['p99>20ms'], form],
  [['p100<20ms'], form],
  [['p0<20ms'], form],
  [['p99<0ms'], form],
  [['p99<20'], form],
  [['99<20ms'], form],
  [['p99<20ms,p50<5ms'], form],
  [[''], form],
  [['p99<1s'], /--find-limit: p99<1s takes steps of --duration 20 or more, because/],
  [['p99<20ms', '--save', 'run'], /--find-limit publishes less or more than the corpus/],
  [['p99<20ms', '--verify', 'run'], /--find-limit publishes less or more than the corpus/],
] as const) {
  t.test(`swarm: --find-limit ${flags.join(' ')}: refused, exit code 64`, async (t) => {
    const { code, stderr } = await swarm(...small, '--find-limit', ...flags)
    t.match(stderr, says)
    t.equal(code, 64)
  })
}
