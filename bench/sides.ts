// The sides that speak HTTP: the forum, and the floor of each scenario. Starts and stops them.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Series, Status } from '../src/people/browser/dashboard/status.ts'
import { freePort } from '../test/free-port.ts'
import type { Side } from './compare.ts'
import { bestGenerator, type Generator, generators } from './load.ts'
import type { Population } from './population.ts'
import { type Server, startServer, type Watched } from './process.ts'
import { type Answered, ask } from './ring.ts'
import type { Scenario } from './scenarios.ts'

/** How many of the forum's answers the floor cycles through. */
const samples = 100

export interface Forum extends Server {
  /** The values of /metrics, by name and labels. */
  metrics(): Promise<Map<string, number>>
  /** The samples of /status.json after this one: one for each second. */
  samples(after: number): Promise<Series>
}

export async function startForum(
  dir: string,
  flags: readonly string[] = [],
  under: readonly string[] = [],
  watched?: Watched,
): Promise<Forum> {
  const opsPort = await freePort()
  const main = join(import.meta.dirname, '../agent-forum/cli/main.js')
  const args = ['serve', '--port', '0', '--ops-port', `${opsPort}`, '--data', dir, ...flags]
  const server = await startServer([main, ...args], under, watched)
  return {
    ...server,
    async metrics() {
      const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
      return new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(/\S+$/.exec(line))]))
    },
    async samples(after) {
      const answer = await fetch(`http://127.0.0.1:${opsPort}/status.json?after=${after}`)
      return ((await answer.json()) as Status).series
    },
  }
}

/** Resolves when this many readers of the node serve. */
export async function readersServe(forum: Forum, readers: number): Promise<void> {
  const serving = 'agent_forum_readers{state="serving"}'
  while (((await forum.metrics()).get(serving) ?? 0) < readers) await sleep(50)
}

export interface Scene {
  floor: Side
  forum: Side
  /** A further side that receives the same load. */
  other(name: string, server: Server): Side
  stop(): Promise<void>
}

/** Returns a function that makes sides of servers: each gets the scenario's ring. */
export async function sender(
  dir: string,
  { name, ring }: Scenario,
  population: Population,
  forum: Forum,
  generator: Generator = bestGenerator,
): Promise<Scene['other']> {
  const send = generators[generator](dir, name, ring(population))
  const tag = `${name}-${await positionOf(forum)}`
  let loads = 0
  return (name, { url, pid }) => ({
    name,
    pids: [pid],
    load: async (amount) => {
      const filling = { prefix: `${tag}-${loads++}-`, position: await positionOf(forum) }
      return send({ url, ...amount }, filling)
    },
  })
}

/** Returns the floor, which it starts, and the forum, ready for one scenario. */
export async function setScene(
  dir: string,
  scenario: Scenario,
  population: Population,
  forum: Forum,
  generator: Generator = bestGenerator,
): Promise<Scene> {
  const answers = await sample(scenario, population, forum)
  const floor = await startFloor(join(dir, `${scenario.name}.json`), answers)
  const other = await sender(dir, scenario, population, forum, generator)
  const stop = () => floor.stop()
  return { floor: other('floor', floor), forum: other('forum', forum), other, stop }
}

/** Returns the forum's answers to some of the scenario's requests. */
export async function sample(
  { name, ring }: Scenario,
  population: Population,
  forum: Forum,
): Promise<Answered[]> {
  const position = await positionOf(forum)
  const filling = { prefix: `sample-${name}-${position}-`, position }
  return ask(forum.url, ring(population), filling, samples)
}

/** Starts the floor with these answers, which it reads from the file. */
export function startFloor(
  file: string,
  answers: readonly Answered[],
  under: readonly string[] = [],
): Promise<Server> {
  writeFileSync(file, JSON.stringify(answers))
  return startServer([join(import.meta.dirname, 'floor.js'), file], under)
}

async function positionOf(forum: Forum): Promise<number> {
  return (await forum.metrics()).get('agent_forum_journal_position')!
}
