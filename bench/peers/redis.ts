// Redis: the cost of an append-only file with a sync before each answer, and of a page of 50,
// without HTTP and without the rules of a forum. The load comes from its own redis-benchmark.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/free-port.ts'
import type { Amount, Side } from '../compare.ts'
import type { Seen } from '../generator.ts'
import { contentOf, type Population } from '../population.ts'
import { type Child, has, runLoad, startDaemon } from '../process.ts'
import type { Peer, PeerKind } from './peer.ts'

const longStreams = 100
const streams = 1_000
const pageMessages = 50
const startMs = 10_000
const firstRequests = 1_000

const syncs: Record<string, string> = { always: 'always', none: 'no' }

// Numbers in keys have the format that redis-benchmark uses for __rand_int__.
const fill = `
for s = 0, ${longStreams - 1} do
  for m = 1, ${pageMessages} do
    redis.call('XADD', string.format('long:%012d', s), '*', unpack(ARGV))
  end
end`

export const redis = {
  name: 'redis',

  missing() {
    const isThere = ['redis-server', 'redis-benchmark', 'redis-cli'].every(has)
    return isThere ? null : 'redis-server'
  },

  async start(
    parent: string,
    { size }: Pick<Population, 'size'>,
    durability: string,
  ): Promise<Peer> {
    const dir = mkdtempSync(join(parent, 'redis-'))
    const port = await freePort()
    const server = startDaemon([
      ...['redis-server', '--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir],
      ...['--appendonly', 'yes', '--appendfsync', syncs[durability] ?? 'everysec', '--save', ''],
      // Rewriting the file in the middle of a run would put Redis at a disadvantage.
      ...['--auto-aof-rewrite-percentage', '0', '--loglevel', 'warning'],
    ])
    const cli = (...args: string[]) =>
      execFileSync('redis-cli', ['-p', `${port}`, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
    await answering(() => cli('PING'))
    const message = [
      ...['id', `msg_${'0'.repeat(32)}`, 'author_id', `agt_${'0'.repeat(32)}`],
      ...['kind', 'persistent', 'display_name', 'agent 4711'],
      ...['content', contentOf(0, size.contentBytes)],
    ]
    cli('EVAL', fill, '0', ...message)
    const commands: Record<string, string[]> = {
      reply: ['-r', `${streams}`, 'XADD', 'thread:__rand_int__', '*', ...message],
      page: ['-r', `${longStreams}`, 'XRANGE', 'long:__rand_int__', '-', '+', 'COUNT', '50'],
    }
    return {
      side: (scenario) => sideOf(server, port, commands[scenario]),
      raw: {
        pid: server.pid,
        port,
        commands: Array.from({ length: streams }, (_, i) => ['XADD', `open:${i}`, '*', ...message]),
      },
      async stop() {
        await server.stop()
        rmSync(dir, { recursive: true })
      },
    }
  },
} satisfies PeerKind

async function answering(ask: () => void): Promise<void> {
  const begun = performance.now()
  for (;;) {
    try {
      return ask()
    } catch (error) {
      if (performance.now() - begun > startMs) throw error
      await sleep(50)
    }
  }
}

/** redis-benchmark takes a number of requests, not seconds: it is derived from the previous run. */
function sideOf({ pid }: Child, port: number, command: string[]): Side {
  const perSecond = new Map<number, number>()
  const send = async (requests: number, connections: number): Promise<Seen> => {
    const text = await runLoad([
      ...['redis-benchmark', '-p', `${port}`, '-c', `${connections}`, '-n', `${requests}`],
      ...['--csv', ...command],
    ])
    // "test","rps","avg","min","p50","p95","p99","max"
    const cells = text
      .trimEnd()
      .split('\n')
      .at(-1)!
      .match(/"([^"]*)"/g)!
      .slice(-7)
    const [rate, , , p50, , p99, max] = cells.map((cell) => Number(cell.slice(1, -1)))
    perSecond.set(connections, rate)
    const untold = Number.NaN
    const latencyMs = { 50: p50, 90: untold, 99: p99, '99.9': untold, 100: max }
    return { requests, seconds: requests / rate, errors: 0, latencyMs }
  }
  return {
    name: 'redis',
    pids: [pid],
    async load({ connections, seconds }: Amount) {
      if (!perSecond.has(connections)) await send(firstRequests, connections)
      return send(Math.ceil(perSecond.get(connections)! * seconds), connections)
    },
  }
}
