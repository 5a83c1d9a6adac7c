// Goal:   what concurrent callers of a node with readers see of its threads is one history: one
//         order of instants explains every answer, also when the node is killed in between
//         (thread-history.ts).
// Method: callers append and read at once. Each request is sent on a new connection, so that the
//         system distributes the requests over all processes. One reader after the other is stopped
//         for a moment, while more is written than an iteration of its event loop reads. Half-way
//         the main process receives SIGKILL, and its readers end with it. A write whose answer was
//         lost is repeated with its key, or left alone. In the end every thread is read as a whole.
// Leaves out: loss of power, which the simulation has (test/simulate/).

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { request } from 'undici'
import { type Client, type Forum, newKey, startForum } from '../api/harness.ts'
import { chosenSeed, timeoutMs } from '../depth.ts'
import { partOf } from '../simulate/seen-threads.ts'
import { until } from '../until.ts'
import { seededRandom } from '../wal/simulated-inode.ts'
import { type Append, ThreadHistory } from './thread-history.ts'

const callersMax = 20
const threadsMax = 3
const lives = 2
/** The number of answers that end a life. */
const answersPerLife = 300
const stopMs = 400
/** 28 KB of text, the largest number of characters that is allowed. */
const charactersMax = 7_000

t.setTimeout(timeoutMs)

class Callers {
  readonly history = new ThreadHistory()
  readonly #forum: Forum
  readonly #threads: readonly string[]
  readonly #random = seededRandom(chosenSeed)
  /** Whether the node has been killed and is not up again. */
  isDown = false
  isOver = false
  answers = 0
  lost = 0

  constructor(forum: Forum, threads: readonly string[]) {
    this.#forum = forum
    this.#threads = threads
  }

  /** Has one caller append and read until the end. */
  async act(caller: Client): Promise<void> {
    while (!this.isOver) {
      const thread = this.#threads[this.#below(threadsMax)]!
      if (this.isDown) await sleep(5)
      else if (this.#below(2) === 0) await this.#read(thread)
      else await this.#append(caller, thread)
    }
  }

  async #append({ token }: Client, thread: string): Promise<void> {
    const key = newKey()
    const content = `${key} ${'😀'.repeat(charactersMax)}`
    const headers = {
      ...{ authorization: `Bearer ${token}`, 'idempotency-key': key },
      'content-type': 'application/json',
    }
    const body = JSON.stringify({ content })
    const attempts = 1 + this.#below(2)
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const append = this.history.append(content, thread)
      const path = `/api/threads/${thread}/replies`
      const text = await this.#ask(path, { method: 'POST', headers, body })
      if (text !== null) return this.#appended(append, text)
      await until('the node to be up', () => !this.isDown)
    }
  }

  #appended(append: Append, text: string): void {
    const { thread_id, message_id } = JSON.parse(text)
    this.history.answered(append, thread_id, message_id)
  }

  async #read(thread: string): Promise<void> {
    const queries = ['before=end&limit=10', 'after=0&limit=10', `after=${this.#below(500)}`]
    await this.#readPart(thread, queries[this.#below(3)]!)
  }

  async #readPart(thread: string, query: string) {
    const answered = this.history.read(thread)
    const text = await this.#ask(`/api/threads/${thread}?${query}`)
    if (text === null) return null
    const page = JSON.parse(text)
    answered(partOf(query, page))
    return page
  }

  /** Reads every thread as a whole. */
  async readAll(): Promise<void> {
    for (const thread of this.#threads) {
      for (let after = 0, hasMore = true; hasMore; ) {
        const query = `after=${after}&limit=100`
        const page = await until('a page', () => this.#readPart(thread, query))
        after = page.next_after
        hasMore = page.has_more
      }
    }
  }

  /** Resolves to the body of an answer, or to null if there is none or it is 503. */
  async #ask(path: string, options: object = {}): Promise<string | null> {
    try {
      const answer = await request(this.#forum.url + path, { ...options, reset: true })
      const text = await answer.body.text()
      this.answers += 1
      if (answer.statusCode === 503) return this.#lost()
      if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`)
      return text
    } catch (error) {
      if (!('code' in (error as Error))) throw error
      return this.#lost() // the connection was refused or broken
    }
  }

  #lost(): null {
    this.lost += 1
    return null
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}

/** Stops one of the readers for a moment, and lets it continue. */
async function stopOne({ log }: Forum, n: number): Promise<void> {
  const started = [...log.matchAll(/"pid":(\d+),"msg":"reader_started"/g)]
  const pid = Number(started.at(-1 - (n % 2))![1])
  process.kill(pid, 'SIGSTOP')
  await sleep(stopMs)
  process.kill(pid, 'SIGCONT')
}

function bothServe(forum: Forum): Promise<unknown> {
  return until('both readers to serve', () => /"serving":2,.*"readers_serving"/.test(forum.log))
}

/** Has callers use the node through its lives, and resolves to what they saw. */
async function liveThrough(forum: Forum): Promise<Callers> {
  const ana = await forum.identity()
  const threads: string[] = []
  const callers = new Callers(forum, threads)
  for (let n = 0; n < threadsMax; n++) {
    const append = callers.history.append(`thread ${n}`, null)
    const { body } = await ana.thread({ content: `thread ${n}` })
    callers.history.answered(append, body.thread_id, body.message_id)
    threads.push(body.thread_id)
  }
  const clients = await Promise.all(Array.from({ length: callersMax }, () => forum.identity()))
  const acting = clients.map((client) => callers.act(client))
  for (let life = 1; life <= lives; life++) {
    for (let n = 0; callers.answers < life * answersPerLife; n++) {
      await stopOne(forum, n)
      await sleep(stopMs)
    }
    if (life === lives) break
    callers.isDown = true
    await forum.stop('SIGKILL')
    await forum.start()
    await bothServe(forum)
    callers.isDown = false
  }
  callers.isOver = true
  await Promise.all(acting)
  await callers.readAll()
  return callers
}

t.test('a node with readers: killed under callers: one order explains all answers', async (t) => {
  t.comment(`TEST_SEED=${chosenSeed}`)
  const forum = await startForum(t, ['--readers', '2'])
  await bothServe(forum)
  const { history, answers, lost } = await liveThrough(forum)
  const { appends, reads } = history
  t.comment(`${appends.size} appends, ${reads.length} reads; ${answers} answers, ${lost} lost`)
  t.same(history.contradictions(), [])
})
