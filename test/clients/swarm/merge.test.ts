// The reports of several swarms as one: histograms are added, seconds are aligned by the clock, and
// runs that are not alike are refused. And the histograms, plots and lines that reports consist of.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Latencies } from '../../../src/clients/swarm/latencies.ts'
import { asTime, type PlotLine, plot, ticksTo, timesTo } from '../../../src/clients/swarm/plot.ts'
import type { Report } from '../../../src/clients/swarm/report.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { fakeForum, small, swarm } from './run.ts'

const reportIn = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Report

t.test('latencies: percentiles: within 0.4 % of the sorted values', async (t) => {
  const next = seededRandom(35)
  const values = Array.from({ length: 5000 }, () => Math.ceil(2 ** (next() * 34)))
  const latencies = new Latencies()
  for (const value of values) latencies.record(value)
  values.sort((a, b) => a - b)
  for (const percent of [0.01, 1, 10, 50, 90, 99, 99.9, 100]) {
    const due = values[Math.max(1, Math.ceil((percent / 100) * values.length)) - 1]!
    const error = Math.abs(latencies.percentile(percent) - due) / due
    t.ok(error <= 0.004, `p${percent}: ${latencies.percentile(percent)}, due: ${due}`)
  }
  t.equal(latencies.percentile(100), values.at(-1))
  t.equal(new Latencies().percentile(99), 0)
})

t.test('latencies: written and read: the same, and their sum is that of all values', async (t) => {
  const next = seededRandom(36)
  const parts = Array.from({ length: 3 }, () => {
    return Array.from({ length: 400 }, () => Math.ceil(2 ** (next() * 25)))
  })
  const all = new Latencies()
  const sum = new Latencies()
  for (const values of parts) {
    const part = new Latencies()
    for (const value of values) {
      part.record(value)
      all.record(value)
    }
    const read = Latencies.parse(`${part}`, part.max)
    t.same(read, part)
    sum.add(read)
  }
  t.equal(`${sum}`, `${all}`)
  t.match({ ...sum }, { count: 1200, max: all.max })
  t.equal(`${Latencies.parse('', 0)}`, '')
  for (const text of ['x', '1*', '0', '1*2*3', '-4']) {
    t.throws(() => Latencies.parse(text, 1), { message: `${text}: no latency` })
  }
})

/** A finished run, whose second run is the same a little later. */
async function twoReports(t: Parameters<typeof fakeForum>[0], ...args: string[]) {
  const forum = await fakeForum(t)
  const dir = t.testdir()
  const files = ['first', 'second'].map((name) => join(dir, `${name}.json`))
  for (const file of files) {
    const run = await swarm(...small, '--url', forum.url, '--json', file, ...args)
    t.equal(run.code, 0, run.stdout + run.stderr)
  }
  const [first, second] = files.map(reportIn) as [Report, Report]
  // As if it had run beside the first one, and begun 2.3 s later.
  const startedAt = new Date(Date.parse(first.startedAt) + 2300).toISOString()
  for (const report of [first, second]) report.all.to = 100
  const interval = { ...first.intervals[0]!, phase: 'publish', errors: 1 }
  first.intervals = [
    { ...interval, second: 1.01, requests: 2, rate: 2, histogram: '1000*2', max: 1 },
    { ...interval, second: 2.02, requests: 4, rate: 4, histogram: '2000*4', max: 2 },
    { ...interval, second: 3.03, requests: 1, rate: 1, histogram: '100', max: 0.1 },
  ]
  second.intervals = [
    { ...interval, second: 1, requests: 3, rate: 3, histogram: '5000*3', max: 5, phase: 'a "b"' },
    { ...interval, second: 2, requests: 1, rate: 1, histogram: '7000', max: 7 },
  ]
  writeFileSync(files[0]!, JSON.stringify(first))
  const write = (change: Partial<Report> = {}) => {
    writeFileSync(files[1]!, JSON.stringify({ ...second, startedAt, ...change }))
  }
  write()
  return { files, first, second, write, dir }
}

t.test('merge: two runs: counts and histograms added, seconds aligned', async (t) => {
  const { files, first, second, dir } = await twoReports(t, '--batch', '4')
  const [json, csv, html] = ['json', 'csv', 'html'].map((end) => join(dir, `both.${end}`))
  const args = ['--json', json!, '--csv', csv!, '--html', html!, '--fail-if', 'p99>1h,errors>0']
  t.equal((await swarm('--merge', ...files, ...args)).code, 64, 'a limit in hours')
  args[args.length - 1] = 'p99>100s,errors>0'
  const { code, stdout, stderr } = await swarm('--merge', ...files, ...args)
  t.equal(code, 0, stdout + stderr)
  t.match(stdout, `\nrun ${first.runId}+${second.runId} of 2 processes, 128 connections\n`)
  t.match(stdout, 'verified  88 of 88 messages identical, in order, each once')
  t.match(stdout, '12 of 12 feeds exact')

  const both = reportIn(json!)
  const counts = { messages: 88, threads: 8, identities: 12, processes: 2, connections: 128 }
  t.match(both, { ...counts, startedAt: first.startedAt, errors: 0 })
  t.equal(both.batch!.requests, first.batch!.requests + second.batch!.requests)
  t.same(Object.keys(both.setUp.flags).sort(), ['batch', 'patience', 'synthetic', 'url'])
  const replies = [first, second].map(({ operations }) => {
    return operations.find(({ operation }) => operation === 'reply')!
  })
  const sum = new Latencies()
  for (const { histogram, max } of replies) sum.add(Latencies.parse(histogram, max * 1000))
  const reply = both.operations.find(({ operation }) => operation === 'reply')!
  t.match(reply, { count: 80, histogram: `${sum}`, p99: sum.percentile(99) / 1000 })
  t.equal(reply.max, Math.max(...replies.map(({ max }) => max)))
  t.equal(reply.from, replies[0]!.from)
  t.equal(reply.to.toFixed(3), (replies[1]!.to + 2.3).toFixed(3))

  t.same(
    both.intervals.map(({ second, requests, rate, errors, p50, max, phase }) => {
      return [second, requests, rate, errors, p50, max, phase]
    }),
    [
      [1, 2, 2, 1, 1, 1, 'publish'],
      [2, 4, 4, 1, 2, 2, 'publish'],
      [3, 4, 4, 2, 5, 5, 'publish, a "b"'],
      [4, 1, 1, 1, 7, 7, 'publish'],
    ],
  )
  const lines = readFileSync(csv!, 'utf8').split('\n')
  t.equal(lines[0], 'time,second,phase,requests,errors,rate,p50_ms,p90_ms,p99_ms,max_ms')
  const time = new Date(Date.parse(first.startedAt) + 3000).toISOString()
  t.match(lines[3], `${time},3.000,"publish, a ""b""",4,2,4.0,`)
  t.match(readFileSync(html!, 'utf8'), '2 processes')
})

t.test('merge: what did not run together, or alike: refused, exit code 64', async (t) => {
  const { files, first, second, write } = await twoReports(t)
  const refused = async (change: Partial<Report>, sentence: string | RegExp) => {
    write(change)
    const { code, stderr } = await swarm('--merge', ...files)
    t.match({ code, stderr }, { code: 64, stderr: sentence })
  }
  await refused({ runId: first.runId }, 'has the same run as')
  await refused({ targetRate: 5 }, /is another kind of run than .*first.json: rate none -> 5/)
  const flags = { ...second.setUp.flags, wait: '5' }
  await refused({ setUp: { ...second.setUp, flags } }, ': wait none -> 5')
  const server = { ...second.server, version: '9' }
  await refused({ server }, 'version 0 -> 9')
  const later = new Date(Date.parse(first.startedAt) + 200_000).toISOString()
  await refused({ startedAt: later }, /first.json: had ended when .*second.json began/)
  const limit = { target: { text: '' } } as unknown as Report['limit']
  await refused({ limit }, 'is a search for the highest rate')
  await refused({ startedAt: undefined! }, 'is of a version whose reports cannot be merged')
  const machine = { ...second.setUp, machine: 'another one' }
  write({ setUp: machine })
  const { code, stdout } = await swarm('--merge', ...files)
  t.match({ code, stdout }, { code: 0, stdout: `${first.setUp.machine} and another one` })
})

t.test('merge: of runs with differences, or interrupted: the exit codes of these', async (t) => {
  const { files, second, write } = await twoReports(t)
  const differences = { count: 12, first: Array.from({ length: 10 }, (_, n) => `no ${n}`) }
  write({ verification: { ...second.verification!, differences } as Report['verification'] })
  const differing = await swarm('--merge', ...files)
  t.match(differing, { code: 1, stdout: '\n12 differences, the first 10:\n  no 0\n' })
  write({ verification: null })
  t.match(await swarm('--merge', ...files), { code: 130, stdout: 'interrupted' })
})

t.test('merge: with flags of a load, or one report: refused, exit code 64', async (t) => {
  const refused = async (sentence: string, ...args: string[]) => {
    t.match(await swarm(...args), { code: 64, stderr: sentence })
  }
  await refused('--merge reads the reports of runs that have ended', '--merge', 'a', 'b', ...small)
  await refused('--merge: give two reports or more', '--merge', 'a')
  await refused("unexpected argument 'b'", ...small, 'b')
  await refused('a: cannot be read', '--merge', 'a', 'b')
})

t.test('plot: ticks of values: round, and only the last is not below the maximum', async (t) => {
  t.same(ticksTo(0), [0, 1])
  t.same(ticksTo(1), [0, 0.5, 1])
  t.same(ticksTo(2450), [0, 1000, 2000, 3000])
  t.same(ticksTo(0.0073), [0, 0.002, 0.004, 0.006, 0.008])
  t.same(ticksTo(100), [0, 50, 100])
  for (let n = 1; n < 3000; n += 7) {
    const ticks = ticksTo(n / 13)
    t.ok(ticks.at(-1)! >= n / 13 && ticks.at(-2)! < n / 13 && ticks.length <= 5, `${ticks}`)
  }
})

t.test('plot: ticks of the time: as on a clock, at most eleven', async (t) => {
  t.same(timesTo(4).map(asTime), ['0:00', '0:01', '0:02', '0:03', '0:04'])
  t.same(timesTo(95).map(asTime).slice(-2), ['1:20', '1:30'])
  t.same(timesTo(7000).map(asTime).slice(-2), ['1:30:00', '1:45:00'])
  for (let end = 1; end < 200_000; end = Math.ceil(end * 1.3)) {
    const ticks = timesTo(end)
    t.ok(ticks.at(-1)! <= end && ticks.length <= 11, `${end}: ${ticks}`)
  }
})

t.test('plot: phases: the longest are named, as far as names do not touch', async (t) => {
  const phases = ['register', 'publish', 'poll to the end', 'read back', 'read back', 'search']
  const seconds = [1, 2, 90, 91, 92, 93]
  const intervals = phases.map((phase, n) => {
    const latencies = { p50: 1, p90: 1, p99: 1, max: 1, histogram: '1000' }
    return { ...latencies, second: seconds[n]!, phase, requests: 1, errors: 0, rate: n }
  })
  const { text } = plot(intervals, [['a', 'requests', ({ rate }) => rate]])
  const names = [...text.matchAll(/<text x="([\d.]+)" y="\d+">([^<]+)<\/text>/g)]
  t.same(
    names.map(([, , name]) => name),
    ['poll to the end'],
  )
  for (const [, x, name] of names) t.ok(Number(x) + name!.length * 6.5 <= 900, `${name} at ${x}`)
  t.equal(text.match(/class="phase"/g)?.length, 5, 'where each of them begins')
})

t.test('plot: the seconds of a day, more than a call takes arguments', async (t) => {
  const day = Array.from({ length: 86_400 }, (_, second) => ({ second, phase: 'publish' }))
  const line = (name: string, most: number): PlotLine<(typeof day)[number]> => {
    return ['a', name, ({ second }) => (second / 86_400) * most]
  }
  const { text } = plot(day, [line('p50', 1), line('p99', 900)])
  t.match(text, '>1,000</text>')
})
