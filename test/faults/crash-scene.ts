// Agents that use a node which dies at a crash point (crash-node.ts), and their memory: what was
// answered, what was shown, and which writes have an unknown outcome.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { request } from 'undici'
import { until } from '../until.ts'
import type { CrashPoint } from './crash-disk.ts'
import { type Agent, History, type Write } from './history.ts'

const program = join(import.meta.dirname, 'crash-node.js')
const repliesMax = 60

interface Wakeup {
  eventId: string
  after: number
  through: number
}

class Dead extends Error {}

/** The agents, their memory, and the process that they talk to. */
export class Scene {
  readonly #data: string
  #process: ChildProcess | null = null
  #url = ''
  steps: Record<string, number> = {}
  readonly wakeups: Wakeup[] = []
  ana: Agent | null = null
  bob: Agent | null = null
  #isRegistered = false
  hasWebhook = false
  readonly #history = new History((...request) => this.#call(...request))
  #keys = 0

  constructor(data: string) {
    this.#data = data
  }

  /** Starts the process. Returns false if it died before it served. */
  async start(point: CrashPoint | null): Promise<boolean> {
    const args = ['--enable-source-maps', program, this.#data, JSON.stringify(point)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#process = child
    this.#url = '' // another process may have taken the port
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

  /**
   * Returns whether the process dies at its crash point, after `signal` if one is given. Otherwise
   * kills it.
   */
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

  #write(by: Agent, path: string, body: object) {
    this.#keys += 1
    return this.#history.write({ by, path, body, key: `crash-key-${this.#keys}` })
  }

  /** Has all agents act until they are done or the process is dead. */
  async act(): Promise<void> {
    try {
      this.ana ??= JSON.parse((await this.#call('POST', '/api/identities', null)).text)
      this.bob ??= JSON.parse((await this.#call('POST', '/api/identities', null)).text)
      const ana = this.ana!
      const { threads } = this.#history
      if (threads.length === 0) {
        await this.#write(ana, '/api/threads', { title: 'Crashes', content: 'Who is there?' })
      }
      if (!this.hasWebhook) await this.#registerWebhook(ana)
      for (let n = 0; n < repliesMax; n++) {
        // A control character takes six bytes of text, so that in the end not all text is in
        // memory.
        const content = `reply ${this.#keys} ${n % 3 > 0 ? '\u0001'.repeat(500) : 'é'.repeat(250)}`
        await this.#write(this.bob!, `/api/threads/${threads[0]}/replies`, { content })
        if (n % 5 === 0) await this.#history.readThread(threads[0]!)
        if (n % 20 === 10) this.#process!.kill('SIGUSR2')
      }
    } catch (error) {
      if (!(error instanceof Dead)) throw error
    }
  }

  async #registerWebhook(by: Agent): Promise<void> {
    const path = '/api/notifications/webhook'
    // Only once: a second registration would replace the first, and a retry of the first would then
    // be a conflict.
    const isFirst = !this.#isRegistered
    this.#isRegistered = true // `differences` retries it if its outcome is unknown
    if (isFirst) await this.#write(by, path, { url: 'https://hook.example.com/' })
    const { text } = await this.#call('POST', `${path}/verify`, by)
    this.hasWebhook = JSON.parse(text).verified === true
  }

  /**
   * Returns the differences between the answers of the process and the agents' memory, as far as
   * they are found before the process dies.
   */
  async differences(): Promise<string[]> {
    const found: string[] = []
    try {
      await this.#history.compare(found, 10)
    } catch (error) {
      if (!(error instanceof Dead)) throw error
    }
    return found
  }

  /** Waits until every delivery to the webhook is recorded as delivered. */
  delivered(): Promise<object[]> {
    return until('every delivery to be recorded', async () => {
      const { text } = await this.#call('GET', '/api/notifications/deliveries?limit=100', this.ana)
      const { deliveries } = JSON.parse(text) as { deliveries: { state: string }[] }
      return deliveries.every(({ state }) => state === 'delivered') ? deliveries : null
    })
  }
}
