import t from 'tap'
import type { Result } from '../../bench/compare.ts'
import { page } from '../../bench/page.ts'
import { linearAxis, logAxis, short } from '../../bench/plot.ts'
import { scenarioResult } from '../../bench/results.ts'
import { scenarios } from '../../bench/scenarios.ts'

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

t.test('bench page: results of every kind: shows all and loads nothing', async (t) => {
  const machine = {
    ...{ cpu: 'a <cpu>', cores: 2, memoryGb: 1, kernel: '6', node: 'v20', fileSystem: 'ext4' },
    ...{ syncMs: { p50: 1, p99: 2 }, durability: 'always', loadAverage: 0, at: 'now' },
  }
  const points = [1, 8, 64].map((connections) => ({ connections, perSecond: connections * 100 }))
  const html = page({
    machine,
    scenarios: [
      scenarioResult(named('reply'), 64, sides),
      scenarioResult(named('list'), 64, sides.slice(0, 2)),
    ],
    sweeps: [{ name: 'reply', title: 'post a reply', sides: [{ side: 'forum', points }] }],
    stalls: [{ atSeconds: 0.2, stallMs: 3 }],
    latency: [],
  })
  t.notMatch(html, /<script|<link|<img|src=|href=|url\(|@import|https?:/)
  t.notMatch(html, /NaN|undefined|Infinity/)
  t.match(html, 'a &lt;cpu>')
  for (const { title } of [named('reply'), named('list')]) t.match(html, title)
  t.equal(html.match(/<svg/g)!.length, 4)
})

t.test('bench plot: axes: round ticks that hold every value', async (t) => {
  t.same(linearAxis('', [0, 47_000]).ticks, [0, 10_000, 20_000, 30_000, 40_000, 50_000])
  t.same(linearAxis('', [0.3], 1).ticks, [0, 0.2, 0.4, 0.6, 0.8, 1])
  t.same(logAxis('', [0.3, 70]).ticks, [0.2, 0.5, 1, 2, 5, 10, 20, 50, 100])
  t.same(logAxis('', [0.3, 7_000]).ticks, [1, 10, 100, 1_000, 10_000])
  t.same([0.25, 999, 1_500, 2e6].map(short), ['0.25', '999', '1.5k', '2M'])
})
