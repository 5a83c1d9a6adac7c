// A cluster of real nats-servers with JetStream on loopback, whose processes a test stops, kills
// and starts again, each by its id. Everything that they write is in a folder that is removed with
// the cluster.
//
//   const cluster = await startCluster(t)             three servers
//   cluster.servers[0].kill() … start()               SIGKILL, and the same server again
//   cluster.servers[0].pause() … resume()             SIGSTOP, SIGCONT
//   const links = await cluster.links(t)              one proxy for each server (tcp-link.ts)
//
// C1. A server keeps its ports and its store for as long as the cluster lives.
// C2. Clients learn no addresses from the servers (`no_advertise`), so that a client that connects
//     through links has no other way to the cluster.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'
import { Links } from './tcp-link.ts'

/** nats-server is a Debian package, which .ci/run installs. */
const isInstalled = spawnSync('nats-server', ['--version']).error === undefined

/** Options of a test that needs the servers. */
export const nats = { skip: isInstalled ? false : 'nats-server is not installed' } // unless so

/** The running servers, and their folders. None outlives its owner, however that ends. */
const running = new Set<ChildProcess>()
const folders = new Set<string>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const dir of folders) rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
})

export interface ClusterOptions {
  /** The number of servers; default 3. */
  size?: number
  /** The size of the largest message; default 1 MiB, the server's own. */
  messageBytesMax?: number
  /** The limit of all streams together on each server, in bytes; default: no limit. */
  storeBytesMax?: number
  /** More lines of the servers' configuration, such as accounts or TLS. */
  configuration?: string
}

/** The owner of a cluster, with which the cluster is stopped: a test or a benchmark. */
export type Owner = Pick<Test, 'teardown' | 'passing' | 'comment'>

export class NatsServer {
  readonly name: string
  readonly port: number
  /** The port at which the server reports its state over HTTP. */
  readonly monitorPort: number
  readonly routePort: number
  readonly #dir: string
  #child: ChildProcess | null = null
  #isPaused = false

  constructor(name: string, dir: string, [port, monitorPort, routePort]: readonly number[]) {
    this.name = name
    this.port = port!
    this.monitorPort = monitorPort!
    this.routePort = routePort!
    this.#dir = join(dir, name)
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  /** Available only while the process runs. */
  get pid(): number {
    return this.#child!.pid!
  }

  get isRunning(): boolean {
    return this.#child !== null && !this.#isPaused
  }

  configure(others: readonly NatsServer[], options: ClusterOptions): void {
    const { messageBytesMax = 1024 * 1024, storeBytesMax, configuration = '' } = options
    const limit = storeBytesMax === undefined ? '' : `max_file_store: ${storeBytesMax}`
    const routes = others.map(({ routePort }) => `nats://127.0.0.1:${routePort}`)
    const cluster = `cluster {
      name: test, listen: "127.0.0.1:${this.routePort}", no_advertise: true
      routes: [${routes.join(', ')}]
    }`
    mkdirSync(this.#dir)
    writeFileSync(
      this.#configuration,
      `server_name: ${this.name}
      listen: "127.0.0.1:${this.port}"
      http: "127.0.0.1:${this.monitorPort}"
      max_payload: ${messageBytesMax}
      jetstream { store_dir: "${this.#dir}", ${limit} }
      ${others.length > 0 ? cluster : ''}
      log_file: "${this.#logFile}"
      ${configuration}`,
    )
  }

  get #configuration(): string {
    return join(this.#dir, 'server.conf')
  }

  get #logFile(): string {
    return join(this.#dir, 'log')
  }

  /** Starts the process. It serves some time later. */
  start(): void {
    if (this.#child !== null) throw new Error(`${this.name} runs`)
    const child = spawn('nats-server', ['-c', this.#configuration], { stdio: 'ignore' })
    running.add(child)
    child.once('exit', () => running.delete(child))
    this.#child = child
    this.#isPaused = false
  }

  /** Ends the process with SIGKILL, or lets it stop by another signal. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === null) return
    this.#child = null
    const ended = child.exitCode ?? child.signalCode
    if (ended !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  /** Loses everything that the server has stored. Call it only while the server does not run. */
  loseStore(): void {
    rmSync(join(this.#dir, 'jetstream'), { recursive: true, force: true })
  }

  /** Returns the names of the files in its store that contain this text. */
  filesWith(text: string): string[] {
    const store = join(this.#dir, 'jetstream')
    const names = readdirSync(store, { recursive: true, encoding: 'utf8' })
    const isFile = (name: string) => statSync(join(store, name)).isFile()
    return names.filter((name) => isFile(name) && readFileSync(join(store, name)).includes(text))
  }

  /**
   * Stops the process where it is: its connections stay open, and nothing is answered. All its
   * threads have stopped when this returns.
   */
  pause(): void {
    this.#child!.kill('SIGSTOP')
    this.#isPaused = true
    const tasks = `/proc/${this.#child!.pid}/task`
    const isStopped = (task: string) => /\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'))
    while (!readdirSync(tasks).every(isStopped));
  }

  resume(): void {
    this.#child!.kill('SIGCONT')
    this.#isPaused = false
  }

  /** Returns a page of the monitor, or null while the server does not answer. */
  async monitor(path: string): Promise<Record<string, unknown> | null> {
    try {
      const signal = AbortSignal.timeout(2_000)
      const answer = await fetch(`http://127.0.0.1:${this.monitorPort}${path}`, { signal })
      return answer.ok ? ((await answer.json()) as Record<string, unknown>) : null
    } catch {
      return null
    }
  }

  /** Returns the server's streams, connections and log, for the report of a failed test. */
  async report(): Promise<string> {
    const pages = ['/jsz?consumers=1&raft=1', '/connz'].map(async (path) => {
      return `${path} ${JSON.stringify(await this.monitor(path))}`
    })
    return [...(await Promise.all(pages)), this.log.slice(-4000)].join('\n')
  }

  get log(): string {
    try {
      return readFileSync(this.#logFile, 'utf8')
    } catch {
      return ''
    }
  }
}

export class Cluster {
  readonly servers: readonly NatsServer[]

  constructor(servers: readonly NatsServer[]) {
    this.servers = servers
  }

  /** The URL for `--replicate` and `--follow`. */
  get url(): string {
    return this.servers.map(({ url }) => url).join(',')
  }

  /** Resolves when every running server is part of a cluster that can store streams. */
  async isReady(): Promise<void> {
    for (const server of this.servers) {
      if (server.isRunning) await until(`${server.name} to be ready`, () => isServing(server))
    }
  }

  /** Makes the links of one node to the cluster, which can be cut or slowed down. */
  async links(t: Owner): Promise<Links> {
    const links = await Links.to(this.servers.map(({ port }) => port))
    t.teardown(() => links.close())
    return links
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()))
  }
}

/** Starts a cluster, and resolves when it is ready. The cluster is removed after the test. */
export async function startCluster(t: Owner, options: ClusterOptions = {}): Promise<Cluster> {
  const { size = 3 } = options
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-nats-'))
  folders.add(dir)
  const servers: NatsServer[] = []
  for (let n = 1; n <= size; n++) {
    const ports = [await freePort(), await freePort(), await freePort()]
    servers.push(new NatsServer(`server-${n}`, dir, ports))
  }
  const cluster = new Cluster(servers)
  t.teardown(async () => {
    if (!t.passing()) for (const server of servers) t.comment(server.name, await server.report())
    await cluster.stop()
    rmSync(dir, { recursive: true, force: true })
    folders.delete(dir)
  })
  for (const server of servers) {
    server.configure(size === 1 ? [] : servers, options)
    server.start()
  }
  await cluster.isReady()
  return cluster
}

interface JetStreamState {
  meta_cluster?: { leader?: string }
}

/** Returns whether a server is part of the cluster; its copies of streams may still be behind. */
async function isServing(server: NatsServer): Promise<boolean> {
  if ((await server.monitor('/healthz?js-server-only=true')) === null) return false
  const state = (await server.monitor('/jsz')) as JetStreamState | null
  if (state === null) return false
  return state.meta_cluster === undefined || state.meta_cluster.leader !== undefined
}
