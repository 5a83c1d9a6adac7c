// Goal:   what concurrent workers see of the claims of the threads of a node with readers is one
//         history: never do two hold one claim, a claim ends at its time, and a late holder
//         publishes nothing, also when the node is killed in between (claim-history.ts).
// Method: workers claim, renew and release threads, publish with the fence of their last claim, and
//         read, all at once. The shortest claims end within a second, so that others take them
//         over. Each request is sent on a new connection, so that the system distributes the
//         requests over all processes. The main process receives SIGKILL between two lives. A
//         command whose answer was lost is repeated with its key, or left alone.
// Leaves out: loss of power and a clock that is set back, which the simulation has.

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { request } from 'undici'
import { type Client, type Forum, newKey, startForum } from '../api/harness.ts'
import { chosenSeed, sizeOf } from '../depth.ts'
import { SeenClaims } from '../simulate/seen-claims.ts'
import { until } from '../until.ts'
import { seededRandom } from '../wal/simulated-inode.ts'

const workersMax = 12
const threadsMax = 3
const lives = sizeOf('CLAIM_LIVES')
/** In each life so many commands are answered, and so many new claims are made. */
const answersPerLife = 300
const fencesPerLife = 8

t.setTimeout(120_000 * lives)

interface Asked {
  method: 'POST' | 'DELETE' | 'GET'
  path: string
  body?: object
}

class Workers {
  readonly seen = new SeenClaims()
  readonly #forum: Forum
  readonly #threads: readonly string[]
  readonly #random = seededRandom(chosenSeed)
  isDown = false
  isOver = false
  answers = 0
  lost = 0
  /** The greatest fence that was granted. */
  fence = 0

  constructor(forum: Forum, threads: readonly string[]) {
    this.#forum = forum
    this.#threads = threads
  }

  /** Has one worker act until the end. */
  async act({ id, token }: Client): Promise<void> {
    const created = this.seen.sent({ method: 'post', path: '/api/identities' })
    created(201, JSON.stringify({ id, token, kind: 'persistent' }))
    let own = { thread: '', fence: 0 }
    while (!this.isOver) {
      if (this.isDown) await sleep(5)
      const drawn = this.#below(10)
      const thread = drawn % 2 === 0 && own.fence > 0 ? own.thread : this.#someThread
      if (drawn < 4) own = (await this.#claim(token, thread, own)) ?? own
      else if (drawn < 7) await this.#reply(token, own)
      else if (drawn < 8) await this.#insist(token, { method: 'DELETE', path: claimOf(thread) })
      else await this.#ask(token, '', { method: 'GET', path: pathOf(thread) })
    }
  }

  async #claim(token: string, thread: string, own: { thread: string; fence: number }) {
    const isRenewal = thread === own.thread && this.#below(2) === 0
    const body = { seconds: 1 + this.#below(2), ...(isRenewal && { fence: own.fence }) }
    const answer = await this.#insist(token, { method: 'POST', path: claimOf(thread), body })
    const granted = answer === null ? null : (JSON.parse(answer) as { fence?: number })
    if (granted?.fence === undefined) return null
    this.fence = Math.max(this.fence, granted.fence)
    return { thread, fence: granted.fence }
  }

  async #reply(token: string, { thread, fence }: { thread: string; fence: number }) {
    if (fence === 0) return
    const body = { content: newKey(), fence }
    await this.#insist(token, { method: 'POST', path: `${pathOf(thread)}/replies`, body })
  }

  /** Sends a command, and perhaps once more if its answer is lost. */
  async #insist(token: string, asked: Asked): Promise<string | null> {
    const key = newKey()
    for (let attempts = 1 + this.#below(2); attempts > 0; attempts--) {
      const answer = await this.#ask(token, key, asked)
      if (answer !== null) return answer
      await until('the node to be up', () => !this.isDown)
    }
    return null
  }

  /** Resolves to the body of an answer, or to null if there is none or it is 503. */
  async #ask(token: string, key: string, { method, path, body }: Asked): Promise<string | null> {
    const [short = path] = path.split('?')
    const sent = { method: method.toLowerCase(), path: short, token, key }
    const report = this.seen.sent({ ...sent, ...(body && { body }) })
    const headers = {
      ...{ authorization: `Bearer ${token}`, 'idempotency-key': key },
      ...(body && { 'content-type': 'application/json' }),
    }
    try {
      const json = body === undefined ? null : JSON.stringify(body)
      const options = { method, headers, body: json, reset: true }
      const answer = await request(this.#forum.url + path, options)
      const text = await answer.body.text()
      report(answer.statusCode, text)
      this.answers += 1
      return answer.statusCode === 503 ? this.#lost() : text
    } catch (error) {
      if (!('code' in (error as Error))) throw error
      return this.#lost() // the connection was refused or broken
    }
  }

  /** Reads all threads as a whole, so that replies without an answer are found. */
  async readAll(token: string): Promise<void> {
    for (const thread of this.#threads) {
      for (let after: number | null = 0; after !== null; ) {
        const path = `${pathOf(thread)}?limit=100&after=${after}`
        const text = await this.#ask(token, '', { method: 'GET', path })
        const page = JSON.parse(text!) as { next_after: number; has_more: boolean }
        after = page.has_more ? page.next_after : null
      }
    }
  }

  #lost(): null {
    this.lost += 1
    return null
  }

  get #someThread(): string {
    return this.#threads[this.#below(threadsMax)]!
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}

const pathOf = (thread: string) => `/api/threads/${thread}`
const claimOf = (thread: string) => `${pathOf(thread)}/claim`

/** Has workers use the node through its lives, and resolves to what they saw. */
async function liveThrough(forum: Forum): Promise<Workers> {
  const ana = await forum.identity()
  const threads: string[] = []
  for (let n = 0; n < threadsMax; n++) threads.push((await ana.thread()).body.thread_id)
  const workers = new Workers(forum, threads)
  const clients: Client[] = []
  while (clients.length < workersMax) {
    clients.push(await forum.identity({ kind: 'persistent', display_name: 'a worker' }))
  }
  const acting = Promise.all(clients.map((client) => workers.act(client)))
  for (let life = 1; life <= lives; life++) {
    await until(`life ${life} to be full`, () => {
      const { answers, fence } = workers
      return answers >= life * answersPerLife && fence >= life * fencesPerLife
    })
    if (life === lives) break
    workers.isDown = true
    await forum.stop('SIGKILL')
    await forum.start()
    workers.isDown = false
  }
  workers.isOver = true
  await acting
  await workers.readAll(clients[0]!.token)
  return workers
}

t.test('claims of a node with readers: killed: one order explains all answers', async (t) => {
  t.comment(`TEST_SEED=${chosenSeed}`)
  const forum = await startForum(t, ['--readers', '2'])
  const { seen, answers, lost, fence } = await liveThrough(forum)
  const { commands, observations } = seen.history
  t.comment(`${commands.size} commands, ${observations.length} observations of claims`)
  t.comment(`${answers} answers, ${lost} lost; the last fence is ${fence}`)
  for (const kind of ['claimed', 'lost', 'not_holder', 'shown']) {
    const ofKind = observations.filter(({ what }) => what.is === kind)
    t.ok(ofKind.length > 0, `${ofKind.length} times ${kind}`)
  }
  t.same(seen.history.contradictions(), [])
})
