// Where workers get tasks: the sides of claims.ts. Each is asked the same three things.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { GrantedClaim, ThreadPage } from '../src/client/types.ts'
import { type Owner, startCluster } from '../test/cluster/replication/nats-cluster.ts'
import { freePort } from '../test/free-port.ts'
import { type Answered, Caller, type Request } from './caller.ts'
import { startDatabase } from './peers/postgres.ts'
import { type Forum, startForum } from './sides.ts'

export const claimSeconds = 1
const retryMs = 20

/** `until`: when it is over, by the clock of the side, in milliseconds since the epoch. */
export interface Claimed {
  task: number
  fence: number
  until: number
}

export interface Desk {
  name: string
  /** Claims a task that has no result. Resolves to null if the worker has to try again. */
  claim(worker: number): Promise<Claimed | null>
  /** Publishes a result, and gives the claim back. Resolves to false if it was lost. */
  finish(worker: number, claimed: Claimed): Promise<boolean>
  /** Kills the server, and starts it or another one in its place. */
  kill(): Promise<void>
  /** Resolves to the number of results that each task has. */
  results(): Promise<number[]>
  stop(): Promise<void>
}

export interface DeskSize {
  tasks: number
  workers: number
  connections: number
}

/** Repeats work until it succeeds, because the server is being killed. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch {
      await sleep(retryMs)
    }
  }
}

const schema = `
create table tasks (
  id integer primary key,
  fence bigint not null default 0,
  holder integer,
  expires_at timestamptz not null default '-infinity',
  result text
);
create index on tasks (id) where result is null;
create sequence fences;
`
const claimSql = `
update tasks
set holder = $1, fence = nextval('fences'),
    expires_at = clock_timestamp() + interval '${claimSeconds} s'
where id = (
  select id from tasks
  where result is null and expires_at <= clock_timestamp()
  order by id limit 1 for update skip locked
)
returning id, fence, extract(epoch from expires_at) * 1000 as until`
const finishSql = `
update tasks set result = $4, holder = null, expires_at = '-infinity'
where id = $1 and holder = $2 and fence = $3 and expires_at > clock_timestamp()`
const doneSql = 'select 1 from tasks where id = $1 and fence = $2 and result = $3'

/** A table of PostgreSQL. The statement that claims a task also finds it. */
export async function postgresDesk(dir: string, size: DeskSize): Promise<Desk> {
  const database = await startDatabase(dir, 'always')
  const pool = new pg.Pool({ connectionString: database.url, max: size.connections })
  pool.on('error', () => {}) // of an idle connection, when the server is killed
  await pool.query(schema)
  await pool.query('insert into tasks (id) select generate_series(0, $1 - 1)', [size.tasks])
  await pool.query('vacuum analyze tasks')
  return {
    name: 'postgres',
    async claim(worker) {
      // If the answer is lost, the claim of whoever has it is left to expire.
      const { rows } = await insist(() => {
        return pool.query({ name: 'claim', text: claimSql, values: [worker] })
      })
      if (rows.length === 0) return null
      const [{ id, fence, until }] = rows
      return { task: id, fence: Number(fence), until: Number(until) }
    },
    finish(worker, { task, fence }) {
      const text = `The result of task ${task} under ${fence}`
      let tries = 0
      return insist(async () => {
        tries += 1
        const values = [task, worker, fence, text]
        const { rowCount } = await pool.query({ name: 'finish', text: finishSql, values })
        if (rowCount === 1 || tries === 1) return rowCount === 1
        return (await pool.query(doneSql, [task, fence, text])).rowCount === 1
      })
    },
    kill: () => database.crash(),
    async results() {
      const { rows } = await pool.query('select id from tasks where result is not null')
      const found = new Array<number>(size.tasks).fill(0)
      for (const { id } of rows) found[id] += 1
      return found
    },
    async stop() {
      await pool.end()
      await database.stop()
    },
  }
}

/** Nodes of a forum, of which one at a time decides. */
class ForumDesk implements Desk {
  readonly name: string
  readonly #size: DeskSize
  readonly #kill: () => Promise<void>
  readonly #close: () => Promise<void>
  readonly #callers: Caller[]
  #tokens: string[] = []
  #threads: string[] = []
  readonly #open: number[] = []
  /** The tasks that somebody has claimed. */
  readonly #claimed = new Set<number>()
  /** The node that answers. */
  #at = 0

  constructor(
    name: string,
    urls: readonly string[],
    size: DeskSize,
    { kill, close }: { kill: () => Promise<void>; close: () => Promise<void> },
  ) {
    this.name = name
    this.#size = size
    this.#kill = kill
    this.#close = close
    this.#callers = urls.map((url) => new Caller(url, size.connections))
  }

  async fill(): Promise<void> {
    const { workers, tasks } = this.#size
    this.#tokens = await this.#insist((caller) => caller.register(workers))
    const titles = Array.from({ length: tasks }, (_, n) => `Task ${n}`)
    this.#threads = await this.#insist((caller) => {
      return caller.openThreads(titles, 'To be done.', this.#tokens[0])
    })
    this.#open.push(...this.#threads.keys())
  }

  async claim(worker: number): Promise<Claimed | null> {
    if (this.#open.length === 0) return null
    const task = this.#open[Math.floor(Math.random() * this.#open.length)]
    const path = `/api/threads/${this.#threads[task]}/claim`
    const body = { seconds: claimSeconds }
    const { status, text } = await this.#ask({ ...this.#from(worker, 'POST', path), body })
    if (status === 409) return null
    const { fence, expires_at: until } = JSON.parse(text) as GrantedClaim
    const claimed = { task, fence, until }
    const isAgain = this.#claimed.has(task)
    this.#claimed.add(task)
    if (!isAgain || !(await this.#isDone(task))) return claimed
    await this.#release(worker, task)
    return null
  }

  async finish(worker: number, { task, fence }: Claimed): Promise<boolean> {
    const path = `/api/threads/${this.#threads[task]}/replies`
    const body = { content: `The result of task ${task} under ${fence}`, fence }
    const { status } = await this.#ask({ ...this.#from(worker, 'POST', path), body })
    if (status === 412) return false
    const index = this.#open.indexOf(task)
    if (index !== -1) this.#open.splice(index, 1)
    await this.#release(worker, task)
    return true
  }

  kill(): Promise<void> {
    return this.#kill()
  }

  async results(): Promise<number[]> {
    const requests = this.#threads.map((id): Request => {
      return { method: 'GET', path: `/api/threads/${id}` }
    })
    const pages = await this.#insist((caller) => caller.batch<ThreadPage>(requests))
    return pages.map(({ messages }) => messages.length - 1)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#callers.map((caller) => caller.close()))
    await this.#close()
  }

  /** Whether an earlier worker has published a result; the answer to it may be on its way. */
  async #isDone(task: number): Promise<boolean> {
    if (!this.#open.includes(task)) return true
    const { text } = await this.#ask({ method: 'GET', path: `/api/threads/${this.#threads[task]}` })
    return (JSON.parse(text) as ThreadPage).messages.length > 1
  }

  async #release(worker: number, task: number): Promise<void> {
    await this.#ask(this.#from(worker, 'DELETE', `/api/threads/${this.#threads[task]}/claim`))
  }

  #from(worker: number, method: 'POST' | 'DELETE', path: string): Request {
    const key = method === 'POST' ? { key: this.#callers[0].newKey() } : {}
    return { method, path, token: this.#tokens[worker], ...key }
  }

  /** Repeats a request until a node answers it. */
  #ask(request: Request): Promise<Answered> {
    return this.#insist(async (caller) => {
      const answer = await caller.ask(request)
      if (answer.status === 503 || answer.status === 429) throw new Error(answer.text)
      return answer
    })
  }

  /** Repeats work, with another node each time, until it succeeds. */
  #insist<T>(work: (caller: Caller) => Promise<T>): Promise<T> {
    return insist(async () => {
      const at = this.#at
      try {
        return await work(this.#callers[at])
      } catch (error) {
        this.#at = (at + 1) % this.#callers.length
        throw error
      }
    })
  }
}

/** A node that is alone. */
export async function forumDesk(dir: string, size: DeskSize): Promise<Desk> {
  const port = await freePort()
  const start = () => startForum(join(dir, 'alone'), ['--quotas', 'open', '--port', `${port}`])
  let forum = await start()
  const desk = new ForumDesk('forum', [forum.url], size, {
    async kill() {
      await forum.stop('SIGKILL')
      forum = await start()
    },
    close: () => forum.stop('SIGKILL'),
  })
  await desk.fill()
  return desk
}

/** A leader and a standby, with their log on three nats-servers, which `owner` ends. */
export async function clusterDesk(dir: string, size: DeskSize, owner: Owner): Promise<Desk> {
  process.env.AGENT_FORUM_SECRET = 'the secret of all nodes of the benchmark'
  const cluster = await startCluster(owner)
  const ports = [await freePort(), await freePort()]
  const takeover = ['--standby', '--takeover-seconds', '1', '--quotas', 'open']
  const start = (n: number, role: string): Promise<Forum> => {
    const flags = [role, cluster.url, '--replicate-stream', 'claims', ...takeover]
    return startForum(join(dir, `node-${n}`), [...flags, '--port', `${ports[n]}`])
  }
  const nodes = [await start(0, '--replicate'), await start(1, '--follow')]
  let leader = 0
  const urls = nodes.map(({ url }) => url)
  const desk = new ForumDesk('forum, two nodes', urls, size, {
    async kill() {
      await nodes[leader].stop('SIGKILL')
      const killed = leader
      leader = 1 - leader
      await leads(nodes[leader].url)
      nodes[killed] = await start(killed, '--follow')
    },
    async close() {
      await Promise.all(nodes.map((node) => node.stop('SIGKILL')))
    },
  })
  await desk.fill()
  return desk
}

async function leads(url: string): Promise<void> {
  await insist(async () => {
    const { role } = (await (await fetch(`${url}/api/status`)).json()) as { role: string }
    if (role !== 'leader') throw new Error(role)
  })
}
