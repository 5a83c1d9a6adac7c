// Scenarios: what is read from the file, which mistakes are named, and what a run of one does.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Report } from '../../../src/clients/swarm/report.ts'
import { readScenario } from '../../../src/clients/swarm/scenario.ts'
import { fakeForum, small, swarm } from './run.ts'

function fileOf(t: Test, content: unknown): string {
  const file = join(t.testdir(), 'scenario.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const phase = { name: 'first', seconds: 1 }

const mistakes: [what: string, content: unknown, says: string[]][] = [
  ['no JSON', 'phases: []', ['cannot be read: Unexpected token']],
  ['no object', [], ['the scenario must be object']],
  ['no phases', {}, ["the scenario must have required property 'phases'"]],
  ['an empty list of phases', { phases: [] }, ['phases must NOT have fewer than 1 items']],
  ['another field', { phases: [phase], speed: 1 }, ['the scenario must not have "speed"']],
  [
    'two mistakes in phases',
    { phases: [phase, { name: 'second', seconds: 0, rate: 1.5 }] },
    ['phases/1/seconds must be >= 1', 'phases/1/rate must be integer'],
  ],
  [
    'actions without messages',
    { phases: [phase], actions: { publish: 0, write: 1 } },
    ['actions must not have "write"', 'actions/publish must be > 0'],
  ],
  [
    'a rate and a burst',
    { phases: [phase, { ...phase, rate: 1, burst: 1 }] },
    ['phases/1 has a rate and a burst, and must have one of them'],
  ],
  [
    'a rate and time to think',
    { think_ms: 5, phases: [phase, { ...phase, burst: 1 }] },
    ['phases/1 has a rate, and think_ms must be 0 then'],
  ],
]

for (const [what, content, says] of mistakes) {
  t.test(`scenario: ${what}: a sentence for each mistake: exit code 64`, async (t) => {
    const file = fileOf(t, content)
    const { code, stderr } = await swarm(...small, '--scenario', file)
    t.equal(code, 64)
    const lines = stderr
      .replace(/^swarm: /, '')
      .trimEnd()
      .split('\n')
    t.equal(lines.length, says.length, stderr)
    for (const sentence of says) {
      t.ok(
        lines.some((line) => line.startsWith(`${file}: ${sentence}`)),
        `${sentence} in ${stderr}`,
      )
    }
  })
}

t.test('scenario: everything that it may have: as it is', async (t) => {
  const scenario = {
    actions: { publish: 1, poll: 7.5, read: 0, search: 1 },
    think_ms: 600_000,
    phases: [phase],
  }
  t.same(await readScenario(fileOf(t, scenario)), scenario)
})

t.test('swarm: --scenario: its phases and actions, reported and verified', async (t) => {
  const forum = await fakeForum(t)
  const scenario = {
    actions: { publish: 10, poll: 20, read: 5, search: 10 },
    phases: [
      { name: 'even', rate: 20, seconds: 1 },
      { name: 'burst', burst: 10, seconds: 1 },
    ],
  }
  const file = fileOf(t, scenario)
  const json = `${file}.report`
  const reports = ['--json', json, '--html', `${json}.html`]
  const args = ['--scenario', file, '--url', forum.url, '--connections', '4', ...reports]
  const { code, stdout, stderr } = await swarm(...small, ...args)
  t.equal(code, 0, stdout + stderr)
  const report = JSON.parse(readFileSync(json, 'utf8')) as Report
  t.same(report.scenario, scenario)
  t.match(report.phases, [
    { name: 'even', seconds: 1, due: 20, errors: 0 },
    { name: 'burst', seconds: 1, due: 10, errors: 0 },
  ])
  // On a busy machine some are not sent in time.
  const [even, burst] = report.phases.map(({ sent }) => sent)
  t.ok(even > 0 && even <= 20 && burst > 0 && burst <= 10)
  t.equal(report.messages, even + burst)
  const count = (name: string) =>
    report.operations.find(({ operation }) => operation === name)!.count
  // In the end each feed is polled once more, and each thread read.
  const polls = count('poll feed') - 6
  const { messages } = report
  t.ok(polls > messages && polls <= 2 * messages, `${polls} polls`)
  t.equal(count('read thread') - report.threads, Math.floor(messages / 2))
  t.match(stdout, /^even +20 +\d+ +\d+( +[\d.]+){4} +0$/m)
  t.match(stdout, /searches found what was published/)
  t.match(stderr, /^even: \d+ messages in 1.\d s: p50 [\d.]+ p99 [\d.]+ ms$/m)
  t.match(readFileSync(`${json}.html`, 'utf8'), /<h2>By phase<\/h2>\n<table>.*\n<tr><td>even/)
})

t.test('swarm: --scenario: time to think, without a rate: between messages', async (t) => {
  const forum = await fakeForum(t)
  const file = fileOf(t, { think_ms: 200, phases: [phase] })
  const args = ['--scenario', file, '--url', forum.url, '--connections', '2']
  const { code, stdout } = await swarm(...small, ...args)
  t.equal(code, 0)
  const [, sent] = /^first +- +(\d+) /m.exec(stdout)!
  t.ok(Number(sent) > 1 && Number(sent) <= 12, `${sent} by two lanes in a second`)
})

for (const flag of ['--rate', '--burst', '--duration', '--search']) {
  t.test(`swarm: --scenario and ${flag}: exit code 64`, async (t) => {
    const { code, stderr } = await swarm(...small, '--scenario', 'file', flag, '5')
    t.match({ code, stderr }, { code: 64, stderr: `--scenario says it all: leave ${flag} out\n` })
  })
}
