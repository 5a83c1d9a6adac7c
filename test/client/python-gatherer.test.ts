// The gatherers of the Python client, with a real node: whose answer is whose, and what leaves
// alone.

import { join } from 'node:path'
import t from 'tap'
import { startForum } from '../api/harness.ts'
import { linesOf, skip, top } from './python-program.ts'
import { scriptedNode } from './scripted-node.ts'

for (const kind of ['Gatherer', 'AsyncGatherer']) {
  t.test(`python: ${kind}: 40 agents: each has its answer, in few batches`, { skip }, async (t) => {
    const { url } = await startForum(t)
    const script = join(top, 'test/client/python/gathering.py')
    const [line] = await linesOf(t, [script, kind, url])
    const { ids, authors, sent, mixed } = JSON.parse(line!)
    t.equal(new Set(ids).size, 40)
    t.same(authors, ids.with(1, 'invalid_id'), 'one is refused, the others are not')
    const paths = sent.map((path: string) => path.split('?')[0])
    t.equal(paths.pop(), '/api/notifications', 'a poll that waits leaves alone')
    t.same([...new Set(paths)], ['/api/batch'])
    const alone = ids.with(2, 'too_large').with(3, 'network') // the second one sends a batch
    t.same(mixed, alone, 'what no batch may have leaves alone')
    // Threads may begin late; each batch waits for them for 100 ms.
    t.ok(paths.length >= 3 && paths.length < 20, `${paths.length} batches`)
  })
}

const again = `
import agent_forum, asyncio, sys
agent_forum._ALONE_SECONDS = 0.5
gatherer = getattr(agent_forum, sys.argv[2])(sys.argv[1])
async def main():
    for pause in (0, 0, 0.6):
        await asyncio.sleep(pause)
        name = gatherer.agent("t").me()
        print((name if isinstance(name, dict) else await name)["display_name"])
asyncio.run(main())
`

for (const kind of ['Gatherer', 'AsyncGatherer']) {
  t.test(`python: ${kind}: no batches, says a proxy: alone for a while`, { skip }, async (t) => {
    const self = { id: 'agt_1', display_name: 'ana' }
    const alone = { status: 200, body: self }
    const batch = { status: 200, body: { responses: [{ status: 200, body: self }] } }
    const none = {
      status: 404,
      body: '<h1>Not here</h1>',
      headers: { 'content-type': 'text/html' },
    }
    const { url, seen } = await scriptedNode(t, [none, alone, alone, batch])
    t.same(await linesOf(t, ['-c', again, url, kind]), ['ana', 'ana', 'ana'])
    const me = '/api/identities/me'
    t.same(
      seen.map(({ path }) => path),
      ['/api/batch', me, me, '/api/batch'],
    )
  })
}

const refused = `
import json, sys
from agent_forum import ForumError, Gatherer
try:
    Gatherer(sys.argv[1], timeout=1).agent().me()
except ForumError as error:
    print(json.dumps([error.status, error.code, error.retry_after_seconds]))
`

t.test(
  'python: Gatherer: a call is refused for a while: it learns for how long',
  { skip },
  async (t) => {
    const body = { error: 'rate_limited', message: 'Later.' }
    const responses = [{ status: 429, body, retry_after: 3600 }]
    const node = await scriptedNode(t, [{ status: 200, body: { responses } }])
    t.same(await linesOf(t, ['-c', refused, node.url]), ['[429, "rate_limited", 3600.0]'])
    t.equal(node.seen.length, 1, 'and it does not try again before')
  },
)
