// Goal:   a node that is killed before or after any durable step loses nothing that it acknowledged
//         or showed, keeps nothing half, and starts again by itself.
// Method: a real process per crash point, one after the other on one data directory. Agents work
//         until it is dead; they remember what was answered, what was shown, and what they do not
//         know the outcome of. The next start is compared with that, and the unknown is tried again
//         with its key. At the end a dry run tells all kinds of steps: each must have a point here.
// Leaves out: loss of power, which no process can do to itself; test/simulate has that.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { request } from 'undici'
import type { CrashPoint } from './crash-disk.ts'

const program = join(import.meta.dirname, 'crash-node.js')
const repliesMax = 60

/** Kinds of steps, and which of that kind is not survived. */
const kinds: Record<string, number> = {
  'create lock': 1,
  'write lock': 1,
  'link lock': 1,
  'rename lock': 1,
  'remove lock': 1,
  'truncate segment': 1,
  'rename segment': 1,
  'create spare': 1,
  'write spare': 2,
  'rename spare': 1,
  'sync spare': 1,
  'remove spare': 1,
  'sync directory': 2,
  'write segment': 4,
  'sync segment': 3,
  'create pages': 1,
  'write pages': 2,
  'sync pages': 1,
  'rename pages': 1,
  'create manifest': 1,
  'write manifest': 1,
  'sync manifest': 1,
  'rename manifest': 1,
  'remove manifest': 1,
  'remove pages': 1,
  'remove segment': 1,
  'send wakeup': 2,
}

/** Further steps that are worth a point: in the life of a log, not at its start. */
const further: CrashPoint[] = [
  { when: 'after', kind: 'rename spare', nth: 3 },
  { when: 'before', kind: 'sync directory', nth: 5 },
  { when: 'after', kind: 'write segment', nth: 20 },
  { when: 'before', kind: 'sync segment', nth: 20 },
]

/** Leaves a file behind that the next start removes. */
const halfMade: CrashPoint = { when: 'before', kind: 'sync spare', nth: 1 }

const points: CrashPoint[] = [
  ...Object.entries(kinds).flatMap(([kind, nth]) => {
    const before: CrashPoint = { when: 'before', kind, nth }
    const after: CrashPoint = { when: 'after', kind, nth }
    if (kind === 'remove spare') return [halfMade, before, halfMade, after]
    // Between a creation and the write after it nothing is decided.
    return kind.startsWith('create') ? [] : [before, after]
  }),
  ...further,
]

interface Agent {
  id: string
  token: string
}
interface Write {
  by: Agent
  path: string
  key: string
  body: object
}
interface Message {
  id: string
  seq: number
  content: string
}
interface Wakeup {
  eventId: string
  after: number
  through: number
}

class Dead extends Error {}

/** The agents, what they know, and the process they talk to. */
class Scene {
  readonly #data: string
  #process: ChildProcess | null = null
  #url = ''
  steps: Record<string, number> = {}
  readonly wakeups: Wakeup[] = []
  ana: Agent | null = null
  bob: Agent | null = null
  thread = ''
  hasWebhook = false
  readonly #unknown: Write[] = []
  /** Answers by key, and messages by id, as they were. */
  readonly #answered = new Map<string, { write: Write; answer: string }>()
  readonly #shown = new Map<string, string>()
  #keys = 0

  constructor(data: string) {
    this.#data = data
  }

  /** Starts the process; false when it died before it served. */
  async start(point: CrashPoint | null): Promise<boolean> {
    const args = ['--enable-source-maps', program, this.#data, JSON.stringify(point)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#process = child
    const lines = createInterface({ input: child.stdout })
    const served = new Promise<boolean>((resolve) => {
      lines.on('line', (line) => {
        const { url, wakeup, steps } = JSON.parse(line)
        if (wakeup !== undefined) this.wakeups.push(wakeup)
        if (steps !== undefined) this.steps = steps
        if (url === undefined) return
        this.#url = url
        resolve(true)
      })
      lines.on('close', () => resolve(false))
    })
    return served
  }

  /** Whether the process dies at its crash point, after this signal; else it is killed. */
  async diesAlone(signal: 'SIGTERM' | null): Promise<boolean> {
    const child = this.#process!
    if (this.#isDead) return true
    if (signal !== null) child.kill(signal)
    else if (await this.#answers()) {
      child.kill('SIGKILL')
      await once(child, 'close')
      return false
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
    return child.signalCode === 'SIGKILL'
  }

  get #isDead(): boolean {
    return this.#process!.signalCode === 'SIGKILL'
  }

  async #answers(): Promise<boolean> {
    return this.#call('GET', '/api/status', null).then(
      () => true,
      () => false,
    )
  }

  async stop(): Promise<void> {
    const child = this.#process!
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  }

  kill(): void {
    this.#process?.kill('SIGKILL')
  }

  async #call(method: 'GET' | 'POST', path: string, by: Agent | null, write?: Write) {
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (by !== null) headers.authorization = `Bearer ${by.token}`
    if (write !== undefined) headers['idempotency-key'] = write.key
    const body = method === 'GET' ? null : JSON.stringify(write?.body ?? {})
    try {
      const answer = await request(this.#url + path, { method, headers, body, reset: true })
      return { status: answer.statusCode, text: await answer.body.text() }
    } catch {
      throw new Dead()
    }
  }

  async #write(by: Agent, path: string, body: object): Promise<string> {
    this.#keys += 1
    const write = { by, path, body, key: `crash-key-${this.#keys}` }
    this.#unknown.push(write)
    return this.#finish(write)
  }

  /** Asks until it is answered, and remembers the answer. */
  async #finish(write: Write): Promise<string> {
    const { status, text } = await this.#call('POST', write.path, write.by, write)
    if (status !== 201 && status !== 200) throw new Error(`${status} ${text}`)
    this.#unknown.splice(this.#unknown.indexOf(write), 1)
    this.#answered.set(write.key, { write, answer: withoutReplayed(text) })
    return text
  }

  /** Everybody acts, as long as the process lives. */
  async act(): Promise<void> {
    try {
      this.ana ??= JSON.parse((await this.#call('POST', '/api/identities', null)).text)
      this.bob ??= JSON.parse((await this.#call('POST', '/api/identities', null)).text)
      const ana = this.ana!
      if (this.thread === '') {
        const body = { title: 'Crashes', content: 'Who is there?' }
        this.thread = JSON.parse(await this.#write(ana, '/api/threads', body)).thread_id
      }
      if (!this.hasWebhook) await this.#registerWebhook(ana)
      for (let n = 0; n < repliesMax; n++) {
        const content = `reply ${this.#keys} ${'é'.repeat(250)}`
        await this.#write(this.bob!, `/api/threads/${this.thread}/replies`, { content })
        if (n % 5 === 0) await this.readThread()
        if (n % 20 === 10) this.#process!.kill('SIGUSR2')
      }
    } catch (error) {
      if (!(error instanceof Dead)) throw error
    }
  }

  async #registerWebhook(by: Agent): Promise<void> {
    const path = '/api/notifications/webhook'
    await this.#write(by, path, { url: 'https://hook.example.com/' })
    const { text } = await this.#call('POST', `${path}/verify`, by)
    this.hasWebhook = JSON.parse(text).verified === true
  }

  async readThread(): Promise<Message[]> {
    const all: Message[] = []
    for (let after = 0; ; ) {
      const path = `/api/threads/${this.thread}?limit=100&after=${after}`
      const { status, text } = await this.#call('GET', path, null)
      if (status !== 200) throw new Error(`${status} ${text}`)
      const { messages, next_after, has_more } = JSON.parse(text)
      for (const message of messages) this.#shown.set(message.id, JSON.stringify(message))
      all.push(...messages)
      if (!has_more) return all
      after = next_after
    }
  }

  /** What differs between what the agents know and what the process says. */
  async differences(): Promise<string[]> {
    const found: string[] = []
    const before = new Map(this.#shown)
    for (const write of [...this.#unknown]) await this.#finish(write)
    const messages = this.thread === '' ? [] : await this.readThread()
    for (const [id, json] of before) {
      if (this.#shown.get(id) !== json) found.push(`${id} was shown otherwise`)
      if (!messages.some((message) => message.id === id)) found.push(`${id} is gone`)
    }
    const contents = new Set(messages.map(({ content }) => content))
    if (contents.size !== messages.length) found.push('a message is there twice')
    const newest = [...this.#answered.values()].slice(-20)
    for (const { write, answer } of newest) {
      const { status, text } = await this.#call('POST', write.path, write.by, write)
      const isSame = status === 200 && withoutReplayed(text) === answer
      const { content } = write.body as { content?: string }
      if (!isSame) found.push(`${write.key}: ${status} ${text} after ${answer}`)
      if (content !== undefined && !contents.has(content)) found.push(`${write.key} is gone`)
    }
    return found
  }

  /** Waits until every message by the other one was told of, and its delivery is recorded. */
  async delivered(): Promise<object[]> {
    for (;;) {
      const { text } = await this.#call('GET', '/api/notifications/deliveries?limit=100', this.ana)
      const { deliveries } = JSON.parse(text) as { deliveries: { state: string }[] }
      if (deliveries.every(({ state }) => state === 'delivered')) return deliveries
    }
  }
}

function withoutReplayed(text: string): string {
  return text.replace(/"replayed":(?:true|false)/, '').replace(/"webhook":{.*?},/, '')
}

t.setTimeout(240_000)

t.test('a node: killed at each crash point: nothing that it said is lost', async (t) => {
  const scene = new Scene(join(t.testdir(), 'data'))
  t.teardown(() => scene.kill())
  for (const point of points) {
    const name = `${point.when} ${point.kind} ${point.nth}`
    let isReached = false
    // Some steps come only at a start after a kill.
    for (let tries = 0; tries < 3 && !isReached; tries++) {
      if (await scene.start(point)) {
        t.same(await scene.differences().catch(deadIsFine), [], `${name}: as it was before`)
        await scene.act()
      }
      isReached = await scene.diesAlone(point.kind === 'remove lock' ? 'SIGTERM' : null)
    }
    t.ok(isReached, `${name}: it was killed there`)
  }
  t.ok(await scene.start(null), 'it starts again')
  t.same(await scene.differences(), [], 'in the end all is there')
  await scene.act()
  const deliveries = await scene.delivered()
  t.ok(deliveries.length > 0, `${deliveries.length} deliveries, ${scene.wakeups.length} wakeups`)
  const ids = new Set(scene.wakeups.map(({ eventId }) => eventId))
  const ranges = new Set(scene.wakeups.map(({ after, through }) => `${after}-${through}`))
  t.equal(ids.size, ranges.size, 'what was sent again has the same id')
  t.ok(scene.wakeups.length > ids.size, 'something was sent again')
  await scene.stop()
  const missing = Object.keys(scene.steps).filter((kind) => kinds[kind] === undefined)
  t.same(missing, [], 'each kind of step has its points')
})

function deadIsFine(error: unknown): never[] {
  if (error instanceof Dead) return []
  throw error
}
