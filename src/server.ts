// A node: takes the data directory, listens, recovers, serves, drains, stops.
//
// N1. It listens while it recovers, and answers 503 `starting` until the whole log is applied.
// N2. Stopping: no new connections, 503 for new requests, what is in flight is finished and synced.
// N3. After a failed sync nothing is retried: what waits gets 503, and the process ends with 74.

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { JournalError } from '../wal/errors.ts'
import { type Journal, openJournal } from '../wal/journal.ts'
import type { Service } from './api/route.ts'
import { routesOf } from './api/routes.ts'
import { type Config, ConfigError } from './config.ts'
import { apply } from './forum/apply.ts'
import type { Forum } from './forum/forum.ts'
import { expireGuests } from './forum/identities.ts'
import { decode, NewerRecord } from './forum/records.ts'
import { randomSeed, systemStamps } from './forum/stamp.ts'
import type { Listen, Listener } from './http/exchange.ts'
import { Gate } from './http/gate.ts'
import { type Availability, Edge } from './http/handle.ts'
import { listenNode } from './http/node.ts'
import { loadUws } from './http/uws.ts'
import { deriveKey, loadSecret } from './secret.ts'
import { State } from './state/state.ts'

const expiryCheckMs = 60_000
/** Time for the last answers to reach their callers. */
const lingerMs = 50

export interface Node {
  /** Where it answers. */
  url: string
  /** Drains and stops; resolves when everything is on disk. */
  stop(): Promise<void>
  /** Rejects when the storage fails. */
  failed: Promise<never>
}

/** Starts a node; resolves when it serves. Rejects with a JournalError or ConfigError. */
export async function startNode(config: Config, version: string, log: Logger): Promise<Node> {
  const listen = chooseHttp(config, log)
  const availability: Availability = { refusal: 'starting' }
  const edge = new Edge(routesOf(config), availability, config)
  const startedAt = performance.now()
  const state = new State({
    retentionMs: config.idempotencyHours * 3_600_000,
    seed: randomSeed(),
    limits: config.limits,
  })
  // This takes the directory at once, so a second start hears of it before it hears of the port.
  const recovering = recover(config, state, log)
  await Promise.race([recovering, nextTurn()])
  const listener = await listenOrFail(config, listen, edge, recovering)
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  const url = `http://${host}:${listener.port}`
  const journal = await recovering
  const forum = await openForum(config, state, journal)
  const gate = new Gate(journal)
  const service: Service = {
    forum,
    publicUrl: config.publicUrl ?? url,
    pollAfterSeconds: config.pollAfterSeconds,
    compat: config.compat,
    durability: config.durabilityName,
    version,
    uptimeSeconds: () => Math.floor((performance.now() - startedAt) / 1000),
  }
  const failed = watch(journal, gate)
  edge.open(service, gate)
  availability.refusal = null
  expireGuests(forum)
  const expiry = setInterval(() => expireGuests(forum), expiryCheckMs)
  return {
    url,
    failed,
    async stop() {
      clearInterval(expiry)
      availability.refusal = 'shutting_down'
      listener.stop()
      await journal.close()
      await sleep(lingerMs)
    },
  }
}

/** The HTTP server under the edge: the fast one, where it runs on this Node. */
function chooseHttp({ http }: Config, log: Logger): Listen {
  const uws = http === 'node' ? null : loadUws()
  if (uws === null && http === 'uws') {
    throw new ConfigError(
      `uWebSockets.js has no native binding for Node ${process.version} here; take --http auto`,
    )
  }
  log.info({ http: uws === null ? 'node:http' : 'uWebSockets.js', node: process.version }, 'http')
  return uws ?? listenNode
}

async function listenOrFail(
  { host, port }: Config,
  listen: Listen,
  edge: Edge,
  recovering: Promise<Journal>,
): Promise<Listener> {
  try {
    return await listen(host, port, (exchange) => edge.handle(exchange))
  } catch (error) {
    const journal = await recovering
    await journal.close()
    throw new ConfigError(`${(error as Error).message}; choose another --port`)
  }
}

async function recover(config: Config, state: State, log: Logger): Promise<Journal> {
  const begun = performance.now()
  const journal = await openJournal({
    dir: config.data,
    durability: config.durability,
    onRecord: (position, row) => applyRow(state, position, row),
    onNotice: ({ event, ...fields }) => log.info(fields, event),
  })
  const recovered = {
    position: journal.position,
    identities: state.identities.count,
    threads: state.threads.count,
    messages: state.messages.count,
    seconds: Number(((performance.now() - begun) / 1000).toFixed(3)),
  }
  log.info(recovered, 'recovered')
  return journal
}

/** The forum on its recovered state; a ConfigError when its secret is none. */
async function openForum(config: Config, state: State, journal: Journal): Promise<Forum> {
  try {
    const secret = loadSecret(config.data, config.secret)
    return {
      state,
      journal,
      stamps: systemStamps(),
      ticketKey: deriveKey(secret, 'ticket'),
      addressKey: deriveKey(secret, 'address'),
    }
  } catch (error) {
    await journal.close()
    throw error
  }
}

function applyRow(state: State, position: number, row: unknown): void {
  try {
    apply(state, position, decode(row))
  } catch (error) {
    if (!(error instanceof NewerRecord)) throw error
    throw new JournalError(
      76,
      `position ${position} of the log is a ${error.message}, written by a newer version of ` +
        'agent-forum; start that version',
    )
  }
}

/** Lets answers out as the log becomes durable; rejects when it never will again. */
function watch(journal: Journal, gate: Gate): Promise<never> {
  journal.onDurable = (durable) => gate.open(durable)
  const failed = new Promise<never>((_, reject) => {
    journal.onFailed = (error) => {
      gate.fail()
      reject(error)
    }
  })
  failed.catch(() => {}) // whoever runs the node looks at it
  return failed
}
