// The forum, and the floor under each scenario: the sides that speak HTTP, started and stopped.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Side } from './compare.ts'
import { bestGenerator, type Generator, generators } from './load.ts'
import type { Population } from './population.ts'
import { freePort, type Server, startServer } from './process.ts'
import { ask } from './ring.ts'
import type { Scenario } from './scenarios.ts'

/** How many of the forum's answers the floor gives in turn. */
const samples = 100

export interface Forum extends Server {
  /** The numbers of /metrics, by name and labels. */
  metrics(): Promise<Map<string, number>>
}

export async function startForum(dir: string, flags: readonly string[] = []): Promise<Forum> {
  const opsPort = await freePort()
  const main = join(import.meta.dirname, '../src/main.js')
  const args = ['serve', '--port', '0', '--ops-port', `${opsPort}`, '--data', dir, ...flags]
  const server = await startServer([main, ...args])
  return {
    ...server,
    async metrics() {
      const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
      return new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(/\S+$/.exec(line))]))
    },
  }
}

export interface Scene {
  floor: Side
  forum: Side
  /** A further side that is sent the same. */
  other(name: string, server: Server): Side
  stop(): Promise<void>
}

/** The floor and the forum, ready for one scenario. */
export async function setScene(
  dir: string,
  scenario: Scenario,
  population: Population,
  forum: Forum,
  generator: Generator = bestGenerator,
): Promise<Scene> {
  const ring = scenario.ring(population)
  const send = generators[generator](dir, scenario.name, ring)
  const position = async () => (await forum.metrics()).get('agent_forum_journal_position')!
  const tag = `${scenario.name}-${await position()}`
  const filling = { prefix: `sample-${tag}-`, position: await position() }
  const answers = await ask(forum.url, ring, filling, samples)
  const answersFile = join(dir, `${scenario.name}.json`)
  writeFileSync(answersFile, JSON.stringify(answers))
  const floor = await startServer([join(import.meta.dirname, 'floor.js'), answersFile])
  let loads = 0
  const side = (name: string, { url, pid }: Server): Side => ({
    name,
    pids: [pid],
    load: async (amount) =>
      send({ url, ...amount }, { prefix: `${tag}-${loads++}-`, position: await position() }),
  })
  return {
    floor: side('floor', floor),
    forum: side('forum', forum),
    other: side,
    stop: () => floor.stop(),
  }
}
