import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { readCorpus } from '../../../src/clients/swarm/corpus.ts'
import { planOf } from '../../../src/clients/swarm/plan.ts'
import { parseShape, syntheticCorpus } from '../../../src/clients/swarm/synthetic.ts'

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

t.test(
  "synthetic: --skew: threads are as long as Zipf's law says; 0: the same texts",
  async (t) => {
    const specification = 'agents=50,threads=100,replies=100000'
    const made = syntheticCorpus(specification, parseShape({ skew: '1.2' }))
    t.match(made.fingerprint, /,seed=1,skew=1.2$/)
    const weights = made.discussions.map((_, n) => 1 / (n + 1) ** 1.2)
    const total = weights.reduce((sum, weight) => sum + weight)
    for (const n of [0, 1, 9, 99]) {
      const expected = (weights[n] / total) * 100_000
      const replies = made.discussions[n].messages.length - 1
      t.ok(Math.abs(replies - expected) < 5 * Math.sqrt(expected), `thread ${n}: ${replies}`)
    }
    const even = 'agents=5,threads=3,replies=50'
    t.same(syntheticCorpus(even, parseShape({ skew: '0' })), syntheticCorpus(even))
  },
)

t.test('synthetic: --sizes: texts of these lengths, with these shares', async (t) => {
  const shape = parseShape({ sizes: '1:3,100:0.5,8000:0.5' })
  const made = syntheticCorpus('agents=50,threads=100,replies=3900', shape)
  t.match(made.fingerprint, /,seed=1,1:3,100:0.5,8000:0.5$/)
  const file = join(t.testdir(), 'corpus')
  writeFileSync(file, made.discussions.map((line) => JSON.stringify(line)).join('\n'))
  t.same((await readCorpus(file)).discussions, made.discussions, 'nothing is refused or repaired')
  const counts = new Map<number, number>()
  for (const { text } of made.discussions.flatMap(({ messages }) => messages)) {
    const characters = [...text].length
    counts.set(characters, (counts.get(characters) ?? 0) + 1)
  }
  t.same([...counts.keys()].sort(), [1, 100, 8000])
  for (const [size, expected] of [
    [1, 3000],
    [100, 500],
    [8000, 500],
  ]) {
    t.ok(Math.abs(counts.get(size)! - expected) < 5 * Math.sqrt(expected), `${size}`)
  }
})

for (const [flags, says] of [
  [{ sizes: '' }, /^--sizes: "" is not a number of characters to 8000 with its share, like 10/],
  [{ sizes: '100' }, /^--sizes: "100" is not/],
  [{ sizes: '100:1,0:1' }, /^--sizes: "0:1" is not/],
  [{ sizes: '8001:1' }, /^--sizes/],
  [{ sizes: '100:0' }, /^--sizes/],
  [{ sizes: '100:-1' }, /^--sizes/],
  [{ skew: '-1' }, /^--skew takes an exponent from 0 to 10, like 1.1, not "-1"$/],
  [{ skew: '11' }, /^--skew takes/],
  [{ skew: 'zipf' }, /^--skew takes/],
  [{ skew: '' }, /^--skew takes/],
] as const) {
  t.test(`synthetic: ${JSON.stringify(flags)}: refused in one line`, async (t) => {
    t.throws(() => parseShape(flags), { message: says })
  })
}

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
