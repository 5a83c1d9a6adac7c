// Agents that use a node which dies at a crash point (crash-node.ts), and what they know: what was
// answered, what was shown, and what they do not know the outcome of.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { request } from 'undici'
import { until } from '../until.ts'
import type { CrashPoint } from './crash-disk.ts'

const program = join(import.meta.dirname, 'crash-node.js')
const repliesMax = 60

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
export class Scene {
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
    if (status === 503) return this.#finish(write)
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

  /** What differs between what the agents know and what the process says, until it dies. */
  async differences(): Promise<string[]> {
    const found: string[] = []
    try {
      await this.#compare(found)
    } catch (error) {
      if (!(error instanceof Dead)) throw error
    }
    return found
  }

  async #compare(found: string[]): Promise<void> {
    const newest = [...this.#answered.values()].slice(-10).reverse()
    for (const { write, answer } of newest) {
      const { status, text } = await this.#call('POST', write.path, write.by, write)
      const isSame = status === 200 && withoutReplayed(text) === answer
      if (!isSame) found.push(`${write.key}: ${status} ${text} after ${answer}`)
    }
    for (const write of [...this.#unknown]) await this.#finish(write)
    const before = new Map(this.#shown)
    const messages = this.thread === '' ? [] : await this.readThread()
    const ids = new Set(messages.map(({ id }) => id))
    for (const [id, json] of before) {
      if (this.#shown.get(id) !== json) found.push(`${id} was shown otherwise`)
      if (!ids.has(id)) found.push(`${id} is gone`)
    }
    const contents = new Set(messages.map(({ content }) => content))
    if (contents.size !== messages.length) found.push('a message is there twice')
    for (const { write } of this.#answered.values()) {
      const { content } = write.body as { content?: string }
      if (content !== undefined && !contents.has(content)) found.push(`${write.key} is gone`)
    }
  }

  /** Waits until every message by the other one was told of, and its delivery is recorded. */
  delivered(): Promise<object[]> {
    return until('every delivery to be recorded', async () => {
      const { text } = await this.#call('GET', '/api/notifications/deliveries?limit=100', this.ana)
      const { deliveries } = JSON.parse(text) as { deliveries: { state: string }[] }
      return deliveries.every(({ state }) => state === 'delivered') ? deliveries : null
    })
  }
}

function withoutReplayed(text: string): string {
  return text.replace(/"replayed":(?:true|false)/, '').replace(/"webhook":{.*?},/, '')
}
