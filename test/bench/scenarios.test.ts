import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { bestGenerator, generators } from '../../bench/load.ts'
import { populate } from '../../bench/population.ts'
import { ask, freshKey, lastSeen, ringOf } from '../../bench/ring.ts'
import { type Scenario, scenarios } from '../../bench/scenarios.ts'
import { sample, sender, startFloor, startForum } from '../../bench/sides.ts'
import { longestOf, stallsFromNow } from '../../bench/stalls.ts'
import { chosenSeed, sampleOf } from '../depth.ts'

const size = { identities: 60, threads: 20, messages: 1_100, contentBytes: 300 }
const amount = { connections: 2, seconds: 1 }
const samplesMax = 100
const atOnce = 2

t.test('bench: a tiny forum', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const population = await populate(join(dir, 'data'), size)
  const forum = await startForum(join(dir, 'data'), ['--durability', 'none'])
  t.teardown(() => forum.stop())

  const answered = async (status = '2') => {
    const pattern = new RegExp(`^agent_forum_http_requests_total\\{.*"${status}xx"`)
    const counts = [...(await forum.metrics())].filter(([name]) => pattern.test(name))
    return counts.reduce((sum, [, count]) => sum + count, 0)
  }

  t.test('bench: the population: each scenario: measures what its title says', async (t) => {
    const metrics = await forum.metrics()
    t.equal(metrics.get('agent_forum_messages'), size.messages)
    t.equal(metrics.get('agent_forum_threads'), size.threads)
    t.equal(metrics.get('agent_forum_journal_position'), population.position)

    const answersOf = async (name: string) => {
      const ring = scenarios.find((each) => each.name === name)!.ring(population)
      const filling = { prefix: `test-${name}-`, position: population.position }
      return (await ask(forum.url, ring, filling, samplesMax)).map(({ status, body }) => {
        return { status, ...JSON.parse(body) }
      })
    }
    const lengths = async (name: string, property: string) => {
      const answers = await answersOf(name)
      return [...new Set(answers.map((answer) => answer[property].length))].sort()
    }
    t.same(await lengths('page', 'messages'), [50])
    t.same(await lengths('page-once', 'messages'), [48, 49, 50])
    t.same(await lengths('tail', 'messages'), [0, 1, 2, 3])
    t.same(await lengths('feed-empty', 'notifications'), [0])
    t.same(await lengths('feed-1000', 'notifications'), [10])
    const news = (await answersOf('feed-news')).map(({ notifications }) => notifications.length)
    const mean = news.reduce((a, b) => a + b) / news.length
    t.ok(mean > 2 && mean < 10, `${mean} news in a poll`)
    const shown = (await answersOf('feed-content')).flatMap(({ notifications }) => notifications)
    t.ok(shown.length > 0 && shown.every(({ content }) => content.length === size.contentBytes))
    const mentioning = await answersOf('reply-mentions')
    t.ok(mentioning.every(({ status }) => status === 201))
    const mentions = (await forum.metrics()).get('agent_forum_mentions')!
    // An author's mention of itself is in no feed.
    t.ok(mentions > 9 * mentioning.length && mentions <= 10 * mentioning.length, `${mentions}`)
    t.ok((await answersOf('replay')).every(({ status, replayed }) => status === 200 && replayed))
    t.ok((await answersOf('reply')).every(({ status, replayed }) => status === 201 && !replayed))
  })

  t.test('bench: all scenarios, some under load: answers are 2xx, and counts add up', async (t) => {
    const messages = async () => (await forum.metrics()).get('agent_forum_messages')!
    const before = { answered: await answered(), messages: await messages() }
    const answers = await Promise.all(scenarios.map((each) => sample(each, population, forum)))
    const floor = await startFloor(join(dir, 'answers.json'), answers.flat())
    t.teardown(() => floor.stop())
    const measure = async (scenario: Scenario) => {
      const side = await sender(dir, scenario, population, forum)
      const [bare, own] = await Promise.all(
        [side('floor', floor), side('forum', forum)].map(({ load }) => load(amount, 0)),
      )
      t.equal(bare!.errors, 0, `${scenario.name}: the floor`)
      t.equal(own!.errors, 0, `${scenario.name}: the forum`)
      t.ok(bare!.requests > 0 && own!.requests > 0, `${scenario.name}: something was measured`)
      return { name: scenario.name, requests: own!.requests }
    }
    const seen: { name: string; requests: number }[] = []
    // With more at once, one of them may get no answer in its second on a busy machine.
    t.comment(`TEST_SEED=${chosenSeed}`)
    const chosen = sampleOf('BENCH_SCENARIOS', scenarios)
    for (let i = 0; i < chosen.length; i += atOnce) {
      seen.push(...(await Promise.all(chosen.slice(i, i + atOnce).map(measure))))
    }

    // Requests that were in flight when the time ran out are counted only by the forum.
    const count = (await answered()) - before.answered
    const measured = seen.reduce((sum, { requests }) => sum + requests, 0)
    const uncounted = scenarios.length * (samplesMax + amount.connections)
    t.ok(count >= measured, `${count} answered, ${measured} measured`)
    t.ok(count <= measured + uncounted, `${count} answered, ${measured} measured`)
    const posts = seen.filter(({ name }) => name === 'reply' || name === 'thread')
    const posted = posts.reduce((sum, { requests }) => sum + requests, 0)
    t.ok((await messages()) - before.messages >= posted, `${posted} posts, each a new message`)
    t.equal(await answered('[45]'), 0, 'none was refused')
  })

  t.test('bench: stalls: a node that was stopped: seen then, and not afterwards', async (t) => {
    const stalls = await stallsFromNow(forum)
    process.kill(forum.pid, 'SIGSTOP')
    await sleep(2_000)
    process.kill(forum.pid, 'SIGCONT')
    const seen = longestOf(await stalls())
    t.ok(seen >= 1_500, `${seen} ms`)
    const later = longestOf(await (await stallsFromNow(forum))())
    t.ok(later < 1_500, `${later} ms`)
  })

  t.test('bench: requests that fail: counted once, and said on standard error', async (t) => {
    const path = '/api/threads/nothing'
    const ring = ringOf([{ method: 'GET', route: 'GET /api/threads/:id', path }])
    for (const name of new Set(['autocannon', bestGenerator] as const)) {
      const written = t.capture(process.stderr, 'write')
      const send = generators[name](dir, 'nothing', ring)
      const seen = await send({ url: forum.url, ...amount }, { prefix: '', position: 0 })
      t.ok(seen.errors > 0 && seen.errors <= seen.requests + amount.connections, name)
      const line = `nothing: ${seen.errors} of ${seen.requests} requests failed\n`
      t.same(
        written().map(({ args }) => args[0]),
        [line],
        name,
      )
    }
  })

  t.test('bench: load from autocannon: the swarm: fresh keys, no errors', async (t) => {
    const swarm = scenarios.find(({ name }) => name === 'mixed')!
    const side = await sender(dir, swarm, population, forum, 'autocannon')
    const messages = async () => (await forum.metrics()).get('agent_forum_messages')!
    const before = await messages()
    const { requests, errors } = await side('forum', forum).load(amount, 0)
    t.equal(errors, 0)
    const posted = Math.floor((requests - swarm.ring(population).requests.length) / 10)
    t.ok((await messages()) - before >= posted, `${requests} requests, a tenth of them replies`)
  })
})

t.test(
  'bench: load from autocannon: what polls have seen grows with what it appends',
  async (t) => {
    const seen: number[] = []
    const server = createServer(({ url }, response) => {
      const [, after] = /after=(\d+)/.exec(url!) ?? []
      if (after !== undefined) seen.push(Number(after))
      response.end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const dir = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
    t.teardown(() => rmSync(dir, { recursive: true }))
    const ring = ringOf([
      { method: 'POST', route: 'POST /', path: '/', key: freshKey, body: {} },
      { method: 'GET', route: 'GET /', path: `/?after=${lastSeen}` },
    ])
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await generators.autocannon(
      dir,
      'polls',
      ring,
    )({ url, ...amount }, { prefix: '', position: 100 })
    t.ok(Math.max(...seen) >= 100 + seen.length - amount.connections, `${seen.length} polls`)
  },
)
