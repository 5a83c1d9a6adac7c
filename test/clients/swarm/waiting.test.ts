// A swarm whose polls wait for news, on a real node: it gathers its feeds exactly, the node has
// held and woken its polls, and it measures how long that took.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Wakes } from '../../../src/clients/swarm/feeds.ts'
import type { Report } from '../../../src/clients/swarm/report.ts'
import { startForum } from '../../api/harness.ts'
import { sample } from '../../api/operators.ts'
import { freePort } from '../../free-port.ts'
import { swarm } from './run.ts'

t.test('swarm: --wait: every feed is gathered by polls that wait', async (t) => {
  const ops = await freePort()
  const forum = await startForum(t, ['--ops-port', `${ops}`])
  const corpus = ['--synthetic', 'agents=20,threads=10,replies=200', '--connections', '4']
  const { code, stdout, stderr } = await swarm(...corpus, '--wait', '50', '--url', forum.url)
  t.equal(code, 0, stdout + stderr)
  t.match(stdout, /20 of 20 feeds exact, [\d,]+ items, gathered/)
  t.match(stdout, /polls waited {3}[\d,]+ until there was news, [\d,]+ in vain/)
  t.ok((await sample(ops, 'agent_forum_waiting_ended_total{how="news"}')) > 0)
})

t.test('swarm: --wait 51: refused, exit code 64', async (t) => {
  const { code, stderr } = await swarm('--synthetic', 'agents=2', '--wait', '51')
  t.equal(code, 64)
  t.match(stderr, '--wait')
})

t.test(
  'swarm: --idle: agents that only wait, each woken by its threads, and verified',
  async (t) => {
    const forum = await startForum(t)
    const json = join(t.testdir(), 'report.json')
    const args = ['--idle', '30', '--connections', '4', '--url', forum.url, '--json', json]
    const load = ['--synthetic', 'agents=20,threads=10,replies=200', '--rate', '200']
    const { code, stdout, stderr } = await swarm(...load, '--duration', '2', ...args)
    t.equal(code, 0, stdout + stderr)
    t.match(stdout, /^wake +[\d,]+ +[\d,]+( +[\d.]+){5}$/m)
    t.match(stdout, '\nidentities     50, of which 30 only waited\n')
    t.match(stdout, /50 of 50 feeds exact, [\d,]+ items, gathered/)
    const report = JSON.parse(readFileSync(json, 'utf8')) as Report
    const count = (name: string) =>
      report.operations.find(({ operation }) => operation === name)!.count
    // Three of them follow each thread. What is due at the very end may be read by the last polls.
    const woken = 3 * count('reply')
    t.ok(count('wake') <= woken && count('wake') > woken * 0.5, `${count('wake')} of ${woken}`)
    const requests = report.operations.filter(({ operation }) => operation !== 'wake')
    t.equal(
      report.all.count,
      requests.reduce((sum, { count }) => sum + count, 0),
    )
  },
)

t.test('wakes: in either order of publication and poll: once for each that waited', async (t) => {
  const recorded: [number, number][] = []
  const wakes = new Wakes((...times) => recorded.push(times))
  wakes.seen('a', 5)
  wakes.seen('a', 6)
  t.same(recorded, [])
  wakes.published('a', 1)
  wakes.seen('a', 7)
  wakes.published('b', 2)
  wakes.seen('b', 8)
  t.same(recorded, [
    [1, 5],
    [1, 6],
    [1, 7],
    [2, 8],
  ])
})

t.test('swarm: --idle: saved and verified later', async (t) => {
  const forum = await startForum(t)
  const file = join(t.testdir(), 'run.json')
  const args = ['--synthetic', 'agents=2,threads=3,replies=10', '--url', forum.url]
  t.equal((await swarm(...args, '--idle', '4', '--save', file)).code, 0)
  const { code, stdout } = await swarm(...args, '--verify', file)
  t.match(stdout, /6 of 6 feeds exact, \d+ items, read from the beginning/)
  t.equal(code, 0)
})
