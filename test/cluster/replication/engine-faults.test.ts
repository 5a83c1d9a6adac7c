// Goal:   the promises of log-stream.ts about the engine hold on a real cluster whose servers die,
//         stop and are cut off. All other promises of replication rest on them.
// Method: two nodes append to one stream at once, each with several messages in flight, and note
//         every outcome, while a fault comes and goes. Then the stream is read from its beginning.
//
// F1. A message that was acknowledged is at the sequence that was acknowledged.
// F2. A message that was rejected is nowhere in the stream.
// F3. A message whose outcome is unknown is in the stream at most once.
// F4. A message that was sent behind another one is directly after that one, or absent.
// F5. A reader gets the messages of the stream, in order and without gaps.

import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { connectEngine } from '../../../src/cluster/replication/jetstream/connect.ts'
import type { JetStreamLog } from '../../../src/cluster/replication/jetstream/log.ts'
import type { StreamMessage, Unplaced } from '../../../src/cluster/replication/log-stream.ts'
import { chosenSeed, isDeep, sizeOf, timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'
import { type Cluster, type NatsServer, nats, startCluster } from './nats-cluster.ts'
import type { Links } from './tcp-link.ts'

const rounds = sizeOf('REPLICATION_FAULTS')
const inFlight = 4
let cluster: Cluster
let streams = 0

t.setTimeout(timeoutMs)
t.before(async () => {
  if (nats.skip === false) cluster = await startCluster(t)
})

/** One node that appends as fast as it can, and the outcome of each of its messages. */
class Appender {
  readonly acknowledged = new Map<string, number>()
  /** For each message, its predecessor, before that one was acknowledged. */
  readonly predecessors = new Map<string, string>()
  readonly rejected = new Set<string>()
  unknown = 0
  /** The number of calls of any kind without an answer. */
  unanswered = 0
  readonly #log: JetStreamLog
  readonly #name: string
  #sent = 0
  #isStopping = false
  #running: Promise<void>

  constructor(log: JetStreamLog, name: string) {
    this.#log = log
    this.#name = name
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      try {
        const last = (await this.#log.last())?.sequence ?? 0
        const messages = Array.from({ length: inFlight }, (_, n) => this.#message(last + n))
        const outcomes: Promise<void>[] = []
        for (const [n, message] of messages.entries()) {
          outcomes.push(this.#append(message, last + n, messages[n - 1]))
          // In between, the other node's messages arrive.
          if (n % 2 === 0) await nextIteration()
        }
        await Promise.all(outcomes)
      } catch {
        this.unanswered += 1
        await sleep(20) // the stream cannot be read at present
      }
    }
  }

  #message(expectedLast: number): Unplaced {
    this.#sent += 1
    const [first, last] = [expectedLast + 1, expectedLast + 1]
    const name = { store: 'the-store', nonce: 'the-nonce' }
    return { first, last, term: 1, name, bytes: Buffer.from(`${this.#name} ${this.#sent}`) }
  }

  async #append(message: Unplaced, expectedLast: number, previous?: Unplaced): Promise<void> {
    const content = textOf(message)
    if (previous !== undefined) this.predecessors.set(content, textOf(previous))
    try {
      const outcome = await this.#log.publish(message, expectedLast, previous)
      if ('rejected' in outcome) this.rejected.add(content)
      else this.acknowledged.set(content, outcome.sequence)
    } catch {
      this.unknown += 1
      this.unanswered += 1
    }
  }
}

const textOf = ({ bytes }: Unplaced) => Buffer.from(bytes).toString()

/** Connects a node to a stream, by the node's own links to the servers. */
async function connected(t: Test, stream: string, node: string) {
  const links = await cluster.links(t)
  const options = { servers: links.url.split(','), stream, replicas: 3, node, takeoverMs: 5000 }
  const log = await connectEngine({ ...options, credentials: null, tls: null }, () => {})
  t.teardown(() => log.close())
  return { log, links }
}

/** Returns the server that leads the stream now. */
async function leaderOf(log: JetStreamLog): Promise<NatsServer> {
  const manager = await jetstreamManager(log.connection)
  const name = await until('a leader of the stream', async () => {
    const info = await manager.streams.info(log.name).catch(() => null)
    return info?.cluster?.leader
  })
  return cluster.servers.find((server) => server.name === name)!
}

/** Returns everything in the stream, as a reader gets it. */
async function readAll(log: JetStreamLog): Promise<StreamMessage[]> {
  const end = await until('the end of the stream', () => log.last().catch(() => null))
  return until('a reader to reach the end', async () => {
    const all: StreamMessage[] = []
    let isBroken = false
    const found = (message: StreamMessage) => void all.push(message)
    const reading = log.read(1, found, () => {
      isBroken = true
    })
    await until('its end', () => isBroken || all.length >= end.sequence)
    reading.stop()
    return isBroken ? null : all
  })
}

interface Scene {
  leader: NatsServer
  links: Links
}

/** A fault of the servers or the links. */
interface Fault {
  begin(scene: Scene): Promise<void>
  end(scene: Scene): void
  /** Whether, for certain, calls of some node stay without an answer during the fault. */
  hits: boolean
  /** Whether messages are acknowledged during the fault. */
  goesOn: boolean
}

const faults: Record<string, Fault> = {
  'the server that leads the stream is killed': {
    begin: ({ leader }) => leader.kill(),
    end: ({ leader }) => leader.start(),
    hits: false,
    goesOn: true,
  },
  'the server that leads the stream is stopped': {
    begin: async ({ leader }) => leader.pause(),
    end: ({ leader }) => leader.resume(),
    hits: false,
    goesOn: true,
  },
  'a node is cut off': {
    begin: async ({ links }) => links.set('cut'),
    end: ({ links }) => links.set('open'),
    hits: true,
    goesOn: true,
  },
  'nothing of a node passes': {
    begin: async ({ links }) => links.set('silent'),
    end: ({ links }) => links.set('open'),
    hits: true,
    goesOn: true,
  },
  'a majority is killed': {
    begin: async () => {
      await Promise.all([cluster.servers[0]!.kill(), cluster.servers[1]!.kill()])
    },
    end: () => {
      cluster.servers[0]!.start()
      cluster.servers[1]!.start()
    },
    hits: true,
    goesOn: false,
  },
}

// The deep run includes all faults; by itself, this file has the one that TEST_SEED chooses.
const all = Object.entries(faults)
const chosen = isDeep ? all : [all[chosenSeed % all.length]!]

for (const [what, { begin, end, hits, goesOn }] of chosen) {
  t.test(`engine: ${what}, ${rounds} times: outcomes are true`, nats, async (t) => {
    t.comment(`TEST_SEED=${chosenSeed}`)
    streams += 1
    const stream = `test-${streams}`
    const [one, two] = [await connected(t, stream, 'one'), await connected(t, stream, 'two')]
    const appenders = [new Appender(one.log, 'one'), new Appender(two.log, 'two')]
    const stop = () => Promise.all(appenders.map((appender) => appender.stop()))
    t.teardown(stop)
    const acknowledged = () => appenders.reduce((sum, a) => sum + a.acknowledged.size, 0)
    const sum = (of: 'unknown' | 'unanswered') => appenders[0]![of] + appenders[1]![of]
    const more = async (count: number) => {
      const enough = acknowledged() + count
      await until(`${count} more to be acknowledged`, () => acknowledged() >= enough)
    }
    for (let round = 0; round < rounds; round++) {
      await more(30)
      const scene = { leader: await leaderOf(one.log), links: two.links }
      const before = sum('unanswered')
      await begin(scene)
      if (hits) await until('a call without an answer', () => sum('unanswered') > before)
      if (goesOn) await more(20)
      end(scene)
      await cluster.isReady()
      await more(30)
    }
    await stop()

    const messages = await readAll(one.log)
    const contents = messages.map(textOf)
    t.same(new Set(contents).size, contents.length, 'no message is there twice')
    t.same(
      messages.map(({ sequence }) => sequence),
      contents.map((_, n) => n + 1),
      'no gaps',
    )
    for (const { acknowledged, rejected, predecessors } of appenders) {
      const lost = [...acknowledged].filter(([content, at]) => contents[at - 1] !== content)
      t.same(lost, [], `${acknowledged.size} acknowledged`)
      const astray = contents.filter((content, at) => {
        const before = predecessors.get(content)
        return before !== undefined && contents[at - 1] !== before
      })
      t.same(astray, [], `${predecessors.size} sent behind another one`)
      const there = contents.filter((content) => rejected.has(content))
      t.same(there, [], `${rejected.size} rejected`)
    }
    t.comment(`${contents.length} messages, ${sum('unknown')} outcomes unknown`)
  })
}
