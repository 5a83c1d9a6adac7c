// A swarm that claims its threads as tasks: on a real node each is done once, by one worker at a
// time, and a forum that gets something wrong is reported.

import t from 'tap'
import { type Grant, verifyClaims } from '../../../src/clients/swarm/claims.ts'
import { Differences } from '../../../src/clients/swarm/differences.ts'
import { planOf } from '../../../src/clients/swarm/plan.ts'
import { syntheticCorpus } from '../../../src/clients/swarm/synthetic.ts'
import { startForum } from '../../api/harness.ts'
import type { Answer, Body, Faults, Operation } from './fake-forum.ts'
import { fakeForum, small, swarm } from './run.ts'

const claiming = ['--claims', '1']

t.test('swarm: --claims: each task is done once, whoever stops', async (t) => {
  const forum = await startForum(t)
  const corpus = ['--synthetic', 'agents=20,threads=120,replies=200', '--connections', '20']
  const run = await swarm(...corpus, ...claiming, '--url', forum.url)
  t.equal(run.code, 0, run.stdout + run.stderr)
  t.match(run.stdout, /^claim +[\d,]+ +[\d,]+( +[\d.]+){5}$/m)
  const [, granted, renewed, expired] =
    /^claims +(\d+) granted, (\d+) renewed, [\d,]+ refused; (\d+) expired/m.exec(run.stdout) ?? []
  t.ok(Number(granted) >= 123, `${granted} granted`)
  t.ok(Number(renewed) >= 3, `${renewed} renewed`)
  t.ok(Number(expired) >= 3, `${expired} expired`)
  t.match(run.stdout, '120 of 120 tasks done once, each held by one worker at a time')
  t.match(run.stdout, '440 of 440 messages identical, in order, each once')
})

t.test('swarm: --claims: with batches, polls that wait, and searches', async (t) => {
  const forum = await fakeForum(t)
  const args = ['--batch', '10', '--connections', '2', '--wait', '5', '--search', '10']
  const run = await swarm(...small, ...claiming, ...args, '--url', forum.url)
  t.equal(run.code, 0, run.stdout + run.stderr)
  t.match(run.stdout, '4 of 4 tasks done once')
})

t.test('swarm: --claims: an answer is lost for longer than a claim: done once', async (t) => {
  const corpus = 40 // replies, before the results
  const away = { status: 503, body: { error: 'overloaded' }, headers: { 'retry-after': '2' } }
  const forum = await fakeForum(t, {
    answer: (operation, answer, nth) =>
      operation === 'reply' && nth === corpus + 1 ? 'lost' : answer,
    refuse: (operation, nth) =>
      operation === 'reply' && nth > corpus + 1 && nth <= corpus + 4 ? away : null,
  })
  const run = await swarm(...small, ...claiming, '--url', forum.url)
  t.equal(run.code, 0, run.stdout + run.stderr)
  t.match(run.stdout, '4 of 4 tasks done once')
})

const tampered = (operation: Operation, change: (body: Body) => void): Faults => ({
  answer(requested: Operation, answer: Answer) {
    if (requested === operation && answer.status === 201) change(answer.body)
    return answer
  },
})

const faulty: { what: string; faults: Faults; says: RegExp }[] = [
  {
    what: 'grants a claim that another worker holds',
    faults: { claimsAreFree: true },
    says: /the claim with fence \d+ was lost before it was over/,
  },
  {
    what: 'accepts a result under a claim that is over',
    faults: tampered('claim', (claim) => {
      claim.expires_at -= 500
    }),
    says: /its result is of \d+, and its claim \d+ from \d+ to \d+/,
  },
  {
    what: 'grants all claims with one fence',
    faults: tampered('claim', (claim) => {
      claim.fence = 1
    }),
    says: /lost before it was over|the fence 1 was granted twice/,
  },
]

for (const { what, faults, says } of faulty) {
  t.test(`swarm: --claims: a forum that ${what}: reported, exit code 1`, async (t) => {
    const forum = await fakeForum(t, faults)
    const { code, stdout, stderr } = await swarm(...small, ...claiming, '--url', forum.url)
    t.match(stdout + stderr, says)
    t.equal(code, 1)
  })
}

t.test('swarm: --claims of a forum without claims, or with --save: exit code 64', async (t) => {
  const forum = await fakeForum(t, {
    answer(operation, answer) {
      if (operation === 'status') answer.body.capabilities.claims = false
      return answer
    },
  })
  const { code, stderr } = await swarm(...small, ...claiming, '--url', forum.url)
  t.match([code, stderr], [64, /--claims: http:\S+ has no claims/])
  t.match(await swarm(...small, ...claiming, '--save', 'run.json'), {
    code: 64,
    stderr: /--claims publishes less or more than the corpus/,
  })
})

t.test('claims: compared with one another: each overlap is a difference', async (t) => {
  const plan = planOf(syntheticCorpus('agents=2,threads=1,replies=1'), 'a-run-of-tests')
  const [thread] = plan.threads
  const [worker] = plan.agents
  const [result] = thread!.messages
  result!.id = 'msg_result'
  const grant = (fence: number, from: number, more: Partial<Grant> = {}): Grant => {
    const [until, isReleased] = [from + 1000, false]
    const held = { from, until }
    return {
      number: fence,
      worker,
      fence,
      node: { ...held },
      held,
      isReleased,
      result: null,
      ...more,
    }
  }
  const found = (at: number, ...grants: Grant[]) => {
    const differences = new Differences()
    const shown = { seq: 1, message_id: 'msg_result', thread_id: '', author_id: '', created_at: at }
    verifyClaims(differences, thread!, grants, new Map([['msg_result', shown]]))
    return differences.first.map((what) => what.replace(/^thread \d+: /, ''))
  }
  const done = (fence: number, from: number) => {
    return grant(fence, from, { result, isReleased: true, held: { from, until: from + 100 } })
  }
  t.same(found(1150, done(2, 1100), grant(1, 100)), [])
  t.same(found(150, done(1, 100), grant(2, 200)), [], 'released before it was over')
  t.same(found(1, grant(1, 100)), ['nobody has done the task'])
  const overlap = ['the claims 1 and 2 were held at a time']
  t.same(found(1150, grant(1, 101), done(2, 1100)), overlap, 'by the times of the node')
  const late = grant(1, 100, { held: { from: 100, until: 1101 } })
  t.same(found(1150, late, done(2, 1100)), overlap, 'by the clock of the workers')
  t.same(found(250, done(1, 100), grant(2, 200)), overlap, 'a result after the next claim')
  t.same(
    found(150, done(2, 100), grant(1, 200)),
    ['the claims 1 and 2 were held at a time'],
    'a fence that is less than one before',
  )
  t.same(found(1150, grant(1, 100), done(1, 1100)), ['the fence 1 was granted twice'])
  t.same(found(99, done(1, 100)), ['its result is of 99, and its claim 1 from 100 to 1100'])
  t.same(found(1100, done(1, 100)), ['its result is of 1100, and its claim 1 from 100 to 1100'])
})
