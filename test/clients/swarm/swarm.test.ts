// Goal:   the command as a whole: what it refuses, which failures it survives, and what it saves.

import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Body, FakeForum } from './fake-forum.ts'
import { fakeForum, small, swarm } from './run.ts'

const contentsOf = (forum: FakeForum): string[] =>
  [...forum.threads.values()].flatMap(({ messages }) => messages.map(({ content }) => content))

t.test('swarm: --help: flags on stdout: exit code 0', async (t) => {
  const { code, stdout } = await swarm('--help')
  t.match(stdout, '--synthetic SPEC')
  t.equal(code, 0)
})

const refused: [what: string, args: string[], says: RegExp][] = [
  ['nothing', [], /give either --corpus FILE or --synthetic SPEC/],
  ['both sources', ['--corpus', 'a', '--synthetic', 'b'], /give either/],
  ['an unknown flag', ['--speed', '9'], /unknown flag --speed; --help lists the flags\n$/],
  ['a misspelt flag', ['--conections', '9'], /did you mean --connections\?/],
  ['a flag without its value', ['--corpus'], /--corpus needs a value/],
  ['no connections', [...small, '--connections', '0'], /--connections takes a whole number/],
  [
    'a part of a connection',
    [...small, '--connections', '1.5'],
    /--connections takes .*, not "1.5"/,
  ],
  ['no patience in words', [...small, '--patience', 'none'], /--patience takes .*, not "none"/],
  [
    'a path in the URL',
    [...small, '--url', 'http://a/b'],
    /--url takes the origin of a node, like .*, not "http:\/\/a\/b"/,
  ],
  ['another protocol', [...small, '--url', 'ftp://a'], /--url takes .*, not "ftp:\/\/a"/],
  ['a skew for a corpus', ['--corpus', 'a', '--skew', '1'], /--skew and --sizes shape .*, not/],
  ['sizes for a corpus', ['--corpus', 'a', '--sizes', '9:1'], /--skew and --sizes shape .*, not/],
  ['save and verify', [...small, '--save', 'a', '--verify', 'b'], /give one of them/],
  ['a corpus that is not there', ['--corpus', '/no/corpus'], /\/no\/corpus: cannot be read/],
  ['a saved run that is not there', [...small, '--verify', '/no/run'], /\/no\/run: cannot be read/],
  ['a report that cannot be written', [...small, '--json', '/no/json'], /\/no\/json: cannot be wr/],
]

for (const [what, args, says] of refused) {
  t.test(`swarm: flags with ${what}: one line on stderr: exit code 64`, async (t) => {
    const { code, stdout, stderr } = await swarm(...args)
    t.match(stderr, says)
    t.match(stderr, /^swarm: .*\n$/)
    t.equal(stdout, '')
    t.equal(code, 64)
  })
}

t.test('swarm: nobody listens: one line, exit code 74', async (t) => {
  const forum = await fakeForum(t)
  await forum.stop()
  const { code, stderr } = await swarm(...small, '--url', forum.url)
  t.match(stderr, /\nswarm: no server at http:.*ECONNREFUSED.*\n$/)
  t.equal(code, 74)
})

t.test('swarm: every fifth answer is lost: all published once, retries counted', async (t) => {
  let answers = 0
  const forum = await fakeForum(t, {
    answer: (_, answer) => (++answers % 5 === 0 ? 'lost' : answer),
  })
  const { code, stdout } = await swarm(...small, '--url', forum.url, '--connections', '8')
  t.match(stdout, /retries {8}\d+: \d+ connections? lost, 0 timeouts, 0 answers 503, 0 answers 429/)
  t.match(stdout, /[1-9]\d* of them found the work done/)
  t.match(stdout, '44 of 44 messages identical, in order, each once')
  t.equal(contentsOf(forum).length, 44)
  t.equal(code, 0)
})

t.test('swarm: the server goes away in the middle and comes back: the run goes on', async (t) => {
  const forum = await fakeForum(t)
  forum.faults.answer = (operation, answer, nth) => {
    if (operation !== 'reply' || nth !== 20) return answer
    forum.stop().then(() => forum.start())
    return 'lost'
  }
  const { code, stdout } = await swarm(...small, '--url', forum.url)
  t.match(stdout, /[1-9]\d* connections? lost/)
  t.match(stdout, '44 of 44 messages identical, in order, each once')
  t.equal(code, 0)
})

t.test('swarm: the server goes away for good: the run ends: exit code 74', async (t) => {
  const forum = await fakeForum(t)
  forum.faults.answer = (operation, answer, nth) => {
    if (operation !== 'reply' || nth !== 20) return answer
    forum.stop()
    return 'lost'
  }
  const { code, stderr } = await swarm(...small, '--url', forum.url, '--patience', '1')
  t.match(stderr, /swarm: \w+ \/api\/\S+: gave up after \d+ tries: /)
  t.equal(code, 74)
})

t.test('swarm: a publication is refused with 409: the run ends: exit code 1', async (t) => {
  const conflict = { status: 409, body: { error: 'idempotency_conflict' } }
  const forum = await fakeForum(t, {
    refuse: (operation, nth) => (operation === 'reply' && nth === 3 ? conflict : null),
  })
  const { code, stderr } = await swarm(...small, '--url', forum.url)
  t.match(stderr, /replies with key swarm:\w+:\d+:\d+ answered 409 idempotency_conflict \(due: 201/)
  t.equal(code, 1)
})

t.test('swarm: a forum that creates another identity: the run ends: exit code 1', async (t) => {
  const forum = await fakeForum(t)
  forum.faults.answer = (operation, answer) => {
    if (operation === 'identity') answer.body.display_name = 'somebody'
    return answer
  }
  const { code, stderr } = await swarm(...small, '--url', forum.url)
  t.match(stderr, /POST \/api\/identities for persistent "agent-\d+" made a persistent "somebody"/)
  t.equal(code, 1)
})

t.test('swarm: a reply filed in another thread: the run ends: exit code 1', async (t) => {
  const forum = await fakeForum(t)
  forum.faults.answer = (operation, answer) => {
    if (operation === 'reply') answer.body.thread_id = 'thr_other'
    return answer
  }
  const { code, stderr } = await swarm(...small, '--url', forum.url)
  t.match(stderr, /message 2 was published in thr_other by agt_\w+, not in thr_\w+ by agt_/)
  t.equal(code, 1)
})

for (const connections of ['1', '3']) {
  t.test(`swarm: ${connections} connections: never more requests at a time`, async (t) => {
    const forum = await fakeForum(t)
    const { code } = await swarm(...small, '--url', forum.url, '--connections', connections)
    t.ok(forum.busiest >= 1 && forum.busiest <= Number(connections), `${forum.busiest}`)
    t.equal(code, 0)
  })
}

t.test('swarm: others in a thread: all have subscribed before the first reply', async (t) => {
  const order: string[] = []
  const forum = await fakeForum(t, {
    answer: (operation, answer) => {
      order.push(operation)
      return answer
    },
  })
  await swarm('--synthetic', 'agents=5,threads=1,replies=12', '--url', forum.url)
  t.ok(order.lastIndexOf('subscribe') < order.indexOf('reply'))
  t.equal(forum.seen.get('subscribe'), 4)
  t.ok(order.indexOf('feed') < order.lastIndexOf('reply'), 'feeds are polled while publishing')
})

t.test('swarm: --json: the complete report as an object', async (t) => {
  const forum = await fakeForum(t)
  const file = join(t.testdir(), 'report.json')
  await swarm(...small, '--url', forum.url, '--json', file)
  const report: Body = JSON.parse(readFileSync(file, 'utf8'))
  t.match(report, {
    url: forum.url,
    server: { name: 'fake', version: '0', durability: 'unknown' },
    connections: 64,
    identities: 6,
    threads: 4,
    messages: 44,
    verification: { messages: { compared: 44, exact: 44 }, differences: { count: 0, first: [] } },
  })
  const reply = report.operations.find(({ operation }: Body) => operation === 'reply')
  t.equal(reply.count, 40)
  t.ok(reply.p50 > 0 && reply.p50 <= reply.p99 && reply.p99 <= reply.p999 && reply.rate > 0)
})

t.test('swarm: --save, then --verify: publishes nothing, finds all identical', async (t) => {
  const forum = await fakeForum(t)
  const file = join(t.testdir(), 'run')
  writeFileSync(file, 'old')
  chmodSync(file, 0o644)
  const first = await swarm(...small, '--url', forum.url, '--save', file)
  t.match(first.stderr, `saved: ${file}, with the agents' tokens, readable by its owner only`)
  t.equal(statSync(file).mode & 0o777, 0o600)

  const again = await swarm(...small, '--verify', file, '--replay-all')
  t.match(again.stdout, '44 of 44 messages identical, in order, each once')
  t.match(again.stdout, '44 of 44 keys replayed their first answer')
  t.notMatch(again.stdout, 'while publishing')
  t.equal(again.code, 0)
  t.equal(contentsOf(forum).length, 44)
  t.equal(forum.seen.get('identity'), 6)
})

t.test('swarm: --verify after the server lost a message: found: exit code 1', async (t) => {
  const forum = await fakeForum(t)
  const file = join(t.testdir(), 'run')
  await swarm(...small, '--url', forum.url, '--save', file)
  for (const { messages } of forum.threads.values()) messages.pop()
  const { code, stdout } = await swarm(...small, '--verify', file)
  t.match(stdout, /thread 1, message \d+ of \d+ is missing, due: msg_\w+ by agent-/)
  t.equal(code, 1)
})

t.test('swarm: --verify with another corpus or another file: exit code 64', async (t) => {
  const forum = await fakeForum(t)
  const file = join(t.testdir(), 'run')
  await swarm(...small, '--url', forum.url, '--save', file)
  const other = await swarm('--synthetic', 'agents=6,threads=4,replies=41', '--verify', file)
  t.match(other.stderr, /is a run of another corpus \(synthetic agents=6,threads=4,replies=40,seed/)
  t.equal(other.code, 64)
  writeFileSync(file, '{}')
  const empty = await swarm(...small, '--verify', file)
  t.match(empty.stderr, /is not a run saved by --save/)
  t.equal(empty.code, 64)
})
