// Goal:   a node with readers keeps its guarantees when a reader is killed, or stopped and
//         continued, when the main process is killed, and when another process has the port. A
//         caller reads its own writes on every connection, all processes answer the same, and none
//         outlives the main process.
// Method: real processes, killed by their ids. Every request that matters is sent on a new
//         connection, so that the system distributes the requests over all processes.
// Leaves out: which process answers, because callers cannot know; a stopped reader that never
//             continues, because the hub gives it up after ten seconds
//             (test/cluster/readers/hub.test.ts).

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { type Client, type Forum, newKey, publishedThread, startForum } from '../api/harness.ts'
import { ask, samples } from '../api/operators.ts'
import { dataDirectory, run } from '../api/process.ts'
import { timeoutMs } from '../depth.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { limitFiles } from './file-limit.ts'
import { remotePortsOf } from './remote-ports.ts'
import { notWidened, widenSendBuffers } from './send-buffer.ts'

t.setTimeout(timeoutMs)

interface Scene {
  forum: Forum
  ops: number
  ana: Client
  thread: string
}

/** Starts a node with two readers, waits until they serve, and publishes a thread. */
async function scene(t: Test, ...flags: string[]): Promise<Scene> {
  const ops = await freePort()
  const forum = await startForum(t, ['--readers', '2', '--ops-port', `${ops}`, ...flags])
  await serving(ops, 2)
  const ana = await forum.identity()
  return { forum, ops, ana, thread: await publishedThread(ana) }
}

function serving(ops: number, count: number): Promise<unknown> {
  return until(`${count} readers to serve`, async () => {
    return (await metricsOf(ops)).get('agent_forum_readers{state="serving"}') === count
  })
}

async function metricsOf(ops: number): Promise<Map<string, number>> {
  return samples((await ask(ops, '/metrics')).text)
}

/** Returns the process ids of the readers, oldest first. */
function pids({ log }: Forum): number[] {
  const started = log.matchAll(/"reader":\d+,"pid":(\d+),"msg":"reader_started"/g)
  return Array.from(started, ([, pid]) => Number(pid))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * Reads the same page on `count` new connections. A reader that has heard nothing from the leader
 * for two seconds, as on a busy machine, answers 503, and the request is retried.
 */
function readApart({ forum, thread }: Scene, count = 12): Promise<string[]> {
  const url = `${forum.url}/api/threads/${thread}?limit=100`
  const read = () =>
    until('a page', async () => {
      const { statusCode, body } = await request(url, { reset: true })
      const text = await body.text()
      return statusCode === 503 ? null : text
    })
  return Promise.all(Array.from({ length: count }, read))
}

/**
 * Publishes a reply. A connection to a killed reader breaks, and the request is retried with its
 * key.
 */
async function replied({ ana, thread }: Scene, content: string): Promise<void> {
  const headers = { 'idempotency-key': `key-of-${content.replaceAll(' ', '-')}` }
  await until(`${content} to be acknowledged`, async () => {
    const answer = await ana.reply(thread, content, headers).catch(() => null)
    return answer !== null && [200, 201].includes(answer.status)
  })
}

/** Posts a reply with a fixed key on a new connection. Resolves to the status and the body. */
async function replyOnce(
  { forum, ana, thread }: Scene,
  content: string,
): Promise<[status: number, text: string]> {
  const { statusCode, body } = await request(`${forum.url}/api/threads/${thread}/replies`, {
    method: 'POST',
    reset: true,
    headers: {
      authorization: `Bearer ${ana.token}`,
      'content-type': 'application/json',
      'idempotency-key': `key-of-${content}`,
    },
    body: JSON.stringify({ content }),
  })
  return [statusCode, await body.text()]
}

/** Resolves to the error of an answer; `no answer` if the connection breaks. */
async function errorOf(answer: ReturnType<typeof replyOnce>): Promise<string> {
  const text = await answer.then(
    ([, body]) => body,
    () => '{"error":"no answer"}',
  )
  return JSON.parse(text).error
}

t.test('readers: a caller reads its own writes on every connection', async (t) => {
  const here = await scene(t)
  for (let n = 0; n < 40; n++) {
    await replied(here, `reply ${n}`)
    for (const text of await readApart(here, 4)) t.match(text, `reply ${n}`)
  }
  const [first, ...others] = await readApart(here)
  for (const other of others) t.equal(other, first, 'all processes answer the same')
  const answers = async (route: string) => {
    const metrics = await metricsOf(here.ops)
    return metrics.get(`agent_forum_http_requests_total{route="${route}",status="2xx"}`) ?? 0
  }
  await until(
    'reads of all processes to be added up',
    async () => (await answers('readThread')) >= 160,
  )
  await until('writes to be added up', async () => (await answers('reply')) >= 40)
  t.equal(await answers('reply'), 40, 'a write counts once')
  await until('readiness to say that both serve', async () => {
    return (await ask(here.ops, '/readyz?verbose')).text.includes('[+] readers: 2 of 2 serve')
  })
})

t.test('readers: one is killed again and again: nothing acknowledged is lost', async (t) => {
  const here = await scene(t)
  for (let n = 0; n < 3; n++) {
    await replied(here, `before ${n}`)
    process.kill(pids(here.forum).at(n === 0 ? 0 : -1)!, 'SIGKILL')
    await replied(here, `after ${n}`)
    // The main process counts the killed reader as serving until it has noticed the death.
    await until('the next reader to be started', () => pids(here.forum).length === 3 + n)
    await serving(here.ops, 2)
  }
  for (const text of await readApart(here)) {
    for (let n = 0; n < 3; n++) {
      t.equal(text.split(`"after ${n}"`).length, 2, 'it is there once')
      t.match(text, `"before ${n}"`)
    }
  }
  t.equal((await metricsOf(here.ops)).get('agent_forum_reader_restarts_total'), 3)
})

t.test('readers: one is killed while no file can be opened: started when one can', async (t) => {
  const here = await scene(t)
  limitFiles(here.forum.pid, 3)
  process.kill(pids(here.forum)[0]!, 'SIGKILL')
  await until('a start that fails', () => /"why":"[^"]*EMFILE"/.test(here.forum.log))
  t.equal(pids(here.forum).length, 2, 'none was started')
  limitFiles(here.forum.pid, 512)
  await serving(here.ops, 2)
  await replied(here, 'a reply')
  for (const text of await readApart(here)) t.match(text, '"a reply"')
})

t.test('readers: one is stopped, and continues: writes go on, nothing old is shown', async (t) => {
  const here = await scene(t)
  await replied(here, 'before')
  const [pid] = pids(here.forum)
  process.kill(pid!, 'SIGSTOP')
  // The system gives about half of these connections to the stopped reader. With this many, it is
  // practically impossible that all of them go there by chance. On a busy machine, the other reader
  // may hear nothing from the leader for two seconds, and answer 503.
  const attempt = () =>
    until('an acknowledgement', async () => {
      const [status] = await replyOnce(here, 'meanwhile').catch(() => [0])
      return status === 201 || status === 200
    })
  const attempts = Array.from({ length: 40 }, attempt)
  await Promise.any(attempts)
  process.kill(pid!, 'SIGCONT')
  for (const text of await readApart(here)) t.match(text, '"meanwhile"')
  await Promise.all(attempts)
  await serving(here.ops, 2)
  for (const text of await readApart(here)) t.equal(text.split('"meanwhile"').length, 2)
  t.equal(pids(here.forum).length, 2, 'acknowledged before the stopped reader was given up')
})

/** A connection that is kept alive, on which one request is sent at a time. */
class Connection {
  readonly #socket: Socket
  #text = ''

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text
    })
    socket.on('error', () => {}) // it is destroyed then
  }

  static async to({ forum }: Scene): Promise<Connection> {
    const socket = connect(forum.port, '127.0.0.1')
    await once(socket, 'connect')
    return new Connection(socket)
  }

  /** Sends a request, and resolves to the whole answer, or to '' if the connection is closed. */
  async ask({ ana }: Scene, path: string, content?: string): Promise<string> {
    this.#text = ''
    const lines = [
      `${content === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
      ...['Host: 127.0.0.1', `Authorization: Bearer ${ana.token}`],
    ]
    const body = content === undefined ? '' : JSON.stringify({ content })
    if (body !== '') {
      lines.push(`Idempotency-Key: ${newKey()}`, 'Content-Type: application/json')
      lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
    }
    this.#socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
    return until('an answer', () => {
      if (this.#socket.destroyed) return ''
      const [head = '', rest = ''] = this.#text.split('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
      return Buffer.byteLength(rest) >= length ? this.#text : null
    })
  }

  get localPort(): number {
    return this.#socket.localPort!
  }

  end(): void {
    this.#socket.destroy()
  }
}

const skip = widenSendBuffers(process.pid) ? false : notWidened
t.test('readers: one is stopped, megabytes wait: shows nothing old', { skip }, async (t) => {
  const here = await scene(t)
  const [stopped] = pids(here.forum) as [number]
  t.ok(widenSendBuffers(here.forum.pid))
  const all = await Promise.all(Array.from({ length: 320 }, () => Connection.to(here)))
  t.teardown(() => {
    for (const each of all) each.end()
  })
  const path = `/api/threads/${here.thread}`
  const newest = `${path}?before=${Number.MAX_SAFE_INTEGER}&limit=1`
  const [there, others] = await until('all to be accepted', () => {
    const [ports, rest] = pids(here.forum).map(remotePortsOf) as [Set<number>, Set<number>]
    const there = all.filter((each) => ports.has(each.localPort))
    const others = all.filter((each) => rest.has(each.localPort))
    return there.length + others.length === all.length && ([there, others] as const)
  })
  process.kill(stopped, 'SIGSTOP')
  const content = '\u{1f600}'.repeat(7_000) // more than an iteration of an event loop reads
  const written = await Promise.all(
    others.map((each, n) => each.ask(here, `${path}/replies`, `${n} ${content}`)),
  )
  const acknowledged = written.filter((answer) => answer.startsWith('HTTP/1.1 201')).length
  const reads = there.slice(0, 10).map((each) => each.ask(here, newest))
  process.kill(stopped, 'SIGCONT')
  t.ok(acknowledged > 80, `${acknowledged} of ${others.length} were acknowledged`)
  for (const answer of await Promise.all(reads)) {
    if (answer === '' || answer.startsWith('HTTP/1.1 503')) continue
    const [, count] = /"message_count":(\d+)/.exec(answer)!
    t.ok(Number(count) > acknowledged, `${count} messages of ${acknowledged} and the first`)
  }
  await serving(here.ops, 2)
})

t.test('readers: the main process is killed: all end; the next start has everything', async (t) => {
  const here = await scene(t)
  await replied(here, 'kept')
  const before = pids(here.forum)
  process.kill(here.forum.pid, 'SIGSTOP')
  const writes = Array.from({ length: 12 }, () => errorOf(replyOnce(here, 'unknown')))
  await Promise.any(writes.map(() => request(`${here.forum.url}/`, { reset: true })))
  await here.forum.stop('SIGKILL')
  const errors = new Set(await Promise.all(writes))
  errors.delete('no answer') // those of the main process
  t.same([...errors], ['shutting_down'], 'not that a log which no other node has lacks a leader')
  await until('the readers to end', () => !before.some(isAlive))
  await here.forum.start()
  await serving(here.ops, 2)
  for (const text of await readApart(here)) t.match(text, 'kept')
})

t.test('readers: polls wait at all of them: answered with the news, and at a stop', async (t) => {
  const here = await scene(t)
  const after = (await here.ana.read(here.thread)).body.next_after
  const poll = async (from: number) => {
    const url = `${here.forum.url}/api/threads/${here.thread}?after=${from}&wait=30`
    return (await request(url, { reset: true })).body.json() as Promise<{ messages: unknown[] }>
  }
  const polls = Array.from({ length: 12 }, () => poll(after))
  await until('all polls to wait', async () => {
    return (await metricsOf(here.ops)).get('agent_forum_waiting') === 12
  })
  await replied(here, 'news')
  for (const { messages } of await Promise.all(polls)) t.equal(messages.length, 1)
  const last = Array.from({ length: 6 }, () => poll(after + 1000))
  await until('all polls to wait', async () => {
    return (await metricsOf(here.ops)).get('agent_forum_waiting') === 6
  })
  const readers = pids(here.forum)
  t.equal(readers.length, 2)
  const ended = await here.forum.stop()
  t.equal(ended!.code, 0)
  for (const { messages } of await Promise.all(last)) t.equal(messages.length, 0)
  t.notOk(readers.some(isAlive))
})

t.test('readers: a token is replaced: each process knew it, and none accepts it', async (t) => {
  const here = await scene(t)
  const { forum, ana } = here
  const codes = (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const call = async () => {
      const answer = await request(`${forum.url}/api/notifications`, { reset: true, headers })
      await answer.body.dump()
      return answer.statusCode === 503 ? null : answer.statusCode
    }
    return Promise.all(Array.from({ length: 24 }, () => until('an answer', call)))
  }
  t.same(new Set(await codes(ana.token)), new Set([200]))
  const rotation = await run(['admin', 'rotate-token', '--yes', ana.id, '--data', forum.data])
  t.same(new Set(await codes(ana.token)), new Set([401]))
  t.same(new Set(await codes(rotation.stdout.trim())), new Set([200]))
})

t.test('readers: a port in use: exit code 75, though readers would share it', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await until('the other server', () => other.listening)
  const { port } = other.address() as { port: number }
  const args = ['--port', `${port}`, '--data', dataDirectory(t), '--readers', '2']
  const { code, stderr } = await run(['serve', ...args])
  t.equal(code, 75)
  t.match(stderr, /in use by another process; [^\n]+ or choose another --host or --port/)
})
