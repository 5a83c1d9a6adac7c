import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { ConfigError } from '../../../src/base/arguments.ts'
import { readCorpus } from '../../../src/clients/swarm/corpus.ts'
import { planOf } from '../../../src/clients/swarm/plan.ts'

// Real discussions, which are kept beside the repository and not in it. If they are missing, the
// test is skipped.
const realCorpus = '../shared/data/discussions.ndjson.gz'

function fileOf(t: Test, bytes: string | Uint8Array): string {
  const file = join(t.testdir(), 'corpus')
  writeFileSync(file, bytes)
  return file
}

const by = (author: string, text: string) => ({ author, at: 1, text })
const line = (messages = [by('ana', 'a'), by('ben', 'b')], title = 'a title') =>
  `${JSON.stringify({ thread: 7, title, messages })}\n`

t.test('corpus: plain and gzip: read alike, whatever the name', async (t) => {
  const plain = await readCorpus(fileOf(t, line() + line()))
  t.equal(plain.discussions.length, 2)
  t.same(plain.discussions[0].messages[1], { author: 'ben', text: 'b' })
  t.match(plain.fingerprint, /^sha256 [0-9a-f]{64}$/)
  t.same(await readCorpus(fileOf(t, gzipSync(line() + line()))), plain)
})

t.test('corpus: other bytes: another fingerprint', async (t) => {
  const one = await readCorpus(fileOf(t, line()))
  const other = await readCorpus(fileOf(t, line([by('ana', 'A')])))
  t.not(one.fingerprint, other.fingerprint)
})

t.test('C3: an unpaired surrogate: becomes what a server stores', async (t) => {
  const { discussions } = await readCorpus(fileOf(t, line([by('ana', 'a\ud800b')])))
  t.equal(discussions[0].messages[0].text, 'a\ufffdb')
})

const unusable: { what: string; bytes: string | Uint8Array; says: RegExp }[] = [
  { what: 'empty', bytes: '\n', says: /corpus: holds no discussion/ },
  { what: 'not JSON', bytes: `${line()}{`, says: /corpus, line 2: is not JSON/ },
  { what: 'no message', bytes: line([]), says: /line 1: \/messages must NOT have fewer than 1/ },
  { what: 'a blank text', bytes: line([by('a', ' \n')]), says: /\/messages\/0\/text must match/ },
  { what: 'a long title', bytes: line(undefined, 'x'.repeat(161)), says: /\/title must NOT have/ },
  { what: 'a long text', bytes: line([by('a', 'x'.repeat(8001))]), says: /text must NOT have/ },
  { what: 'bytes that are not UTF-8', bytes: Uint8Array.of(0xff), says: /is not UTF-8/ },
  { what: 'a torn gzip', bytes: gzipSync(line()).subarray(0, 30), says: /cannot be read: unexp/ },
]

for (const { what, bytes, says } of unusable) {
  t.test(`C2: a corpus with ${what}: refused in one line`, async (t) => {
    const failure = await readCorpus(fileOf(t, bytes)).catch((error) => error)
    t.ok(failure instanceof ConfigError)
    t.match(failure.message, says)
  })
}

t.test('corpus: 8000 emoji: within the limit, which counts characters', async (t) => {
  const { discussions } = await readCorpus(fileOf(t, line([by('ana', '🧵'.repeat(8000))])))
  t.equal(discussions[0].messages[0].text.length, 16_000)
})

t.test('plan: agents of two threads: each once, with its threads and key', async (t) => {
  const messages = [by('ana', 'a'), by('ben', 'b'), by('ana', 'c'), by('eve', 'd')]
  const corpus = await readCorpus(fileOf(t, line(messages) + line([by('eve', 'e')])))
  const plan = planOf(corpus, 'run-0001')
  t.same(
    plan.agents.map(({ name }) => name),
    ['ana', 'ben', 'eve'],
  )
  t.same(
    plan.agents.map(({ threads }) => threads.length),
    [1, 1, 2],
  )
  t.same(
    plan.threads[0].others.map(({ name }) => name),
    ['ben', 'eve'],
  )
  t.equal(plan.messageCount, 5)
})

const skip = existsSync(realCorpus) ? false : `${realCorpus} is not here`
t.test('corpus: the real discussions: all of them are usable', { skip }, async (t) => {
  const plan = planOf(await readCorpus(realCorpus), 'run-0001')
  t.equal(plan.messageCount, 36_260)
  t.equal(plan.threads.length, 5_643)
  t.equal(plan.agents.length, 1_662)
})
