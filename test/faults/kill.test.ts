// Goal:   a process killed at any moment loses nothing that it acknowledged or showed, doubles
//         nothing, and half-keeps nothing; restarting needs no operator.
// Method: agents publish, reply, follow, read and poll over HTTP; the server gets SIGKILL at a
//         random moment, several times, always on the same data directory. The agents keep a
//         history: what was answered, what was shown, what they do not know the outcome of. After
//         every start the whole history is compared with what the server says, and the unknown is
//         tried again with its key.
// Leaves out: loss of power. The kernel still holds what a killed process wrote; test/wal has that.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { request } from 'undici'
import { chosenSeed, sizeOf, timeoutMs } from '../depth.ts'

const rounds = sizeOf('KILLS')
const agentCount = 12
const main = join(import.meta.dirname, '../../src/cli/main.js')

interface Agent {
  id: string
  token: string
}
interface Write {
  agent: Agent
  path: string
  key: string
  body: { title?: string; content: string }
}
interface Published {
  thread_id: string
  message_id: string
}
interface Message {
  seq: number
  id: string
  author_id: string
  content: string
}

/** What the agents know. */
const agents: Agent[] = []
const threads: string[] = []
const answered = new Map<string, { write: Write; published: Published }>()
const unknown = new Map<string, Write>()
/** Everything a read has shown, as it was shown, by message id. */
const shown = new Map<string, string>()
const shownInFeeds = new Map<string, string>()

let url = ''
let server: ChildProcess
let state = chosenSeed
function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * below)
}

async function start(data: string): Promise<void> {
  const args = [main, 'serve', '--port', '0', '--data', data]
  server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: server.stdout! })) {
    const entry = JSON.parse(line) as { msg: string; url: string }
    if (entry.msg !== 'started') continue
    url = entry.url
    server.stdout!.resume()
    return
  }
  throw new Error('the server ended before it started')
}

async function kill(): Promise<void> {
  const ended = once(server, 'exit')
  server.kill('SIGKILL')
  await ended
}

async function call<T>(
  method: 'GET' | 'POST',
  path: string,
  { token }: Partial<Agent>,
  write?: Write,
): Promise<{ status: number; body: T }> {
  const headers: Record<string, string> = {}
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  if (write !== undefined) headers['idempotency-key'] = write.key
  let body: string | null = null
  if (write !== undefined || path === '/api/identities') {
    headers['content-type'] = 'application/json'
    body = JSON.stringify(write?.body ?? {})
  }
  const answer = await request(url + path, { method, headers, body, reset: true })
  return { status: answer.statusCode, body: (await answer.body.json()) as T }
}

async function publish(write: Write): Promise<Published> {
  unknown.set(write.key, write)
  const { status, body } = await call<Published>('POST', write.path, write.agent, write)
  if (status !== 200 && status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`)
  unknown.delete(write.key)
  answered.set(write.key, { write, published: body })
  if (write.path === '/api/threads') threads.push(body.thread_id)
  return body
}

async function readThread(thread: string): Promise<Message[]> {
  const messages: Message[] = []
  for (let after = 0; ; ) {
    const path = `/api/threads/${thread}?limit=100&after=${after}`
    const { body } = await call<{ messages: Message[]; next_after: number; has_more: boolean }>(
      'GET',
      path,
      {},
    )
    messages.push(...body.messages)
    for (const message of body.messages) shown.set(message.id, JSON.stringify(message))
    if (!body.has_more) return messages
    after = body.next_after
  }
}

async function pollFeed(agent: Agent): Promise<void> {
  const path = `/api/notifications?limit=100&after=${random(2000)}`
  const { body } = await call<{ notifications: { message_id: string }[] }>('GET', path, agent)
  for (const item of body.notifications) {
    shownInFeeds.set(`${agent.id} ${item.message_id}`, JSON.stringify(item))
  }
}

let writes = 0
/** One agent acts until the server is gone. */
async function act(agent: Agent): Promise<void> {
  for (;;) {
    const dice = random(10)
    const thread = threads[random(threads.length)]
    const content = `${agent.id} says ${writes} ${'é😀'.repeat(random(40))}`
    const key = `key-${chosenSeed}-${writes++}`
    try {
      if (dice === 0 || thread === undefined) {
        await publish({ agent, path: '/api/threads', key, body: { title: `T ${key}`, content } })
      } else if (dice < 6) {
        await publish({ agent, path: `/api/threads/${thread}/replies`, key, body: { content } })
      } else if (dice < 8) {
        await readThread(thread)
      } else {
        await pollFeed(agent)
      }
    } catch (error) {
      if (server.exitCode !== null || server.killed) return
      throw error
    }
  }
}

/** Compares the whole history with what the server says; returns the differences. */
async function compare(): Promise<string[]> {
  const differences: string[] = []
  const shownBefore = new Map(shown)
  const found = new Map<string, { thread: string; message: Message }>()
  for (const thread of threads) {
    let seq = 0
    for (const message of await readThread(thread)) {
      if (message.seq <= seq) differences.push(`seq ${message.seq} after ${seq} in ${thread}`)
      if (found.has(message.id)) differences.push(`${message.id} is there twice`)
      seq = message.seq
      found.set(message.id, { thread, message })
    }
  }
  for (const [key, { write, published }] of answered) {
    const there = found.get(published.message_id)
    if (there === undefined) differences.push(`${key} was acknowledged and is gone`)
    else if (there.thread !== published.thread_id) differences.push(`${key} is in another thread`)
    else if (there.message.content !== write.body.content)
      differences.push(`${key} reads otherwise`)
    else if (there.message.author_id !== write.agent.id) differences.push(`${key} has other author`)
  }
  for (const [id, json] of shownBefore) {
    if (shown.get(id) !== json || !found.has(id)) differences.push(`${id} was shown and is not so`)
  }
  const contents = [...found.values()].map(({ message }) => message.content)
  const doubled = contents.length - new Set(contents).size
  if (doubled > 0) differences.push(`${doubled} messages are there twice`)
  return differences
}

t.setTimeout(timeoutMs)

t.test(`killed ${rounds} times under load: nothing acknowledged or shown is lost`, async (t) => {
  t.comment(`TEST_SEED=${chosenSeed}`)
  const data = join(t.testdir(), 'data')
  for (let round = 1; round <= rounds; round++) {
    await start(data)
    while (agents.length < agentCount) {
      const { body } = await call<Agent>('POST', '/api/identities', {})
      agents.push(body)
    }
    const differences = await compare()
    for (const write of [...unknown.values()]) {
      const { message_id } = await publish(write)
      const replay = await call<Published & { replayed: boolean }>(
        'POST',
        write.path,
        write.agent,
        write,
      )
      if (replay.status !== 200 || replay.body.message_id !== message_id) {
        differences.push(`${write.key} is not replayed`)
      }
    }
    differences.push(...(await compare()))
    t.same(differences, [], `round ${round}: ${answered.size} acknowledged, ${shown.size} shown`)
    const acting = agents.map(act)
    await sleep(100 + random(400))
    await kill()
    await Promise.all(acting)
  }

  await start(data)
  t.same(await compare(), [], `at the end: ${answered.size} acknowledged`)
  for (const [place, json] of shownInFeeds) {
    const [agent, message] = place.split(' ')
    const { seq } = JSON.parse(json) as { seq: number }
    const { token } = agents.find(({ id }) => id === agent)!
    const path = `/api/notifications?limit=1&after=${seq - 1}`
    const { body } = await call<{ notifications: object[] }>('GET', path, { token })
    if (JSON.stringify(body.notifications[0]) !== json) t.fail(`${message} is not in the feed`)
  }
  t.pass(`${shownInFeeds.size} feed items are as they were`)
  for (const [key, { write, published }] of answered) {
    const { status, body } = await call<Published>('POST', write.path, write.agent, write)
    if (status !== 200 || body.message_id !== published.message_id) t.fail(`${key} is not replayed`)
  }
  t.pass(`${answered.size} keys replayed their first answer`)
  await kill()
})
