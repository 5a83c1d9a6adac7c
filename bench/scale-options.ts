// The flags of scale.ts.

import { tmpdir } from 'node:os'
import { helpFlag, readArgs } from '../src/base/arguments.ts'
import { UsageError } from './options.ts'
import type { Size } from './population.ts'
import { scaleScenarios } from './scenarios.ts'

export interface ScaleOptions {
  size: Size
  only: string[]
  /** How often the forum is started after each way of stopping. */
  starts: number
  rounds: number
  seconds: number
  /** The duration of each round of replies, with checkpoints and without. */
  watchSeconds: number
  /** Megabytes of log that a killed server leaves after its last checkpoint. */
  logMb: number
  /** Megabytes of log after which the node takes a checkpoint during the measurement. */
  checkpointMb: number
  durability: string
  /** Further flags of the large forum. */
  flags: string[]
  /** The directory for data. */
  dir: string
  /** A directory that is kept, and reused if it exists. */
  data: string | null
  json: string | null
}

const presets = {
  messages: '1m',
  threads: '100k',
  identities: '100k',
  bytes: '300',
  only: 'page,tail,feed-empty,feed-news,feed-1000,mixed,reply,anywhere',
  starts: '3',
  rounds: '5',
  seconds: '3',
  'watch-seconds': '10',
  'log-mb': '128',
  'checkpoint-mb': '8',
  durability: 'always',
  dir: tmpdir(),
}

/** Flags of the server that have no preset. */
const passed = ['text-memory-mb']

export const help = `node dist/bench/scale.js [flags]

  --messages N --threads N --identities N   how much there is; 1m is a million, 100k is 100,000
  --bytes N            of a message's text
  --only NAMES         these scenarios, with commas between; none: only starts and stalls
  --starts N           after a clean stop, and after SIGKILL: their median counts
  --rounds N --seconds N   of each scenario
  --watch-seconds N    of each round of replies with checkpoints, and without
  --log-mb N           of log behind the checkpoint, as the server is killed
  --checkpoint-mb N    of log between two checkpoints, as stalls are watched
  --durability MODE, --text-memory-mb MB   as the server's
  --dir DIR            where data goes
  --data DIR           keeps what is built there, and uses it again
  --json FILE          writes the results as JSON too
  -h, --help

Presets: ${Object.entries(presets)
  .map(([name, preset]) => `--${name} ${preset}`)
  .join(' ')}
`

/** Returns null if help is requested. Throws a UsageError. */
export function parseScaleOptions(args: string[]): ScaleOptions | null {
  const values = parseFlags(args)
  if (values.help) return null
  const text = (name: keyof typeof presets) => `${values[name] ?? presets[name]}`
  const number = (name: keyof typeof presets) => parseCount(name, text(name))
  const only = text('only') === 'none' ? [] : text('only').split(',')
  const unknown = only.find((each) => !scaleScenarios.some(({ name }) => name === each))
  if (unknown !== undefined) throw new UsageError(`--only: there is no scenario "${unknown}"`)
  return {
    size: {
      messages: number('messages'),
      threads: number('threads'),
      identities: number('identities'),
      contentBytes: number('bytes'),
    },
    only,
    starts: number('starts'),
    rounds: number('rounds'),
    seconds: number('seconds'),
    watchSeconds: number('watch-seconds'),
    logMb: number('log-mb'),
    checkpointMb: number('checkpoint-mb'),
    durability: text('durability'),
    flags: passed.flatMap((name) => (name in values ? [`--${name}`, `${values[name]}`] : [])),
    dir: text('dir'),
    data: values.data === undefined ? null : `${values.data}`,
    json: values.json === undefined ? null : `${values.json}`,
  }
}

function parseCount(name: string, text: string): number {
  const [, digits, unit] = /^(\d+)([km]?)$/.exec(text) ?? []
  if (digits === undefined) throw new UsageError(`--${name}: "${text}" is not like 500, 100k or 1m`)
  return Number(digits) * ({ k: 1e3, m: 1e6 }[unit] ?? 1)
}

function parseFlags(args: string[]): Partial<Record<string, string | boolean>> {
  const names = [...Object.keys(presets), ...passed, 'data', 'json']
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]))
  const config = { args, options: { ...options, help: helpFlag } }
  return readArgs(config, (sentence) => new UsageError(sentence)).values
}
