// Nodes that share one log over a cluster of nats-servers. Each is a process of its own, with its
// own data directory and its own links to the servers, which fail independently of the others'.
//
//   const [a, b] = await startPair(t, cluster, { stream: 'test-1' })     a leads, b stands by
//   await b.kill() … await b.start()          SIGKILL, and the same node again, on the same port
//   a.links.set('cut') … a.links.set('open')
//   await settled([a, b])                     one leads, all others follow, all are ready
//
// A leader whose stream has lost its end exits with code 74, and is started again, as by a
// supervisor: it then publishes what is missing. The test must detect any other exit.

import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ask } from '../../api/operators.ts'
import { dataDirectory, Program, run } from '../../api/process.ts'
import { type NodeClock, newClock } from '../../faults/node-clock.ts'
import { smallDisk } from '../../faults/small-disk.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'
import type { Place } from './checked-swarm.ts'
import type { Cluster } from './nats-cluster.ts'
import type { Links } from './tcp-link.ts'

/** The smallest value that the flag accepts. */
const takeoverSecondsMin = 1
/** Enough for two segments and the checkpoints of a test. */
const diskMebibytes = 256
const secret = 'the same secret on all nodes of one history'

export interface NodeStatus {
  role: 'single' | 'leader' | 'follower'
  epoch: string
  position: number
}

export interface NodeOptions {
  name: string
  links: Links
  /** The ports of the API and of operators. */
  ports: readonly [number, number]
  data: string
  flags: readonly string[]
  /** The file system of its own that it has its data on, if it has one. */
  disk?: string | null
  clock?: NodeClock | null
}

export class ReplicatedNode implements Place {
  readonly name: string
  readonly url: string
  readonly links: Links
  readonly data: string
  readonly opsPort: number
  readonly disk: string | null
  readonly clock: NodeClock | null
  readonly #alone: readonly string[]
  readonly #flags: readonly string[]
  #program: Program | null = null
  /** The output of its earlier lives. */
  #earlier = ''
  /** The number of restarts because the stream had lost its end. */
  lostEnds = 0

  constructor({ name, links, ports, data, flags, disk = null, clock = null }: NodeOptions) {
    const [port, opsPort] = ports
    this.name = name
    this.url = `http://127.0.0.1:${port}`
    this.links = links
    this.data = data
    this.disk = disk
    this.clock = clock
    this.opsPort = opsPort
    const listening = ['--port', `${port}`, '--ops-port', `${opsPort}`]
    this.#alone = ['serve', ...listening, '--data', data]
    this.#flags = flags
  }

  get program(): Program {
    return this.#program!
  }

  get isRunning(): boolean {
    return this.#program !== null && !this.#program.hasEnded
  }

  /** The output of all its lives. */
  get log(): string {
    return this.#earlier + (this.#program?.stdout ?? '') + (this.#program?.stderr ?? '')
  }

  /** Starts the process, with additional flags for this life. It serves some time later. */
  start(flags: readonly string[] = []): void {
    this.#start([...this.#alone, ...this.#flags, ...flags])
  }

  /** Starts it as a node whose log no other node has. */
  startAlone(): void {
    this.#start(this.#alone)
  }

  #start(args: readonly string[]): void {
    this.#earlier = this.log
    const program = new Program(args, {
      AGENT_FORUM_SECRET: secret,
      ...this.clock?.environment,
    })
    this.#program = program
    program.child.once('close', (code) => {
      if (code !== 74 || !/the stream ends at position \d+, before/.test(program.stderr)) return
      this.lostEnds += 1
      this.start()
    })
  }

  async kill(): Promise<void> {
    await this.#program?.stop('SIGKILL')
  }

  /** Stops the process as an operator does. Resolves to the exit code. */
  async stop(): Promise<number | null> {
    return this.#program === null ? null : (await this.#program.stop('SIGTERM')).code
  }

  pause(): void {
    this.program.child.kill('SIGSTOP')
  }

  resume(): void {
    this.program.child.kill('SIGCONT')
  }

  /** Returns the content of /api/status, or null while the node does not answer. */
  async status(): Promise<NodeStatus | null> {
    try {
      const signal = AbortSignal.timeout(2_000)
      const answer = await fetch(`${this.url}/api/status`, { signal })
      return answer.ok ? ((await answer.json()) as NodeStatus) : null
    } catch {
      return null
    }
  }

  /** Returns whether /readyz reports that the node may have callers. */
  async isReady(): Promise<boolean> {
    return (await this.#readyz())?.status === 200
  }

  /** Returns the text of /readyz, or '' while the node does not answer. */
  async readiness(): Promise<string> {
    return (await this.#readyz())?.text ?? ''
  }

  /** The names of the files in its data directory. */
  get files(): string[] {
    return readdirSync(this.data)
  }

  /** Loses the node's disk. Call it only while the node does not run. */
  loseData(): void {
    rmSync(this.data, { recursive: true, force: true })
  }

  async #readyz() {
    try {
      return await ask(this.opsPort, '/readyz')
    } catch {
      return null
    }
  }

  /** Returns the node's readiness, metrics and log, for the report of a failed test. */
  async report(): Promise<string> {
    const pages = ['/readyz?verbose', '/metrics'].map(async (path) => {
      try {
        const signal = AbortSignal.timeout(2_000)
        const answer = await fetch(`http://127.0.0.1:${this.opsPort}${path}`, { signal })
        return `${path}\n${(await answer.text()).replace(/^#.*\n/gm, '')}`
      } catch (error) {
        return `${path}: ${error}`
      }
    })
    return [...(await Promise.all(pages)), this.log.slice(-6000)].join('\n')
  }

  /** Returns the records of its log as lines of JSON. Call it only while the node does not run. */
  async records(): Promise<string[]> {
    const { code, stdout, stderr } = await run(['wal', 'export', '--data', this.data])
    if (code !== 0) throw new Error(`${this.name}: export ended with ${code}: ${stderr}`)
    return stdout.trimEnd().split('\n')
  }
}

export interface PairOptions {
  stream: string
  /** The time that a standby waits for a sign of life of the leader; default 1. */
  takeoverSeconds?: number
  /** Additional flags of both nodes. */
  flags?: readonly string[]
  /** Whether each has a file system and a clock of its own, where the machine permits it. */
  isApart?: boolean
}

/** Makes a standby node in this role. It is killed after the test. */
export async function newNode(
  t: Test,
  cluster: Cluster,
  { stream, flags = [], takeoverSeconds = takeoverSecondsMin, isApart = false }: PairOptions,
  { name, role }: { name: string; role: '--replicate' | '--follow' },
): Promise<ReplicatedNode> {
  const links = await cluster.links(t)
  const common = ['--standby', '--takeover-seconds', `${takeoverSeconds}`]
  const replication = [role, links.url, '--replicate-stream', stream, ...common, ...flags]
  const ports = [await freePort(), await freePort()] as const
  const disk = isApart ? smallDisk(t, diskMebibytes) : null
  const data = disk === null ? dataDirectory(t) : join(disk, 'data')
  const clock = isApart ? newClock(t) : null
  const made = new ReplicatedNode({ name, links, ports, data, flags: replication, disk, clock })
  t.teardown(async () => {
    if (!t.passing()) t.comment(name, await made.report())
    await made.kill()
  })
  return made
}

/**
 * Starts two nodes on a new stream: the first one leads, the other stands by. They are killed after
 * the test.
 */
export async function startPair(
  t: Test,
  cluster: Cluster,
  options: PairOptions,
): Promise<[ReplicatedNode, ReplicatedNode]> {
  const pair: [ReplicatedNode, ReplicatedNode] = [
    await newNode(t, cluster, options, { name: 'first', role: '--replicate' }),
    await newNode(t, cluster, options, { name: 'second', role: '--follow' }),
  ]
  pair[0].start()
  await until('the first node to lead', async () => (await pair[0].status())?.role === 'leader')
  pair[1].start()
  await settled(pair)
  return pair
}

/** Resolves to the leader and the others, once one leads, the others follow and all are ready. */
export async function settled(
  nodes: readonly ReplicatedNode[],
): Promise<{ leader: ReplicatedNode; followers: ReplicatedNode[] }> {
  return until('one leader, and followers that have caught up', async () => {
    const leaders: ReplicatedNode[] = []
    for (const node of nodes) {
      if (!(node.isRunning && (await node.isReady()))) return null
      if ((await node.status())?.role === 'leader') leaders.push(node)
    }
    const [leader] = leaders
    if (leader === undefined || leaders.length > 1) return null
    return { leader, followers: nodes.filter((node) => node !== leader) }
  })
}

/**
 * Returns the first difference between the logs of stopped nodes where both have records, or null.
 */
export async function logDifference(nodes: readonly ReplicatedNode[]): Promise<string | null> {
  const [first, ...others] = nodes
  const byPosition = new Map((await first!.records()).map((line) => [positionOf(line), line]))
  for (const other of others) {
    for (const line of await other.records()) {
      const same = byPosition.get(positionOf(line))
      if (same === undefined || known(same) === known(line)) continue
      return `${first!.name} has ${same}, and ${other.name} ${line}`
    }
  }
  return null
}

/**
 * Returns a record without the ids of earlier objects, which a log that begins with a checkpoint
 * lacks.
 */
function known(line: string): string {
  const {
    byId: _,
    threadId: __,
    mentionIds: ___,
    ...record
  } = JSON.parse(line) as Record<string, unknown>
  return JSON.stringify(record)
}

function positionOf(line: string): number {
  return (JSON.parse(line) as { position: number }).position
}
