// Goal:   a process that is killed at any moment loses nothing that it acknowledged or showed,
//         duplicates nothing, keeps no incomplete write, and restarts without an operator.
// Method: agents publish, reply, follow, read and poll over HTTP. The server receives SIGKILL at a
//         random moment, several times, always on the same data directory. The agents keep a
//         history: what was answered, what was shown, and which writes have an unknown outcome.
//         After every start the whole history is compared with what the server answers, and unknown
//         writes are retried with their keys.
// Leaves out: loss of power, since the kernel still holds what a killed process wrote; test/wal
//             covers it.

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { request } from 'undici'
import { dataDirectory, Program } from '../api/process.ts'
import { chosenSeed, sizeOf, timeoutMs } from '../depth.ts'
import { seededRandom } from '../wal/simulated-inode.ts'
import { type Agent, History, type Write } from './history.ts'

const rounds = sizeOf('KILLS')
const agentCount = 12

/** The agents, whose memory is `history` and `shownInFeeds`. */
const agents: Agent[] = []
const history = new History(call)
const shownInFeeds = new Map<string, string>()

let url = ''
let server: Program
const draw = seededRandom(chosenSeed)
const random = (below: number) => Math.floor(draw() * below)

async function start(data: string): Promise<void> {
  server = new Program(['serve', '--port', '0', '--data', data])
  url = (await server.logged('started')).url!
}

async function call(method: 'GET' | 'POST', path: string, by: Agent | null, write?: Write) {
  const headers: Record<string, string> = {}
  if (by !== null) headers.authorization = `Bearer ${by.token}`
  if (write !== undefined) headers['idempotency-key'] = write.key
  let body: string | null = null
  if (method === 'POST') {
    headers['content-type'] = 'application/json'
    body = JSON.stringify(write?.body ?? {})
  }
  const answer = await request(url + path, { method, headers, body, reset: true })
  return { status: answer.statusCode, text: await answer.body.text() }
}

async function pollFeed(agent: Agent): Promise<void> {
  const path = `/api/notifications?limit=100&after=${random(2000)}`
  const { notifications } = JSON.parse((await call('GET', path, agent)).text)
  for (const item of notifications) {
    shownInFeeds.set(`${agent.id} ${item.message_id}`, JSON.stringify(item))
  }
}

let writes = 0
/** Has one agent act until the server is gone. */
async function act(agent: Agent): Promise<void> {
  for (;;) {
    const dice = random(10)
    const thread = history.threads[random(history.threads.length)]
    const content = `${agent.id} says ${writes} ${'é😀'.repeat(random(40))}`
    const key = `key-${chosenSeed}-${writes++}`
    try {
      if (dice === 0 || thread === undefined) {
        const body = { title: `T ${key}`, content }
        await history.write({ by: agent, path: '/api/threads', key, body })
      } else if (dice < 6) {
        const path = `/api/threads/${thread}/replies`
        await history.write({ by: agent, path, key, body: { content } })
      } else if (dice < 8) {
        await history.readThread(thread)
      } else {
        await pollFeed(agent)
      }
    } catch (error) {
      if (server.hasEnded || server.child.killed) return
      throw error
    }
  }
}

/** Returns the differences between the whole history and the answers of the server. */
async function differences(): Promise<string[]> {
  const found: string[] = []
  await history.compare(found, Number.POSITIVE_INFINITY)
  return found
}

t.setTimeout(timeoutMs)

t.test(`killed ${rounds} times under load: nothing acknowledged or shown is lost`, async (t) => {
  t.comment(`TEST_SEED=${chosenSeed}`)
  const data = dataDirectory(t)
  for (let round = 1; round <= rounds; round++) {
    await start(data)
    while (agents.length < agentCount) {
      agents.push(JSON.parse((await call('POST', '/api/identities', null)).text))
    }
    const { answered, shown } = history
    const known = `${answered.size} acknowledged, ${shown.size} shown`
    t.same(await differences(), [], `round ${round}: ${known}`)
    const acting = agents.map(act)
    await sleep(100 + random(400))
    await server.stop('SIGKILL')
    await Promise.all(acting)
  }

  await start(data)
  t.same(await differences(), [], `at the end: ${history.answered.size} acknowledged`)
  for (const [place, json] of shownInFeeds) {
    const [agent, message] = place.split(' ')
    const { seq } = JSON.parse(json) as { seq: number }
    const reader = agents.find(({ id }) => id === agent)!
    const path = `/api/notifications?limit=1&after=${seq - 1}`
    const { notifications } = JSON.parse((await call('GET', path, reader)).text)
    if (JSON.stringify(notifications[0]) !== json) t.fail(`${message} is not in the feed`)
  }
  t.pass(`${shownInFeeds.size} feed items are unchanged`)
  await server.stop('SIGKILL')
})
