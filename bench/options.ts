// The flags of `npm run bench`.

import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { ConfigError, type Flags, flagHelp, readFlags } from '../src/base/arguments.ts'
import { choiceOf, numberOf } from '../src/base/values.ts'
import { durabilityOf } from '../src/config/settings.ts'
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

const flags = {
  quick: { value: null, help: 'fewer and shorter rounds: about 5 minutes in all' },
  smoke: {
    value: null,
    help: 'a second for each scenario, with a tiny forum: whether it still runs',
  },
  'no-peers': { value: null, help: 'without Redis and PostgreSQL' },
  only: { value: 'NAMES', help: 'these scenarios only, with commas between' },
  connections: { value: 'N', preset: '64', help: 'at once' },
  load: { value: 'GENERATOR', preset: bestGenerator, help: 'wrk or autocannon' },
  durability: {
    value: 'MODE',
    preset: 'always',
    help: 'of the forum: always, interval[:ms], none',
  },
  dir: { value: 'DIR', preset: tmpdir(), help: 'where the data goes: the disk that is measured' },
  json: { value: 'FILE', help: 'write the results as JSON too' },
  markdown: { value: 'FILE', help: 'write the tables of docs/performance.md too' },
} satisfies Flags

export const help = `npm run bench -- [flags]

${flagHelp(flags)}
  -h, --help

Scenarios:
${scenarios.map(({ name, title }) => `  ${name.padEnd(18)} ${title}`).join('\n')}
  ${latencyName.padEnd(18)} replies and the swarm at fixed rates, with a million messages too
`

/** Returns null if help is requested. Throws a ConfigError. */
export function parseOptions(args: string[]): Options | null {
  const { values } = readFlags(args, flags, (sentence) => new ConfigError(sentence))
  if (values.help) return null
  const { connections, load, durability } = flags
  const only = values.only?.split(',')
  durabilityOf({ name: '--durability', text: values.durability ?? durability.preset })
  return {
    load: choiceOf({ name: '--load', text: values.load ?? load.preset }, generatorNames),
    plan: values.smoke ? 'smoke' : values.quick ? 'quick' : 'full',
    hasPeers: !values['no-peers'],
    only: only?.map((text) => choiceOf({ name: '--only', text }, names)) ?? names,
    connections: numberOf(
      { name: '--connections', text: values.connections ?? connections.preset },
      1,
      100_000,
    ),
    durability: values.durability ?? durability.preset,
    dir: directoryOf('dir', values.dir) ?? tmpdir(),
    json: fileOf('json', values.json),
    markdown: fileOf('markdown', values.markdown),
  }
}

/** Returns a directory that exists, so that a run does not end without its results. */
export function directoryOf(flag: string, dir: string | undefined): string | null {
  if (dir === undefined || existsSync(dir)) return dir ?? null
  throw new ConfigError(`--${flag}: there is no directory ${dir}`)
}

/** Returns the name of a file that can be made. */
export function fileOf(flag: string, file: string | undefined): string | null {
  if (file !== undefined) directoryOf(flag, dirname(file))
  return file ?? null
}

const names = [...scenarios.map(({ name }) => name), latencyName]
const generatorNames = Object.keys(generators) as Generator[]
