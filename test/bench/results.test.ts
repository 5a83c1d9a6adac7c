import t from 'tap'
import type { Result } from '../../bench/compare.ts'
import { scenarioResult } from '../../bench/results.ts'
import { scenarios } from '../../bench/scenarios.ts'
import { markdown } from '../../bench/table.ts'

const untold = Number.NaN

function result(side: string, perSecond: number, p99: number): Result {
  return {
    side,
    rounds: [perSecond, perSecond, perSecond],
    perSecond,
    latencyMs: { 50: 1, 90: side === 'redis' ? untold : 2, 99: p99, '99.9': untold, 100: 9 },
    errors: 0,
    requests: 100,
    cpuUsPerRequest: 10,
    busy: 1,
    ratio: perSecond / 1000,
    ratioMin: perSecond / 1100,
    ratioMax: perSecond / 900,
    cpuRatio: 0.5,
  }
}

const named = (name: string) => scenarios.find((each) => each.name === name)!
const sides = [
  result('floor', 1000, 2),
  result('forum', 600, 11),
  result('redis', 500, 3),
  result('postgres', 50, 40),
]

t.test('bench results: targets of a scenario: met and missed: a sentence for each', async (t) => {
  t.same(scenarioResult(named('reply'), 64, sides).verdicts, [
    'at least 0.50 x floor: met: 0.60',
    'at least 1.00 x redis: met: 1.20',
    'at least 10 x postgres: met: 12',
    'p99 at most 5 x floor: missed: 5.50',
  ])
})

t.test('bench results: an idle floor or failed requests: noted beside the figures', async (t) => {
  const [floor, forum] = sides
  const doubtful = [
    { ...floor, busy: 0.5 },
    { ...forum, errors: 3 },
  ]
  const { verdicts } = scenarioResult(named('list'), 64, doubtful)
  t.match(verdicts, [/^forum: 3 requests failed/, /^the floor used 50% of its core/])
})

t.test('bench table: results of every kind: a row for each', async (t) => {
  const machine = {
    ...{ cpu: 'a cpu', cores: 2, memoryGb: 1, kernel: '6', node: 'v20', fileSystem: 'ext4' },
    ...{ syncMs: { p50: 1, p99: 2 }, durability: 'always', loadAverage: 0, at: 'now' },
  }
  const points = [1, 8].map((connections) => ({ connections, perSecond: connections * 1000 }))
  const latencyMs = { 50: 1, 90: 2, 99: 3, '99.9': 4, '99.99': 5, 100: 6 }
  const run = { side: 'forum', title: '60,000, checkpoints', scenario: 'reply', share: 0.5 }
  const load = {
    rate: 2000,
    seconds: 1,
    stops: [],
    requests: 2000,
    errors: 0,
    latencyMs,
    lateMs: 0.5,
  }
  const text = markdown({
    machine,
    scenarios: [
      scenarioResult(named('reply'), 64, sides),
      scenarioResult(named('list'), 64, sides.slice(0, 2)),
    ],
    sweeps: [{ name: 'reply', title: 'post a reply', sides: [{ side: 'forum', points }] }],
    stalls: [{ atSeconds: 0.2, stallMs: 3 }],
    latency: [
      { ...run, ...load },
      { ...run, ...load, errors: 7 },
    ],
  })
  const rows = text.split('\n').filter((line) => line.startsWith('| ') && !line.includes('---'))
  const percentiles = 'p50 | p90 | p99 | p99.9 | p99.99 | max'
  const latencies = '1.00 | 2.00 | 3.00 | 4.00 | 5.00 | 6.00'
  t.same(rows, [
    '| scenario | forum | p99 | floor | of floor | by processor time | peers |',
    '| `reply` | 600/s | 11.0 ms | 1,000/s | 0.60 | 0.50 | redis 500/s, postgres 50/s |',
    '| `list` | 600/s | 11.0 ms | 1,000/s | 0.60 | 0.50 |  |',
    '| scenario | side | connections | rate |',
    '| `reply` | forum | 1 | 1,000/s |',
    '| `reply` | forum | 8 | 8,000/s |',
    `| side | load | of the full rate | requests/s | ${percentiles} | late |`,
    `| 60,000, checkpoints | reply | 50 % | 2,000 | ${latencies} | 0.50 |`,
    `| 60,000, checkpoints | reply, 7 FAILED | 50 % | 2,000 | ${latencies} | 0.50 |`,
  ])
  t.match(text, '- `reply`: p99 at most 5 x floor: missed: 5.50')
})
