// Question:   how many instructions does the server execute per request?
// Compares:   the floor and the forum, in user mode; with --readers N the forum alone, and the main
//             process of one with N readers. Unlike time, this hardly depends on other load on the
//             machine: a change of 10 % is visible where times differ by 50 %.
// Fixed:      64 connections, the state of `npm run bench`, V8 on one thread, durability always.
// Reports:    instructions per request: the difference between a long load and a short one, each on
//             a newly started server, counted by valgrind's cachegrind.
// Leaves out: the kernel, and the cost of cold caches: ratios are not those of throughput.
// Smoke:      none, because it takes minutes. Run it: node dist/bench/instructions.js [--readers N]
//             [SCENARIO …]

import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readArgs } from '../src/base/arguments.ts'
import { refuse } from './flags.ts'
import { populate, usualSize } from './population.ts'
import { has, workDirectory } from './process.ts'
import type { Answered } from './ring.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { readersServe, sample, sender, startFloor, startForum } from './sides.ts'

const connections = 64
const secondsShort = 8
const secondsLong = 20
const usual = ['feed-empty', 'tail', 'page', 'reply']

const say = (line: string) => process.stdout.write(`${line}\n`)

/** What is counted: the floor with these answers, or the forum with this number of readers. */
interface Counting {
  floorAnswers?: readonly Answered[] | null
  readers?: number
}

interface Counted {
  instructions: number
  requests: number
}

const dir = workDirectory()
const built = join(dir, 'built')
let runs = 0

/** Runs a load for some seconds against a server that is started for it, under cachegrind. */
async function count(
  scenario: Scenario,
  { floorAnswers = null, readers = 0 }: Counting,
  seconds: number,
): Promise<Counted> {
  const home = join(dir, `run-${runs++}`)
  mkdirSync(home)
  const log = join(home, 'cachegrind')
  const under = [
    'valgrind',
    '--tool=cachegrind',
    '--cache-sim=no',
    '--smc-check=all-non-file', // V8 compiles code at run time
    '--cachegrind-out-file=/dev/null',
    `--log-file=${log}`,
  ]
  const data = join(home, 'data')
  cpSync(built, data, { recursive: true })
  // Keys and positions come from a forum. If the floor is counted, that forum is not.
  const isFloor = floorAnswers !== null
  const flags = ['--checkpoint-mb', '0', '--no-search', '--readers', `${readers}`]
  const forum = await startForum(data, flags, isFloor ? [] : under)
  await readersServe(forum, readers)
  const server = isFloor ? await startFloor(join(home, 'floor.json'), floorAnswers, under) : forum
  const side = (await sender(home, scenario, population, forum))(scenario.name, server)
  const { requests, errors } = await side.load({ connections, seconds }, 0)
  // The first answer, for which V8 compiles code, may be too late for the load generator.
  if (errors > connections) throw new Error(`${scenario.name}: ${errors} errors`)
  await server.stop()
  if (isFloor) await forum.stop()
  const instructions = /I +refs: +([\d,]+)/.exec(readFileSync(log, 'utf8'))?.[1]
  rmSync(home, { recursive: true })
  return { requests, instructions: Number(instructions?.replaceAll(',', '')) }
}

async function perRequest(scenario: Scenario, counting: Counting): Promise<number> {
  const short = await count(scenario, counting, secondsShort)
  const long = await count(scenario, counting, secondsLong)
  return (long.instructions - short.instructions) / (long.requests - short.requests)
}

const options = { readers: { type: 'string', default: '0' } } as const
const config = { args: process.argv.slice(2), options, allowPositionals: true }
const { values, positionals } = readArgs(config, (sentence) => refuse(`instructions: ${sentence}`))
const readers = Number(values.readers)
if (!/^\d+$/.test(values.readers)) refuse(`--readers takes a number, not "${values.readers}"`)
const names = positionals.length > 0 ? positionals : usual
const chosen = names.map((name) => scenarios.find((each) => each.name === name) ?? name)
const unknown = chosen.find((each) => typeof each === 'string')
if (unknown !== undefined) {
  refuse(`instructions: there is no scenario "${unknown}"`)
}
if (!has('valgrind')) {
  say('skipped: it needs valgrind (apt-get install valgrind)')
  process.exit(0)
}
const population = await populate(built, usualSize)
const first = await startForum(built)
const answersOf = new Map<Scenario, Answered[]>()
for (const scenario of chosen as Scenario[]) {
  answersOf.set(scenario, await sample(scenario, population, first))
}
await first.stop() // takes a checkpoint, so that all starts cost the same
say('instructions for a request, in user mode')
const sides =
  readers === 0 ? ['floor', 'forum'] : ['alone', `with ${readers} readers, main process`]
for (const [scenario, floorAnswers] of answersOf) {
  const before = await perRequest(scenario, readers === 0 ? { floorAnswers } : {})
  const after = await perRequest(scenario, { readers })
  const ratio = (readers === 0 ? before / after : after / before).toFixed(2)
  const [a, b] = [before, after].map((each) => Math.round(each).toLocaleString('en').padStart(8))
  say(`${scenario.name.padEnd(12)} ${sides[0]} ${a}  ${sides[1]} ${b}  ratio ${ratio}`)
}
process.exit(0)
