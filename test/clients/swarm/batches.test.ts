// The swarm's --batch: every message is published and verified as without it, over fewer requests,
// and what is lost or refused is retried by itself.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Batches, type HttpAnswer } from '../../../src/clients/swarm/batches.ts'
import { WrongAnswer } from '../../../src/clients/swarm/failures.ts'
import type { Report } from '../../../src/clients/swarm/report.ts'
import { startForum } from '../../api/harness.ts'
import type { Faults } from './fake-forum.ts'
import { fakeForum, small, swarm } from './run.ts'

/** Runs a small swarm in batches of 8 over 2 connections, and returns its report too. */
async function inBatches(t: Test, faults: Faults) {
  const forum = await fakeForum(t, faults)
  const json = join(t.testdir(), 'report.json')
  const args = ['--batch', '8', '--connections', '2', '--url', forum.url, '--json', json]
  const run = await swarm(...small, ...args)
  const report = JSON.parse(readFileSync(json, 'utf8') || 'null') as Report
  return { ...run, forum, report, batch: report?.batch }
}

const refusing = (
  operation: string,
  error: string,
  headers: Record<string, string> = {},
): Faults => ({
  refuse: (requested, nth) =>
    requested === operation && nth === 2 ? { status: 503, body: { error }, headers } : null,
})

t.test('swarm: --batch: all is published and verified, and nothing leaves alone', async (t) => {
  const { code, stdout, stderr, forum, report, batch } = await inBatches(t, {})
  t.equal(code, 0, stdout + stderr)
  t.match(stdout, 'verified  44 of 44 messages identical, in order, each once')
  t.match(stdout, /^\d+ batches of [\d.]+ requests on average, at most 8$/m)
  t.match(batch, { size: 8, batches: forum.seen.get('batch'), requests: report.all.count, full: 0 })
  t.ok(batch!.batches < batch!.requests / 2, `${batch!.batches} for ${batch!.requests}`)
  t.equal(forum.busiest, 2, 'one batch on each connection')
  t.match(report.setUp.flags, { batch: '8' })
})

t.test('swarm: --batch: a batch is refused: each of its requests is retried', async (t) => {
  const { code, stdout, report, batch } = await inBatches(t, refusing('batch', 'overloaded'))
  t.equal(code, 0, stdout)
  t.ok(report.retries.unavailable > 0 && report.retries.unavailable <= 8)
  t.equal(batch!.requests, report.all.count)
})

t.test(
  'swarm: --batch: one request is refused: it alone is retried, after its pause',
  async (t) => {
    const faults = refusing('reply', 'overloaded', { 'retry-after': '1' })
    const { code, stdout, report } = await inBatches(t, faults)
    t.equal(code, 0, stdout)
    t.equal(report.retries.unavailable, 1)
    const reply = report.operations.find(({ operation }) => operation === 'reply')!
    t.ok(reply.max >= 990, `${reply.max} ms`)
    t.equal(report.published!.replayedAnswers, 0)
  },
)

t.test('swarm: --batch: an answer is lost: retried with the same keys, each once', async (t) => {
  const { code, stdout, report, forum } = await inBatches(t, {
    answer: (operation, answer, nth) => (operation === 'reply' && nth === 20 ? 'lost' : answer),
  })
  t.equal(code, 0, stdout)
  t.ok(report.retries.connection > 0)
  t.ok(report.published!.replayedAnswers > 0)
  const published = [...forum.threads.values()].reduce((sum, { messages }) => {
    return sum + messages.length
  }, 0)
  t.equal(published, 44)
})

t.test('swarm: --batch: an answer that does not fit: asked again, and no error', async (t) => {
  const { code, stdout, report, batch } = await inBatches(t, refusing('read', 'batch_full'))
  t.equal(code, 0, stdout)
  t.equal(batch!.full, 1)
  t.equal(report.errors, 0)
  t.match(stdout, '; 1 answers did not fit, and were asked again\n')
})

t.test('swarm: --batch: an answer without all responses: exit code 1', async (t) => {
  const { code, stderr } = await inBatches(t, {
    answer: (operation, answer, nth) => {
      if (operation === 'batch' && nth === 3) answer.body.responses.pop()
      return answer
    },
  })
  t.match({ code, stderr }, { code: 1, stderr: /POST \/api\/batch answered 200 without \d+ resp/ })
})

t.test('swarm: --batch: what a forum or a swarm cannot do: refused, exit code 64', async (t) => {
  const forum = await fakeForum(t)
  forum.batchMax = 10
  const refused = async (sentence: string, ...args: string[]) => {
    const { code, stderr } = await swarm(...small, '--url', forum.url, ...args)
    t.match({ code, stderr }, { code: 64, stderr: sentence })
  }
  await refused(`--batch 11: ${forum.url} takes 10 at most`, '--batch', '11')
  await refused('more than 100,000 requests in flight', '--batch', '101', '--connections', '1000')
  for (const size of ['0', '1', '1001', 'all']) await refused('--batch', '--batch', size)
  t.equal(forum.seen.get('identity'), undefined)
})

t.test('batches: large requests: cut before 4 MiB, and sent over few connections', async (t) => {
  const sent: number[] = []
  let [inFlight, most] = [0, 0]
  const post = async (body: string): Promise<HttpAnswer> => {
    most = Math.max(most, ++inFlight)
    sent.push(Buffer.byteLength(body))
    await new Promise((resolve) => setImmediate(resolve))
    inFlight--
    const { requests } = JSON.parse(body) as { requests: { key: string }[] }
    const responses = requests.map(({ key }) => ({ status: 200, body: key }))
    return { status: 200, body: { responses }, retryAfter: 0 }
  }
  const batches = new Batches({ size: 1000, connections: 3, post })
  const content = 'ä'.repeat(100_000)
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => {
      return batches.send({ method: 'POST', path: '/', key: `${n}`, body: { content } })
    }),
  )
  t.same(
    answers.map(({ body }) => body),
    Array.from({ length: 100 }, (_, n) => `${n}`),
  )
  t.ok(Math.max(...sent) <= 4 << 20 && Math.max(...sent) > 3 << 20, `${sent}`)
  t.equal(most, 3)
  const odd = { status: 200, body: { responses: [null] }, retryAfter: 0 }
  const broken = new Batches({ size: 2, connections: 1, post: async () => odd })
  await t.rejects(
    broken.send({ method: 'GET', path: '/' }),
    new WrongAnswer('POST /api/batch answered 200 with a response that has no status'),
  )
})

t.test('swarm: --batch: on a node: verified, mentions and searches too', async (t) => {
  const forum = await startForum(t)
  const json = join(t.testdir(), 'report.json')
  const load = ['--synthetic', 'agents=60,threads=100,replies=600', '--mentions', '20']
  const how = ['--batch', '50', '--connections', '2', '--replay-all', '--idle', '10']
  const { code, stdout, stderr } = await swarm(
    ...load,
    ...how,
    ...['--url', forum.url, '--json', json],
  )
  t.equal(code, 0, stdout + stderr)
  t.match(stdout, '700 of 700 keys replayed their first answer')
  const { batch, errors, operations } = JSON.parse(readFileSync(json, 'utf8')) as Report
  t.equal(errors, 0)
  const requests = operations.filter(({ operation }) => operation !== 'wake')
  t.equal(
    batch!.requests - batch!.full,
    requests.reduce((sum, { count }) => sum + count, 0),
  )
  t.ok(batch!.requests / batch!.batches > 10, `${batch!.requests} in ${batch!.batches}`)
})
