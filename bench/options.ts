// The flags of `npm run bench`.

import { tmpdir } from 'node:os'
import { helpFlag, readArgs } from '../src/base/arguments.ts'
import { bestGenerator, type Generator, generators } from './load.ts'
import { scenarios } from './scenarios.ts'

export interface Options {
  plan: 'smoke' | 'quick' | 'full'
  /** Whether Redis and PostgreSQL are measured, if they are installed. */
  hasPeers: boolean
  /** The names of the scenarios to run. */
  only: string[]
  connections: number
  load: Generator
  durability: string
  /** Where data directories are created: on the disk that is measured. */
  dir: string
  json: string | null
  markdown: string | null
}

/** The part that measures latency at fixed rates, named like a scenario. */
export const latencyName = 'latency'

export class UsageError extends Error {}

export const help = `npm run bench -- [flags]

  --quick            fewer and shorter rounds: about 3 minutes in all
  --smoke            a second for each scenario, with a tiny forum: whether it still runs
  --no-peers         without Redis and PostgreSQL
  --only NAMES       these scenarios only, with commas between
  --connections N    at once; default 64
  --load GENERATOR   wrk or autocannon; default: wrk where it is installed
  --durability MODE  of the forum: always (default), interval[:ms], none
  --dir DIR          where the data goes: the disk that is measured; default ${tmpdir()}
  --json FILE        write the results as JSON too
  --markdown FILE    write the tables of docs/performance.md too
  -h, --help

Scenarios:
${scenarios.map(({ name, title }) => `  ${name.padEnd(18)} ${title}`).join('\n')}
  ${latencyName.padEnd(18)} replies and the swarm at fixed rates, with a million messages too
`

/** Returns null if help is requested. Throws a UsageError. */
export function parseOptions(args: string[]): Options | null {
  const values = parseFlags(args)
  if (values.help) return null
  const names = [...scenarios.map(({ name }) => name), latencyName]
  const only = values.only?.split(',') ?? names
  const unknown = only.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new UsageError(`--only: there is no scenario "${unknown}"`)
  const connections = Number(values.connections ?? 64)
  if (!Number.isInteger(connections) || connections < 1) {
    throw new UsageError(`--connections: "${values.connections}" is not a number from 1 on`)
  }
  const load = values.load ?? bestGenerator
  if (!Object.hasOwn(generators, load)) {
    throw new UsageError(`--load: "${load}" is neither wrk nor autocannon`)
  }
  return {
    load: load as Generator,
    plan: values.smoke ? 'smoke' : values.quick ? 'quick' : 'full',
    hasPeers: !values['no-peers'],
    only,
    connections,
    durability: values.durability ?? 'always',
    dir: values.dir ?? tmpdir(),
    json: values.json ?? null,
    markdown: values.markdown ?? null,
  }
}

function parseFlags(args: string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  return readArgs(
    {
      args,
      options: {
        quick: flag,
        smoke: flag,
        'no-peers': flag,
        only: text,
        connections: text,
        load: text,
        durability: text,
        dir: text,
        json: text,
        markdown: text,
        help: helpFlag,
      },
    },
    (sentence) => new UsageError(sentence),
  ).values
}
