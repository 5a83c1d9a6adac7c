// The connections of the Python client, and its class for asyncio: how many it opens, what becomes
// of one that is closed under it, the environment's proxies, and feeds that are read together.

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import t, { type Test } from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { startForum } from '../api/harness.ts'
import { CuttingProxy } from './cutting-proxy.ts'
import { head, linesOf, skip } from './python-program.ts'

const kinds = ['AgentForum', 'AsyncAgentForum']
/** Defines `call(forum, method, …)` and `use(kind, body)`, which hide what differs. */
const both = `${head}
import asyncio, inspect, os, time
from agent_forum import AsyncAgentForum
kind = sys.argv[2]
async def call(answer):
    return (await answer) if inspect.isawaitable(answer) else answer
def make(**options):
    return (AsyncAgentForum if kind == "AsyncAgentForum" else AgentForum)(url, "aic_1", **options)
async def close(forum):
    if kind == "AsyncAgentForum": await forum.aclose()
    else: forum.close()
`

const place = { through: 1, unread: 0, has_more_unread: false }

/** Serves HTTP, and counts the connections. */
async function counting(t: Test, listener: RequestListener) {
  const server = createServer(listener)
  const counted = { url: '', connections: 0, requests: 0, server }
  server.on('connection', () => counted.connections++)
  server.on('request', () => counted.requests++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  counted.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return counted
}

for (const kind of kinds) {
  t.test(`python: ${kind}: calls one after the other: over one connection`, { skip }, async (t) => {
    let count = 0
    const node = await counting(t, (request, response) => {
      request.resume()
      request.on('end', () => {
        const json = JSON.stringify(place)
        response.setHeader('content-type', 'application/json')
        // A proxy may send an answer in chunks.
        if (count++ % 2 === 0) response.setHeader('content-length', json.length)
        response.write(json.slice(0, 5))
        setImmediate(() => response.end(json.slice(5)))
      })
    })
    const program = `${both}
async def main():
    forum = make()
    for n in range(20):
        await call(forum.mark_read(n))
    await close(forum)
    print((await call(forum.read_place()))["through"])
    await close(forum)
asyncio.run(main())
`
    t.same(await linesOf(t, ['-W', 'error', '-c', program, node.url, kind]), ['1'])
    t.same([node.requests, node.connections], [21, 2], 'one, and one after it was closed')
  })

  t.test(
    `python: ${kind}: a kept connection that was closed: opens another`,
    { skip },
    async (t) => {
      // Answers the first request of a connection. Then it closes the connection: at once, or when
      // it has got the next request.
      for (const closesAt of ['once', 'the next request']) {
        let requests = 0
        const server = createNetServer((socket) => {
          let count = 0
          socket.on('error', () => {})
          socket.on('data', () => {
            requests++
            if (count++ > 0) return void socket.destroy()
            const json = JSON.stringify(place)
            const fields = `content-type: application/json\r\ncontent-length: ${json.length}`
            socket.write(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\n${json}`)
            if (closesAt === 'once') socket.end()
          })
        })
        server.listen(0, '127.0.0.1')
        await once(server, 'listening')
        t.teardown(() => server.close())
        const program = `${both}
async def main():
    forum = make(retries=0)
    for n in range(3):
        print((await call(forum.read_place()))["through"])
        await asyncio.sleep(0.05)
    await close(forum)
asyncio.run(main())
`
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        t.same(await linesOf(t, ['-c', program, url, kind]), ['1', '1', '1'], closesAt)
        t.equal(requests, closesAt === 'once' ? 3 : 5, closesAt)
      }
    },
  )

  t.test(`python: ${kind}: a new token: its request is never sent twice`, { skip }, async (t) => {
    const node = await counting(t, (request, response) => {
      request.resume()
      if (request.method === 'POST') return void request.socket.destroy()
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(place))
    })
    const program = `${both}
async def main():
    forum = make()
    await call(forum.read_place())
    try:
        await call(forum.rotate_token())
    except ForumError as error:
        print(error.code)
    await close(forum)
asyncio.run(main())
`
    t.same(await linesOf(t, ['-c', program, node.url, kind]), ['network'])
    t.equal(node.requests, 2)
  })
}

t.test('python: proxies of the environment: used, except for no_proxy', { skip }, async (t) => {
  const seen: string[] = []
  const proxy = await counting(t, (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['proxy-authorization']}`)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(place))
  })
  proxy.server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url} ${request.headers['proxy-authorization']}`)
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  const program = `${head}
import os
address = url.replace("//", "//ana:a%40b@")
os.environ.update(http_proxy=address, https_proxy=address, no_proxy="direct.test")
for origin in ("http://forum.test/base", "https://forum.test", "http://direct.test:9"):
    try:
        print(AgentForum(origin, retries=0).read_place()["through"])
    except ForumError as error:
        print(error.code)
`
  t.same(await linesOf(t, ['-c', program, proxy.url]), ['1', 'network', 'network'])
  const basic = `Basic ${Buffer.from('ana:a@b').toString('base64')}`
  t.same(seen, [
    `GET http://forum.test/base/api/notifications/read ${basic}`,
    `CONNECT forum.test:443 ${basic}`,
  ])
})

t.test(
  'python: a forked process: does not use the connections of its parent',
  { skip },
  async (t) => {
    const node = await counting(t, (_, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(place))
    })
    const program = `${head}
import os
forum = AgentForum(url)
forum.read_place()
if os.fork() == 0:
    forum.read_place()
    os._exit(0)
os.wait()
print(forum.read_place()["through"])
`
    t.same(await linesOf(t, ['-c', program, node.url]), ['1'])
    t.same([node.requests, node.connections], [3, 2])
  },
)

t.test(
  'python: 50 feeds in one event loop: each gets everything, also when cut',
  { skip },
  async (t) => {
    const forum = await startForum(t, ['--poll-after', '0'])
    const proxy = await CuttingProxy.start(t, forum.port)
    const ana = new AgentForum({ url: forum.url })
    await ana.register()
    const { thread_id: thread } = await ana.createThread({ title: 'a', content: '0' })
    const program = `${both}
async def follow(n):
    async with AsyncAgentForum(url) as forum:
        await forum.register(display_name=f"agent {n}")
        await forum.subscribe(sys.argv[3])
        await forum.reply(sys.argv[3], f"{n}", key=f"reply-{n:04}")
        seen = []
        async for item in forum.feed(after="read", include="content"):
            seen.append(item["content"])
            if len(seen) == 49:
                break
        return sorted(seen) == sorted(str(k) for k in range(50) if k != n)
async def main():
    print(sum(await asyncio.gather(*(follow(n) for n in range(1, 50)))))
    forum = AsyncAgentForum(url)
    await forum.register()
    call = asyncio.create_task(forum.notifications(wait=20))
    await asyncio.sleep(0.2)
    call.cancel()
    try:
        await call
    except asyncio.CancelledError:
        print("cancelled")
    print([message["content"] async for message in forum.messages(sys.argv[3], limit=1)][:1])
    await forum.aclose()
asyncio.run(main())
`
    Object.assign(proxy, { cuts: 20, bytesBefore: 30 })
    t.same(await linesOf(t, ['-c', program, proxy.url, 'AsyncAgentForum', thread]), [
      '49',
      'cancelled',
      "['0']",
    ])
  },
)
