// The Python client, clients/python/agent_forum.py: it is tested against /openapi.json as the other
// client is, and with a real node through lost answers, kills and a restore.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { signatureHeaders } from '../../src/forum/webhooks/send.ts'
import { startForum } from '../api/harness.ts'
import { run } from '../api/process.ts'
import { until } from '../until.ts'
import {
  answerOf,
  checkSent,
  type Described,
  operations,
  type Sent,
  sorted,
  strangers,
  withoutMethod,
} from './contract.ts'
import { CuttingProxy } from './cutting-proxy.ts'
import { head, linesOf, Python, skip, top } from './python-program.ts'
import { type Scripted, scriptedNode } from './scripted-node.ts'

interface Outcome {
  operation: string
  of: string
  answer?: unknown
  code?: string
}

/** Serves /own/OPERATION/ with that operation's answer, and /N/ with the answer of stranger N. */
async function startAnswering(t: Test, sent: Map<string, Sent[]>): Promise<string> {
  const byId = new Map(operations.map((each) => [each.operation.operationId, each]))
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const [, of, id, rest] = /^\/(\w+)\/(\w+)(\/.*)$/.exec(request.url!)!
    const [type, answer] = of === 'own' ? answerOf(byId.get(id!)!).sent : strangers[Number(of)]!
    if (of === 'own') {
      const seen: Sent = {
        method: request.method!.toLowerCase(),
        url: new URL(rest!, 'https://forum.test'),
        headers: new Headers(request.headers as Record<string, string>),
        body: body === '' ? null : JSON.parse(body),
      }
      sent.set(id!, [...(sent.get(id!) ?? []), seen])
    }
    const head = type === '' ? {} : { 'content-type': type }
    response.writeHead(answer === null ? 204 : 200, head).end(answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function checkOutcomes(t: Test, described: Described, outcomes: readonly Outcome[]): void {
  const { never, expected } = answerOf(described)
  for (const { of, answer, code } of outcomes) {
    if (of === 'own' && !never) t.same(answer, expected, 'as it came')
    else t.equal(code, 'network', `${of}: ${JSON.stringify(answer)}`)
  }
}

for (const kind of ['AgentForum', 'AsyncAgentForum']) {
  const name = `python: ${kind}: every operation: sends exactly its parts, takes only its answer`
  t.test(name, { skip }, async (t) => {
    const sent = new Map<string, Sent[]>()
    const url = await startAnswering(t, sent)
    const script = join(top, 'test/client/python/every_operation.py')
    const answers = ['own', ...strangers.keys()].map(String)
    const lines = await linesOf(t, [script, kind, url, ...answers])
    const outcomes = lines.slice(0, -1).map((line) => JSON.parse(line) as Outcome)
    for (const described of operations) {
      const { operationId: id } = described.operation
      if (withoutMethod.includes(id)) continue
      const own = outcomes.filter(({ operation }) => operation === id)
      t.ok(own.length >= answers.length, `${id}: there is a method`)
      checkOutcomes(t, described, own)
      checkSent(t, described, sent.get(id) ?? [])
    }
    const called = sorted(outcomes.map(({ operation }) => operation))
    const ids = operations.map(({ operation }) => operation.operationId)
    t.same(called, sorted(ids.filter((id) => !withoutMethod.includes(id))))
    // The methods of the other client, in snake_case. `feed` repeats a poll, and a page of search
    // is the `page` of what `search` returns.
    const { methods } = JSON.parse(lines.at(-1)!)
    const names = Object.getOwnPropertyNames(AgentForum.prototype)
    const others = ['constructor', 'feed', 'token', 'searchPage']
    const snakeCase = (name: string) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)
    t.same(methods, sorted(names.filter((name) => !others.includes(name)).map(snakeCase)))
  })
}

t.test('python: two agents talk: feeds, pages and errors', { skip }, async (t) => {
  const { url } = await startForum(t, ['--poll-after', '0'])
  const program = `${head}
ana, ben = AgentForum(url), AgentForum(url)
ana.register(display_name="ana", kind="persistent")
ben.register(display_name="ben")
made = ana.create_thread("Flaky test", "Who has seen E42? \\U0001f9f5", key="ana-0001")
again = ana.create_thread("Flaky test", "Who has seen E42? \\U0001f9f5", key="ana-0001")
print(made["replayed"], again["replayed"], again["message_id"] == made["message_id"])
for n in range(3):
    ben.reply(made["thread_id"], f"reply {n}")
messages = ana.messages(made["thread_id"], limit=2)
print(messages.page["thread"]["title"], len(messages.page["messages"]))
print([message["content"] for message in messages])
print([thread["title"] for thread in ben.threads(limit=1)])
feed = ana.feed(limit=2)
for count, item in enumerate(feed, 1):
    if count == 3:
        break
print(item["thread_id"] == made["thread_id"], feed.cursor == item["seq"], bool(feed.epoch))
print(ana.notifications(after=feed.cursor, wait=1)["notifications"])
for call in (
    lambda: ana.messages("../status").page,
    lambda: ana.create_thread("a", "c", key="ana-0001"),
    lambda: AgentForum(url).notifications(),
    lambda: AgentForum("http://127.0.0.1:9", retries=0).status(),
    lambda: ana.execute("gov_" + "0" * 32),
):
    try:
        print(call())
    except ForumError as error:
        print(error.status, error.code)
print("/api/notifications" in ana.guide("notifications"))
try:
    AgentForum("localhost:8787")
except ValueError as error:
    print(error)
`
  t.same(await linesOf(t, ['-c', program, url]), [
    'False True True',
    'Flaky test 2',
    "['Who has seen E42? 🧵', 'reply 0', 'reply 1', 'reply 2']",
    "['Flaky test']",
    'True True True',
    '[]',
    '400 invalid_id',
    '409 idempotency_conflict',
    '401 authentication_required',
    '0 network',
    '404 not_found',
    'True',
    'url takes an address like http://127.0.0.1:8787, not "localhost:8787"',
  ])
})

const published = { thread_id: 'thr_1', message_id: 'msg_1' }
const busy: Scripted = {
  status: 503,
  body: { error: 'overloaded' },
  headers: { 'retry-after': '0' },
}
const replyOnce = `${head}
try:
    forum = AgentForum(url, "aic_1", timeout=float(sys.argv[2]))
    print(forum.reply("thr_1", "b\\ud800")["message_id"])
except ForumError as error:
    print(error.status, error.code, error.retry_after_seconds)
`

t.test(
  'python: a publication: retried with its key and bytes, a refusal not',
  { skip },
  async (t) => {
    const cases: [script: Scripted[], requests: number, printed: string][] = [
      [[busy, { status: 500, body: 'x' }, { status: 201, body: published }], 3, 'msg_1'],
      [[{ status: 429, body: {}, headers: { 'retry-after': '90' } }], 1, '429 network 90.0'],
      [[{ status: 403, body: { error: 'thread_locked' } }], 1, '403 thread_locked None'],
      [
        [{ status: 302, body: '', headers: { location: 'http://127.0.0.1:9/' } }],
        1,
        '302 network None',
      ],
      [[{ status: 200, body: `${'['.repeat(100_000)}` }], 1, '200 network None'],
      [[{ status: 200, body: `"${'x'.repeat(17 * 2 ** 20)}"` }], 1, '200 network None'],
    ]
    for (const [script, requests, printed] of cases) {
      const node = await scriptedNode(t, script)
      t.same(await linesOf(t, ['-c', replyOnce, node.url, '60']), [printed])
      t.equal(node.seen.length, requests, printed)
      const keys = new Set(
        node.seen.map(({ headers, body }) => `${headers['idempotency-key']} ${body}`),
      )
      t.equal(keys.size, 1)
    }
    const silent = await scriptedNode(t, [{ status: 200, body: {}, isSilent: true }])
    t.same(await linesOf(t, ['-c', replyOnce, silent.url, '2']), ['0 timeout None'])
  },
)

const patience = `${head}
import agent_forum
class virtual:
    now = 0.0
def sleep(seconds):
    virtual.now += seconds
agent_forum.time.monotonic, agent_forum.time.sleep = lambda: virtual.now, sleep
try:
    AgentForum(url).status()
except ForumError as error:
    print(error.code, round(virtual.now, 3))
`

t.test('python: a node that stays away: tried for a minute', { skip }, async (t) => {
  t.same(await linesOf(t, ['-c', patience, 'http://127.0.0.1:1']), ['network 60.0'])
})

t.test('python: answers that are cut: published once, nothing is missed', { skip }, async (t) => {
  const forum = await startForum(t)
  const proxy = await CuttingProxy.start(t, forum.port)
  const ben = new AgentForum({ url: forum.url })
  await ben.register()
  const { thread_id: thread } = await ben.createThread({ title: 'a', content: 'b' })
  for (const bytesBefore of [0, 20, 900]) {
    Object.assign(proxy, { cuts: 2, bytesBefore })
    const [line] = await linesOf(t, [
      '-c',
      `${head}
forum = AgentForum(url)
forum.register()
print(forum.reply(sys.argv[2], "once")["message_id"])`,
      proxy.url,
      thread,
    ])
    t.match(line, /^msg_/)
    const { messages } = await ben.messages(thread)
    t.equal(messages.filter(({ id }) => id === line).length, 1)
    t.equal(proxy.cuts, 0)
  }
  t.equal((await ben.messages(thread)).messages.length, 4)
})

const follow = `${head}
forum = AgentForum(url, sys.argv[2])
feed = forum.feed(limit=7)
try:
    for item in feed:
        print(item["seq"])
except ForumError as error:
    print(error.code)
`

t.test(
  'python: its feed, while the node is killed and a backup restored: in order, then epoch_changed',
  { skip },
  async (t) => {
    const forum = await startForum(t, ['--poll-after', '0'])
    const proxy = await CuttingProxy.start(t, forum.port)
    const [ana, ben] = [1, 2].map(() => new AgentForum({ url: proxy.url }))
    await Promise.all([ana.register(), ben.register()])
    const { thread_id: thread } = await ana.createThread({ title: 'a', content: 'b' })
    await ben.subscribe(thread)
    const program = new Python(t, ['-c', follow, proxy.url, ben.token!])
    for (let n = 0; n < 30; n++) {
      if (n % 10 === 5) {
        await until('a line', () => program.lines.length > n - 5)
        proxy.cuts = 2
        await forum.stop('SIGKILL')
        await forum.start()
        proxy.target = forum.port
      }
      await ana.reply(thread, { content: `reply ${n}` })
    }
    const messages: string[] = []
    for await (const { seq } of ana.messages(thread)) messages.push(`${seq}`)
    await until('all messages', () => program.lines.length >= messages.length)
    t.same(program.lines, messages)

    const copy = `${forum.data}-copy`
    t.equal((await run(['backup', '--data', forum.data, '--to', copy])).code, 0)
    await forum.stop('SIGKILL')
    rmSync(forum.data, { recursive: true })
    spawnSync('mv', [copy, forum.data])
    await forum.start()
    proxy.target = forum.port
    t.equal(await program.ended, 0)
    t.same(program.lines.slice(messages.length), ['epoch_changed'])
    t.equal(program.error, '')
  },
)

const choose = `${head}
feed = AgentForum(url, "t").feed(type="result")
print([next(iter(feed))["seq"], next(iter(feed))["seq"], feed.cursor])
`

t.test('python: a feed by type: what was examined is not examined again', { skip }, async (t) => {
  const status = { status: 200, body: { epoch: 'e', capabilities: {} } }
  const page = (next_after: number, ...seqs: number[]) => {
    const notifications = seqs.map((seq) => ({ seq }))
    return { status: 200, body: { notifications, next_after, epoch: 'e', poll_after_seconds: 0 } }
  }
  const pages = [page(40), page(60, 50, 55), status, page(70), page(80, 75)]
  const { url, seen } = await scriptedNode(t, [status, ...pages])
  t.same(await linesOf(t, ['-c', choose, url]), ['[50, 75, 75]'])
  const polls = seen.filter(({ path }) => path.startsWith('/api/notifications'))
  t.same(
    polls.map(({ path }) => new URLSearchParams(path.split('?')[1]).get('after')),
    ['0', '40', '50', '70'],
    'iterated again, it goes on after the last item',
  )
})

const handle = `${head}
forum = AgentForum(url, sys.argv[2])
for count, item in enumerate(forum.feed(after="read", include="content", wait=1), 1):
    print(item["content"], flush=True)
    if count == int(sys.argv[3]):
        sys.exit()
`

t.test(
  'python: a feed from what is read: one that ends while it handles a message gets it again',
  { skip },
  async (t) => {
    const { url } = await startForum(t, ['--poll-after', '0'])
    const [ana, ben] = [1, 2].map(() => new AgentForum({ url }))
    await Promise.all([ana.register(), ben.register()])
    const { thread_id: thread } = await ana.createThread({ title: 'a', content: '0' })
    await ben.subscribe(thread)
    for (let n = 1; n < 6; n++) await ana.reply(thread, { content: `${n}` })
    const handled: string[][] = []
    for (const count of ['3', '2', '2']) {
      handled.push(await linesOf(t, ['-c', handle, url, ben.token!, count]))
    }
    t.same(handled, [
      ['0', '1', '2'],
      ['2', '3'],
      ['3', '4'],
    ])
    t.match(await ben.readPlace(), { unread: 2 })
    const read = 'forum = AgentForum(url, sys.argv[2])\n'
    const mark = `${head}${read}print(forum.mark_read(int(sys.argv[3]))["unread"])
print(forum.read_place()["through"] == int(sys.argv[3]))`
    const { seq } = (await ana.messages(thread)).messages.at(-1)!
    t.same(await linesOf(t, ['-c', mark, url, ben.token!, `${seq}`]), ['0', 'True'])
    const pages = `${head}${read}found = forum.messages(sys.argv[3], before="end", limit=2)
print([message["content"] for message in found])`
    t.same(await linesOf(t, ['-c', pages, url, ben.token!, thread]), [
      "['4', '5', '2', '3', '0', '1']",
    ])
  },
)

t.test('python: verify_webhook: what the service signs, and nothing else', { skip }, async (t) => {
  const secret = `whsec_${'0123456789abcdef'.repeat(4)}`
  const event = { type: 'webhook.challenge', event_id: 'evt_1', challenge: 'ä' }
  const body = JSON.stringify(event)
  const now = Math.floor(Date.now() / 1000)
  const signed = (at: number) => {
    return signatureHeaders({ endpoint: 'https://a.test/', secret, eventId: 'evt_1', body }, at)
  }
  const both = signed(now)
  const only = (start: string) =>
    Object.fromEntries(Object.entries(both).filter(([name]) => name.startsWith(start)))
  const upper = Object.fromEntries(Object.entries(both).map(([name, v]) => [name.toUpperCase(), v]))
  const rotated = { ...both, 'webhook-signature': `v1,AAAA ${both['webhook-signature']}` }
  const right = [both, only('webhook-'), only('x-ai-commons-'), upper, rotated]
  const wrong = ['webhook-', 'x-ai-commons-'].flatMap((style) => {
    const headers = only(style)
    return Object.keys(headers).flatMap((name) => [
      { headers: { ...headers, [name]: '' } },
      { headers: { ...headers, [name]: `${headers[name]}0` } },
      { headers: { ...headers, [name]: `${headers[name]}é` } },
    ])
  })
  const requests = [
    ...right.map((headers) => ({ headers, body, secret })),
    ...wrong.map(({ headers }) => ({ headers, body, secret })),
    { headers: {}, body, secret },
    { headers: both, body: `${body} `, secret },
    { headers: both, body, secret: secret.replace('0', '1') },
    { headers: both, body, secret: 'whsec_' },
    { headers: signed(now - 400), body, secret },
    { headers: signed(now + 400), body, secret },
  ]
  const program = `${head}
for request in json.loads(url):
    try:
        print(json.dumps(verify_webhook(**{**request, "body": request["body"].encode()})))
    except ForumError as error:
        print(error.code)
`
  const lines = await linesOf(t, ['-c', program, JSON.stringify(requests)])
  t.equal(lines.length, requests.length)
  for (const line of lines.slice(0, right.length)) t.same(JSON.parse(line), event)
  t.same(new Set(lines.slice(right.length)), new Set(['invalid_signature']))
})
