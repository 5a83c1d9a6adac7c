// The agents of docs/agents.md, exactly as written there: the figures in its table are correct, and
// each agent, killed twenty times at random moments, answers every message that mentions it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { AgentForum, type Message } from '../../src/client/index.ts'
import { startForum } from '../api/harness.ts'
import { ask, samples } from '../api/operators.ts'
import { program } from '../api/process.ts'
import { Person } from '../clients/shell/person.ts'
import { chosenSeed, sampleOf, sizeOf } from '../depth.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { seededRandom } from '../wal/simulated-inode.ts'
import { CuttingProxy } from './cutting-proxy.ts'
import { folder, top } from './python-program.ts'

const manual = readFileSync(join(top, 'docs/agents.md'), 'utf8')
const kills = sizeOf('AGENT_KILLS')
const tasks = 10
/** The clients mark what they have handled at most once a second. */
const marksPauseMs = 1_050
/** Usually longer than any of the agents takes to start. */
const lifeMsMax = 700

interface Agent {
  /** The name in the table. */
  name: string
  /** The beginning of the first line of its program. */
  begins: string
  file: string
  command: readonly string[]
  /** Another program that it needs. */
  needs: string
  /** Whether its answers have idempotency keys. */
  isOnce: boolean
}

const watch = ['agent-forum', 'watch', '--mentions', '--exec', './answer.sh']
const agents: Agent[] = [
  {
    name: 'shell',
    begins: '#!/bin/sh',
    file: 'answer.sh',
    command: watch,
    needs: 'jq',
    isOnce: true,
  },
  {
    name: 'Python',
    begins: 'import json',
    file: 'agent.py',
    command: ['python3', 'agent.py'],
    needs: 'python3',
    isOnce: true,
  },
  {
    name: 'JavaScript',
    begins: 'import { readFileSync',
    file: 'agent.mjs',
    command: ['node', 'agent.mjs'],
    needs: 'node',
    isOnce: true,
  },
  {
    name: 'MCP',
    begins: 'import { Client',
    file: 'mcp.mjs',
    command: ['node', 'mcp.mjs'],
    needs: 'node',
    isOnce: false,
  },
]

/** Returns the program in the manual that begins with this agent's first line. */
function programOf({ begins }: Agent): string {
  const [, code] = manual.split(/^```(?:sh|python|js)\n/m).flatMap((part) => {
    return part.startsWith(begins) ? ['', part.split(/^```$/m)[0]!] : []
  })
  return code!
}

interface Parts {
  agent: Agent
  person: Person
  proxy: CuttingProxy
  /** The client that asks, which bypasses the proxy. */
  asking: AgentForum
  /** A client that acts as the agent, which bypasses the proxy too. */
  acting: AgentForum
  /** The agent's identity. */
  id: string
  thread: string
  ops: number
}

/** A node behind a proxy that counts, a client that asks, and a home directory with the agent. */
class Scene {
  readonly #parts: Parts
  readonly proxy: CuttingProxy
  #asked = 0

  private constructor(parts: Parts) {
    this.#parts = parts
    this.proxy = parts.proxy
  }

  static async begin(t: Test, agent: Agent): Promise<Scene> {
    const ops = await freePort()
    const forum = await startForum(t, ['--ops-port', `${ops}`])
    const proxy = await CuttingProxy.start(t, forum.port)
    const person = new Person(t)
    const { home, environment, file } = person
    const bin = join(home, 'bin')
    mkdirSync(bin)
    const own = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`
    writeFileSync(join(bin, 'agent-forum'), own, { mode: 0o755 })
    symlinkSync(process.execPath, join(bin, 'node'))
    environment.PATH = `${bin}:${environment.PATH}`
    environment.PYTHONPATH = folder
    environment.PYTHONDONTWRITEBYTECODE = '1'
    environment.AGENT_FORUM_IDENTITY = file
    environment.AGENT_FORUM_URL = proxy.url
    mkdirSync(join(home, 'node_modules'))
    symlinkSync(top, join(home, 'node_modules/agent-forum'))
    const packages = '@modelcontextprotocol'
    symlinkSync(join(top, 'node_modules', packages), join(home, 'node_modules', packages))
    writeFileSync(join(home, agent.file), programOf(agent), { mode: 0o755 })
    const [{ id }] = (await person.json(['register', '--name', 'counter'])) as [{ id: string }]
    const { token } = JSON.parse(readFileSync(file, 'utf8'))
    const acting = new AgentForum({ url: forum.url, token })
    const asking = new AgentForum({ url: forum.url })
    await asking.register({ displayName: 'ana' })
    const { thread_id } = await asking.createThread({ title: 'Words', content: 'Count them' })
    return new Scene({ agent, person, proxy, asking, acting, id, thread: thread_id, ops })
  }

  /** Starts the agent, which does not outlive the test. */
  start(t: Test): ChildProcess {
    const [file, ...args] = this.#parts.agent.command
    const { home: cwd, environment: env } = this.#parts.person
    const child = spawn(file!, args, {
      cwd,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    child.stderr!.setEncoding('utf8').on('data', (text) => t.comment(text))
    t.teardown(() => kill(child))
    return child
  }

  /** Mentions the agent in a message that is one word longer than the previous one. */
  async ask(): Promise<void> {
    this.#asked += 1
    const content = 'word '.repeat(this.#asked)
    const { asking, thread, id } = this.#parts
    await asking.reply(thread, { content, mentionIds: [id] })
  }

  /** Resolves to the answers so far. */
  async answers(): Promise<string[]> {
    const { asking, thread, id } = this.#parts
    const messages: Message[] = []
    for await (const message of asking.messages(thread)) messages.push(message)
    return messages.flatMap(({ author_id, content }) => (author_id === id ? [content] : []))
  }

  async allAnswered(): Promise<string[]> {
    const last = `It has ${this.#asked} words.`
    return until(last, async () => {
      const answers = await this.answers()
      return answers.includes(last) ? answers : false
    })
  }

  /** Resolves when the agent is idle, that is, when its poll waits at the node. */
  async waits(): Promise<void> {
    await until('the agent to wait', async () => {
      // On a busy machine the port may close a connection that was idle.
      const { text } = await ask(this.#parts.ops, '/metrics').catch(() => ({ text: '' }))
      return samples(text).get('agent_forum_waiting') === 1
    })
  }

  /** Resolves when everything in the feed that is not the agent's own is marked as read. */
  async hasMarked(): Promise<void> {
    await until('the agent to mark what it has handled', async () => {
      return (await this.#parts.acting.readPlace()).unread === 0
    })
  }

  get expected(): string[] {
    return Array.from({ length: this.#asked }, (_, i) => `It has ${i + 1} words.`)
  }
}

/** Kills a process and everything that it has started in its process group. */
function kill({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}

t.setTimeout(600_000)
const random = seededRandom(chosenSeed)

/** Returns whether to skip an agent, and why. */
function skipOf({ needs }: Agent): string | false {
  const isThere = spawnSync(needs, ['--version']).error === undefined
  // .ci/tools installs them.
  return isThere ? false : `${needs} is not installed`
}

t.test('agents: ten messages each: as docs/agents.md says', async (t) => {
  t.jobs = agents.length // mostly pauses
  for (const agent of agents) {
    const skip = skipOf(agent)
    void t.test(agent.name, { skip, buffered: true }, (t) => answersTen(t, agent))
  }
})

async function answersTen(t: Test, agent: Agent): Promise<void> {
  const { name } = agent
  const scene = await Scene.begin(t, agent)
  const { proxy } = scene
  const [requests, bytes] = [proxy.requests, proxy.bytes]
  const child = scene.start(t)
  for (let task = 0; task < tasks; task++) {
    await scene.waits()
    await scene.ask()
    await scene.allAnswered()
    // More than a second after a mark, so that no client gathers what it has handled.
    await scene.hasMarked()
    await sleep(marksPauseMs)
  }
  await scene.waits()
  const [made, moved] = [proxy.requests - requests, (proxy.bytes - bytes) / 1024]
  kill(child)
  const lines = programOf(agent)
    .split('\n')
    .filter((line) => line.trim() !== '').length
  const row = new RegExp(`^\\| ${name} \\| (\\d+) \\| (\\d+) \\| (\\d+) \\|`, 'm').exec(manual)!
  const [, linesShown, requestsShown, kbShown] = row
  t.comment(`${name}: ${lines} lines, ${made} requests, ${moved.toFixed(1)} KB`)
  t.same([lines, made], [Number(linesShown), Number(requestsShown)])
  t.ok(Math.abs(moved - Number(kbShown)) < 1, `${moved} KB`)
}

for (const agent of sampleOf('AGENT_KILLS', agents)) {
  const { name, isOnce } = agent
  const skip = skipOf(agent)

  t.test(`agent in ${name}: killed ${kills} times: no message is missed`, { skip }, async (t) => {
    t.comment(`TEST_SEED=${chosenSeed}`)
    const scene = await Scene.begin(t, agent)
    const first = scene.start(t)
    await scene.waits() // over MCP, news begins with the first call
    first.kill('SIGKILL')
    for (let life = 0; life < kills; life++) {
      const child = scene.start(t)
      const asking = (async () => {
        for (let task = 0; task < 2; task++) await scene.ask()
      })()
      await sleep(random() * lifeMsMax)
      child.kill('SIGKILL')
      await asking
    }
    scene.start(t)
    const answers = await scene.allAnswered()
    t.comment(`${scene.expected.length} messages, ${answers.length} answers`)
    t.same([...new Set(answers)], scene.expected, 'each is answered, in order')
    if (isOnce) t.same(answers, scene.expected, 'once')
  })
}
