// A node: takes the data directory, listens, recovers, serves, drains, stops.
//
// N1. It listens while it recovers, and answers 503 `starting` until the whole log is applied.
// N2. Stopping: no new connections, 503 for new requests, what is in flight is finished and synced.
// N3. Webhooks that are being asked or woken when it stops are waited for; the rest is sent later.
// N4. After a failed sync nothing is retried: what waits gets 503, and the process ends with 74.

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { JournalError } from '../wal/errors.ts'
import { type Journal, openJournal } from '../wal/journal.ts'
import type { Service } from './api/route.ts'
import { routes } from './api/routes.ts'
import { type Config, ConfigError } from './config.ts'
import { apply } from './forum/apply.ts'
import type { Forum } from './forum/forum.ts'
import { expireGuests } from './forum/identities.ts'
import { decode, NewerRecord } from './forum/records.ts'
import { randomSeed, systemStamps } from './forum/stamp.ts'
import { hasRightKey, sweepWebhooks } from './forum/webhooks.ts'
import type { Listen, Listener } from './http/exchange.ts'
import { Gate } from './http/gate.ts'
import { type Availability, Edge } from './http/handle.ts'
import { listenNode } from './http/node.ts'
import { loadUws } from './http/uws.ts'
import { deriveKey, loadSecret } from './secret.ts'
import { State } from './state/state.ts'
import { startWakeups, type Wakeups } from './wakeups.ts'

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
  const edge = new Edge(routes, availability, config)
  const startedAt = performance.now()
  const state = new State({
    retentionMs: config.idempotencyHours * 3_600_000,
    seed: randomSeed(),
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
  const publicUrl = config.publicUrl ?? url
  const wakeups = startWakeups(forum, config, publicUrl)
  const service: Service = {
    forum,
    publicUrl,
    pollAfterSeconds: config.pollAfterSeconds,
    webhooks: wakeups,
    durability: config.durabilityName,
    version,
    uptimeSeconds: () => Math.floor((performance.now() - startedAt) / 1000),
  }
  const failed = watch(journal, gate, wakeups)
  edge.open(service, gate)
  availability.refusal = null
  expire(forum)
  wakeups.resume()
  const expiry = setInterval(() => expire(forum), expiryCheckMs)
  return {
    url,
    failed,
    async stop() {
      clearInterval(expiry)
      availability.refusal = 'shutting_down'
      listener.stop()
      await wakeups.stop()
      await nextTurn() // what the webhooks said is answered
      await journal.close()
      await sleep(lingerMs)
    },
  }
}

/** Records what has come to its end by now. */
function expire(forum: Forum): void {
  expireGuests(forum)
  sweepWebhooks(forum)
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

/** The forum on its recovered state; a ConfigError when the secret is not the log's. */
async function openForum(config: Config, state: State, journal: Journal): Promise<Forum> {
  try {
    const secret = loadSecret(config.data, config.secret)
    const webhookKey = deriveKey(secret, 'webhook')
    const forum = { state, journal, stamps: systemStamps(), webhookKey }
    if (hasRightKey(forum)) return forum
    throw new ConfigError(
      `AGENT_FORUM_SECRET, or ${config.data}/secret, is not the secret this data was written with`,
    )
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

/** Lets answers and wakeups out as the log becomes durable; rejects when it never will again. */
function watch(journal: Journal, gate: Gate, wakeups: Wakeups): Promise<never> {
  journal.onDurable = (durable) => {
    gate.open(durable)
    wakeups.onDurable(durable)
  }
  const failed = new Promise<never>((_, reject) => {
    journal.onFailed = (error) => {
      gate.fail()
      reject(error)
    }
  })
  failed.catch(() => {}) // whoever runs the node looks at it
  return failed
}
