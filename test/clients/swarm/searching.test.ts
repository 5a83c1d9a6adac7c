// A swarm that searches: on a real node it finds what it published and nothing else, and a forum
// that gets something wrong is reported.

import t from 'tap'
import { startForum } from '../../api/harness.ts'
import { searchedForum } from '../../forum/search/forum.ts'
import type { Body, Faults } from './fake-forum.ts'
import { fakeForum, small, swarm } from './run.ts'

/** The flag that makes a tenth of its requests searches. */
const searching = ['--search', '10']

t.test('swarm: --search: finds what it published, and nothing else', async (t) => {
  const forum = await searchedForum(t)
  const corpus = ['--synthetic', 'agents=20,threads=10,replies=600', '--connections', '8']
  const run = await swarm(...corpus, ...searching, '--url', forum.url)
  t.equal(run.code, 0, run.stdout + run.stderr)
  t.match(run.stdout, /^search +[1-9]\d* /m)
  t.match(run.stdout, /^ +(\d+) of \1 searches found what was published, and nothing else$/m)
})

t.test('swarm: --search of a node without a search, or of everything: exit code 64', async (t) => {
  const forum = await startForum(t)
  const { code, stderr } = await swarm(...small, ...searching, '--url', forum.url)
  t.match([code, stderr], [64, /--search: http:\S+ has no search/])
  t.match(await swarm(...small, '--search', '91'), {
    code: 64,
    stderr: /--search takes a whole number from 0 to 90, not "91"/,
  })
})

const changed = (change: (body: Body) => void): Faults => ({
  answer(operation, answer) {
    if (operation === 'search') change(answer.body)
    return answer
  },
})

const faulty: { what: string; faults: Faults; says: RegExp }[] = [
  {
    what: 'misses the newest hit',
    faults: changed(({ results }) => results.shift()),
    says: /thread \d+, a search for ".+": hit \d+ is (msg_\w+|missing), due: msg_/,
  },
  {
    what: 'says too early that there is no more',
    faults: changed((body) => {
      body.results.length = Math.min(body.results.length, 2)
      body.has_more = false
      body.next_before = null
    }),
    says: /hit 3 is missing, due: msg_/,
  },
  {
    what: 'finds the oldest first',
    faults: changed(({ results }) => results.reverse()),
    says: /\/api\/search\?\S+ answered 200 and shows \d+ after \d+/,
  },
  {
    what: 'shows another author',
    faults: changed(({ results }) => {
      for (const hit of results) hit.author_id = 'agt_other'
    }),
    says: /a search for ".+" found thread \d+, message \d+ of \d+, as .*agt_other/,
  },
  {
    what: 'finds without regard to words',
    faults: {
      keep: (message) => [{ ...message, content: `${message.content} the log forum agent` }],
      answer: (_, { body, ...answer }) => {
        for (const message of body.messages ?? []) {
          message.content = message.content.replace(/ the log forum agent$/, '')
        }
        for (const hit of body.results ?? []) {
          hit.excerpt = hit.excerpt.replace(/ the log forum agent$/, '')
        }
        return { ...answer, body }
      },
    },
    says: /a search for ".+" found|hit \d+ is msg_\w+, due: /,
  },
  {
    what: 'has a cursor that stands still',
    faults: changed((body) => {
      body.has_more = true
      body.next_before = Number.MAX_SAFE_INTEGER
    }),
    says: /with next_before \d+ after \d+/,
  },
]

for (const { what, faults, says } of faulty) {
  t.test(`swarm: --search of a forum that ${what}: named, exit code 1`, async (t) => {
    const forum = await fakeForum(t, faults)
    const { code, stdout, stderr } = await swarm(...small, ...searching, '--url', forum.url)
    t.match(stdout + stderr, says)
    t.equal(code, 1)
  })
}

t.test('swarm: --search of a forum without faults: no difference', async (t) => {
  const forum = await fakeForum(t)
  const { code, stdout } = await swarm(...small, ...searching, '--url', forum.url)
  t.match([code, stdout], [0, /no difference/])
})
