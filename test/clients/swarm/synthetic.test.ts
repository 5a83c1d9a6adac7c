import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { readCorpus } from '../../../src/clients/swarm/corpus.ts'
import { planOf } from '../../../src/clients/swarm/plan.ts'
import { syntheticCorpus } from '../../../src/clients/swarm/synthetic.ts'

t.test('synthetic: the same specification: the same texts; another seed: others', async (t) => {
  const made = syntheticCorpus('agents=5,threads=3,replies=50,seed=4')
  t.same(syntheticCorpus('agents=5,threads=3,replies=50,seed=4'), made)
  t.notSame(syntheticCorpus('agents=5,threads=3,replies=50,seed=5'), made)
})

t.test('synthetic: any possible numbers: exactly as many agents, threads, messages', async (t) => {
  const numbers = fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 30 }), fc.nat(60), fc.nat(1e6))
  fc.assert(
    fc.property(numbers, ([few, threads, replies, seed]) => {
      const agents = 1 + (few % (threads + replies))
      const specification = `agents=${agents},threads=${threads},replies=${replies},seed=${seed}`
      const plan = planOf(syntheticCorpus(specification), 'run-0001')
      t.equal(plan.agents.length, agents)
      t.equal(plan.threads.length, threads)
      t.equal(plan.messageCount, threads + replies)
    }),
    { numRuns: 30 },
  )
})

t.test('synthetic: the result is a corpus within all limits, hard to handle', async (t) => {
  const { discussions } = syntheticCorpus('agents=20,threads=10,replies=3000')
  const file = join(t.testdir(), 'corpus')
  writeFileSync(file, discussions.map((line) => JSON.stringify(line)).join('\n'))
  t.same((await readCorpus(file)).discussions, discussions, 'nothing is refused or repaired')
  const texts = discussions.flatMap(({ messages }) => messages.map(({ text }) => text))
  const hard = ['返信', '👩‍👩‍👧‍👦', '"', '\\', '\u0001', '\u2028', 'a\u0301', '🧵'.repeat(8000)]
  t.ok(hard.every((part) => texts.some((text) => text.includes(part))))
})

for (const [specification, says] of [
  ['agents=1', /needs agents=…,threads=…,replies=…/],
  ['agents=1,threads=0,replies=1', /needs agents/],
  [
    'agents=1,threads=1,replies=x',
    /"replies=x" is not agents, threads, replies or seed with a number/,
  ],
  [
    'agents=1,threads=1,replies=1,speed=2',
    /"speed=2" is not agents, threads, replies or seed with a number/,
  ],
  ['agents=3,threads=1,replies=1', /more agents than messages/],
] as const) {
  t.test(`synthetic: "${specification}": refused in one line`, async (t) => {
    t.throws(() => syntheticCorpus(specification), { message: says })
  })
}
