// The swarm as a load tester: rates, durations, limits, per-second reports, pages and comparisons,
// and an interruption.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Compared } from '../../../src/clients/swarm/comparison.ts'
import { htmlReport } from '../../../src/clients/swarm/html-report.ts'
import { Meter } from '../../../src/clients/swarm/meter.ts'
import { Pace } from '../../../src/clients/swarm/pace.ts'
import { addRound, keepPublished, planOf } from '../../../src/clients/swarm/plan.ts'
import type { OperationReport, Report } from '../../../src/clients/swarm/report.ts'
import { syntheticCorpus } from '../../../src/clients/swarm/synthetic.ts'
import { crossed, parseThresholds } from '../../../src/clients/swarm/threshold.ts'
import { Program } from '../../api/process.ts'
import { fakeForum, small, swarm } from './run.ts'

/** A clock that passes only in `sleep`, which ends `lateMs` after the time it was given. */
function clockOf({ lateMs = 0 } = {}) {
  const clock = {
    at: 5000,
    now: () => clock.at,
    sleep: async (ms: number) => {
      clock.at += ms + lateMs
    },
  }
  return clock
}

async function dueTimes(pace: Pace, count: number): Promise<number[]> {
  const due: number[] = []
  for (let n = 0; n < count; n++) due.push((await pace.next())!)
  return due
}

t.test('pace: a rate, after a delay: what is late counts from when it was due', async (t) => {
  const clock = clockOf()
  const pace = new Pace(1000, { clock })
  t.equal(await pace.next(), 5000)
  clock.at += 60
  t.same(
    await dueTimes(pace, 80),
    Array.from({ length: 80 }, (_, n) => 5001 + n),
  )
  t.equal(clock.at, 5080, 'it waits for those that are not late')
  t.equal(pace.late.max, 1, 'no lane was woken late')
})

t.test(
  'pace: timers fire late: by 1 ms: counts from then; by 9 ms: from the due time',
  async (t) => {
    const [slack, late] = [1, 9].map((lateMs) => new Pace(10, { clock: clockOf({ lateMs }) }))
    t.same(await dueTimes(slack!, 3), [5000, 5101, 5201])
    t.equal(slack!.late.max, 1)
    t.same(await dueTimes(late!, 3), [5000, 5100, 5200])
    t.ok(Math.abs(late!.late.max - 9000) < 100, 'the histogram rounds')
  },
)

t.test('pace: stopped: wakes who waits, and no further message is due', async (t) => {
  const pace = new Pace(0.001)
  await pace.next()
  const waiting = pace.next()
  pace.stop()
  t.equal(await waiting, null)
  t.equal(await pace.next(), null)
})

t.test('pace: bursts: all messages of a second at its beginning', async (t) => {
  const pace = new Pace(3, { count: 5, isBurst: true, clock: clockOf() })
  t.same(await dueTimes(pace, 5), [5000, 5000, 5000, 6000, 6000])
  t.equal(await pace.next(), null)
  t.ok(pace.isOver)
})

t.test('swarm: --burst: 30 of 44 messages at once; with another rate: code 64', async (t) => {
  const forum = await fakeForum(t)
  let registeredAt = 0
  const times: number[] = []
  forum.faults.answer = (operation, answer) => {
    if (operation === 'identity') registeredAt = performance.now()
    if (operation === 'thread' || operation === 'reply') times.push(performance.now())
    return answer
  }
  const { code } = await swarm(...small, '--url', forum.url, '--burst', '30')
  t.equal(code, 0)
  // The 31st is due a second after the others. A timer may fire slightly early.
  t.ok(Math.round((times[30] - registeredAt) / 1000) >= 1, `${times} after ${registeredAt}`)
  for (const other of [
    ['--rate', '5'],
    ['--find-limit', 'p99<20ms'],
  ]) {
    const { code, stderr } = await swarm(...small, '--burst', '30', ...other)
    t.match({ code, stderr }, { code: 64, stderr: /--burst says .* give no other rate\n$/ })
  }
})

t.test('plan: a second round that is published in part: only that part is left', async (t) => {
  const corpus = syntheticCorpus('agents=6,threads=4,replies=40')
  const plan = planOf(corpus, 'run-1')
  const round = addRound(plan, corpus)
  t.match(plan, { agents: { length: 6 }, threads: { length: 8 }, messageCount: 88 })
  t.same(
    plan.threads.map(({ index }) => index),
    [0, 1, 2, 3, 4, 5, 6, 7],
  )
  for (const [n, thread] of plan.threads.slice(0, 5).entries()) {
    thread.id = `thr_${n}`
    for (const message of thread.messages) message.id = `msg_${n}`
  }
  for (const message of round[0]!.messages.slice(2)) message.id = ''
  keepPublished(plan)
  t.match(plan, { threads: { length: 5 }, messageCount: 46 })
  for (const { threads } of plan.agents) for (const { id } of threads) t.not(id, '')
})

t.test(
  'plan: idle agents: follow each round evenly, write nothing, and are not mentioned',
  async (t) => {
    const corpus = syntheticCorpus('agents=6,threads=4,replies=400')
    const plan = planOf(corpus, 'run-1', { mentionPercent: 100, idle: 10 })
    const rounds = [plan.threads, addRound(plan, corpus)]
    t.same(
      plan.agents.map(({ index }) => index),
      Array.from({ length: 16 }, (_, n) => n),
    )
    for (const round of rounds) {
      const idle = round
        .slice(0, 4)
        .map(({ others }) => others.filter(({ isIdle }) => isIdle).length)
      t.same(idle, [3, 3, 2, 2])
    }
    t.ok(plan.idle.every(({ threads, mentions }) => threads.length === 2 && mentions.length === 0))
    const messages = plan.threads.flatMap(({ messages }) => messages)
    t.ok(messages.every(({ author }) => !author.isIdle))
  },
)

t.test('swarm: --rate and --duration: all that was published is verified', async (t) => {
  const forum = await fakeForum(t)
  const args = ['--url', forum.url, '--rate', '200', '--duration', '1', '--connections', '4']
  const { code, stdout } = await swarm(...small, ...args)
  const [, same, all] = /verified {2}([\d,]+) of ([\d,]+) messages identical, in order/.exec(
    stdout,
  )!
  t.equal(same, all)
  const published = [...forum.threads.values()].reduce((sum, { messages }) => {
    return sum + messages.length
  }, 0)
  t.equal(all!.replace(',', ''), `${published}`)
  t.ok(published > 0 && published <= 201, `${published} in a second`)
  t.match(stdout, '6 of 6 feeds exact')
  t.match(stdout, '(of messages: from when they were due)')
  t.equal(code, 0)
})

t.test('swarm: interrupted: a summary of what was done, exit code 130', async (t) => {
  const forum = await fakeForum(t)
  const file = join(t.testdir(), 'report.json')
  const args = ['swarm', '--synthetic', 'agents=6,threads=4,replies=4000', '--url', forum.url]
  const program = new Program([...args, '--json', file, '--html', `${file}.html`])
  forum.faults.answer = (operation, answer, nth) => {
    if (operation === 'reply' && nth === 100) program.child.kill('SIGINT')
    return answer
  }
  const { code, stdout } = await program.ended
  t.equal(code, 130)
  t.match(stdout, '\ninterrupted: what was published is not verified\n')
  t.match(stdout, /^reply +[\d,]+ /m)
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report
  t.match(report, { verification: null, errors: 0, threads: 4 })
  t.ok(report.messages >= 100 && report.messages < 4004, `${report.messages}`)
  t.ok(existsSync(`${file}.html`))
})

t.test('swarm: --json to standard output: a line each second, and the report', async (t) => {
  const forum = await fakeForum(t, {
    refuse: (operation, nth) =>
      operation === 'reply' && nth === 3 ? { status: 503, body: {}, retryAfter: 1 } : null,
  })
  for (const json of [['--json'], ['--json', '-']]) {
    const { stdout, stderr } = await swarm(...json, ...small, '--url', forum.url)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const report = lines.pop() as Report
    t.match(report, { messages: 44, verification: { differences: { count: 0 } } })
    t.same(lines, report.intervals)
    t.ok(lines.length > 0)
    t.equal(
      lines.reduce((sum, { requests }) => sum + requests, 0),
      report.all.count,
    )
    t.equal(
      lines.reduce((sum, { errors }) => sum + errors, 0),
      report.errors,
    )
    t.match(stderr, /^publish: 44 messages in /m)
  }
})

t.test('swarm: a report: flags, versions and machine, but no invitation', async (t) => {
  const forum = await fakeForum(t)
  const file = join(t.testdir(), 'report.json')
  const { stdout } = await swarm(...small, '--url', forum.url, '--invite', 'secret', '--json', file)
  const report = readFileSync(file, 'utf8')
  t.notMatch(stdout + report, 'secret')
  const { setUp } = JSON.parse(report) as Report
  const [, synthetic, , patience] = small
  t.same(setUp.flags, { synthetic, patience, url: forum.url, json: file })
  t.match(setUp, { version: '1.2.3', node: process.version, machine: /., \d+ cores, \d+ GB, / })
  t.match(
    stdout,
    `\nswarm 1.2.3, Node ${process.version}, ${setUp.machine}\n--synthetic ${synthetic} `,
  )
})

t.test('swarm: --fail-if: a limit that is crossed: exit code 2, with its value', async (t) => {
  const forum = await fakeForum(t)
  const limits = (text: string) => swarm(...small, '--url', forum.url, '--fail-if', text)
  const passing = await limits('p99>0.001ms, rate<1000000/s,reply.p50>100s,errors>0')
  t.equal(passing.code, 2)
  t.match(passing.stdout, /\n--fail-if p99>0.001ms: it is [\d.]+\n--fail-if rate<1000000\/s: it is/)
  t.notMatch(passing.stdout, /--fail-if (errors>0|reply.p50)/)
  t.equal((await limits('create-thread.max>100s')).code, 0)
  const wrong = ['p95>1ms', 'p99>1/s', 'rate<9s', 'errors>1ms', 'reply.errors>0', 'p99=1', '']
  for (const text of [...wrong, 'sleep.p99>1ms']) {
    const { code, stderr } = await limits(text)
    t.match({ code, stderr }, { code: 64, stderr: /^swarm: --fail-if: .*\n$/ }, text)
  }
})

t.test('swarm: --compare: the operations of both runs, with ratios', async (t) => {
  const forum = await fakeForum(t)
  const file = join(t.testdir(), 'report.json')
  await swarm(...small, '--url', forum.url, '--json', file)
  const html = `${file}.html`
  const next = await swarm(...small, '--url', forum.url, '--compare', file, '--html', html)
  t.match(next.stdout, /\n +rate\/s +now +ratio +p50 ms +now +ratio +p99 ms +now +ratio\n/)
  t.match(next.stdout, /\nreply( +\d+(\.\d+)?){9}\n/)
  t.match(readFileSync(html, 'utf8'), '<h2>Beside the earlier run</h2>')
  t.notMatch(next.stdout, 'the set-ups differ')
  const other = ['--url', forum.url, '--compare', file, '--connections', '3', '--rate', '1000']
  const { stdout } = await swarm(...small, ...other, '--mentions', '5')
  t.match(
    stdout,
    /\nthe set-ups differ: connections 64 -> 3, rate none -> 1000, mentions none -> 5\n/,
  )
  for (const text of ['', '{}', '{"operations":[{}],"all":{}}']) {
    writeFileSync(file, text)
    const { code, stderr } = await swarm(...small, '--compare', file)
    t.match({ code, stderr }, { code: 64, stderr: `swarm: ${file}: ` })
  }
})

const operation: OperationReport = {
  ...{ operation: 'reply', count: 10, rate: 5, p50: 1, p90: 2, p99: 3, p999: 4, max: 5 },
  ...{ from: 0, to: 2, histogram: '1000*9 5000' },
}
const report = {
  url: 'http://127.0.0.1:1',
  server: { name: '<b>name</b>', version: '"1"', durability: 'always' },
  setUp: { flags: { rate: '9' }, version: '<i>', node: 'v0', machine: 'one core' },
  ...{ batch: null, limit: null, scenario: null, phases: [], secondsPerPhase: { publish: 3 } },
  ...{
    runId: 'run-1',
    processes: 1,
    startedAt: '2026-01-02T03:04:05.000Z',
    connections: 1,
    targetRate: 9,
    identities: 1,
    threads: 1,
    messages: 10,
  },
  ...{ errors: 0, operations: [operation], all: { ...operation, operation: 'all' } },
  intervals: [1, 2, 3].map((second) => ({
    second,
    phase: 'publish',
    requests: 1,
    errors: 0,
    ...operation,
  })),
  verification: null,
} as unknown as Report

t.test('html: a report: stands alone, and escapes what the server says', async (t) => {
  const compared: Compared[] = [{ operation: 'reply', rate: [1, 2], p50: [0, 1], p99: [4, 2] }]
  const page = htmlReport(report, compared)
  t.notMatch(page, /<script|<link|<img|src=|href=|url\(|@import|<b>/)
  t.match(page, '&lt;b&gt;name&lt;/b&gt; &quot;1&quot;')
  t.match(page, '<p>swarm &lt;i&gt;, Node v0, one core\n--rate 9</p>')
  t.equal(page.match(/<polyline class="[abc]" points="[\d., ]+"\/>/g)?.length, 5)
  t.match(page, '<td>4.0</td><td>2.0</td><td>0.50</td>')
  for (const intervals of [[], report.intervals.slice(0, 1)]) {
    const short = htmlReport({ ...report, intervals }, null)
    t.equal(short.match(/too short to plot/g)?.length, 3)
    t.notMatch(short, '<svg')
  }
})

t.test('limits: of an operation that did not occur: crossed', async (t) => {
  const found = crossed(
    parseThresholds('read-feed.p99>5ms,reply.p99>2ms', ['reply', 'read feed']),
    report,
  )
  t.same(found, ['read-feed.p99>5ms: there was no such request', 'reply.p99>2ms: it is 3'])
})

t.test('meter: a run of less than a second: one interval with all of it', async (t) => {
  const meter = new Meter()
  meter.phase = 'publish'
  meter.start()
  for (const microseconds of [1000, 2000, 3000]) meter.answered(microseconds)
  meter.lost()
  meter.stop()
  meter.stop()
  t.equal(meter.intervals.length, 1)
  t.match(meter.intervals, [{ phase: 'publish', requests: 3, errors: 1 }])
  t.ok(Math.abs(meter.intervals[0]!.p50 - 2) < 0.1)
})
