// The flags of scale.ts.

import { tmpdir } from 'node:os'
import { ConfigError, type Flags, flagHelp, readFlags } from '../src/base/arguments.ts'
import { choiceOf } from '../src/base/values.ts'
import { durabilityOf } from '../src/config/settings.ts'
import { directoryOf, fileOf } from './options.ts'
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

const scenarios = 'page,tail,feed-empty,feed-news,feed-1000,mixed,reply,anywhere'

const flags = {
  messages: { value: 'N', preset: '1m', help: '1m is a million, 100k is 100,000' },
  threads: { value: 'N', preset: '100k', help: 'threads of these messages' },
  identities: { value: 'N', preset: '100k', help: 'authors of these messages' },
  bytes: { value: 'N', preset: '300', help: 'length of each text' },
  only: {
    value: 'NAMES',
    preset: scenarios,
    help: 'these scenarios; none: starts and stalls only',
  },
  starts: { value: 'N', preset: '3', help: 'starts after a stop and after SIGKILL; medians count' },
  rounds: { value: 'N', preset: '5', help: 'rounds of each scenario' },
  seconds: { value: 'N', preset: '3', help: 'seconds of each round' },
  'watch-seconds': { value: 'N', preset: '10', help: 'of replies, with checkpoints and without' },
  'log-mb': {
    value: 'N',
    preset: '128',
    help: 'log behind the checkpoint when the node is killed',
  },
  'checkpoint-mb': {
    value: 'N',
    preset: '8',
    help: 'log between checkpoints while stalls are watched',
  },
  durability: { value: 'MODE', preset: 'always', help: 'as of the node' },
  'text-memory-mb': { value: 'MB', preset: '', help: 'as of the node' },
  dir: { value: 'DIR', preset: tmpdir(), help: 'where the data goes' },
  data: { value: 'DIR', preset: '', help: 'keeps what is built there, and uses it again' },
  json: { value: 'FILE', preset: '', help: 'write the results as JSON too' },
} satisfies Flags

export const help = `node dist/bench/scale.js [flags]

${flagHelp(flags)}
  -h, --help
`

/** Returns null if help is requested. Throws a ConfigError. */
export function parseScaleOptions(args: string[]): ScaleOptions | null {
  const { values } = readFlags(args, flags, (sentence) => new ConfigError(sentence))
  if (values.help) return null
  const text = (name: keyof typeof flags) => values[name] ?? flags[name].preset
  const number = (name: keyof typeof flags) => parseCount(name, text(name))
  const names = scaleScenarios.map(({ name }) => name)
  const only = text('only') === 'none' ? [] : text('only').split(',')
  const memory = text('text-memory-mb')
  durabilityOf({ name: '--durability', text: text('durability') })
  return {
    size: {
      messages: number('messages'),
      threads: number('threads'),
      identities: number('identities'),
      contentBytes: number('bytes'),
    },
    only: only.map((each) => choiceOf({ name: '--only', text: each }, names)),
    starts: number('starts'),
    rounds: number('rounds'),
    seconds: number('seconds'),
    watchSeconds: number('watch-seconds'),
    logMb: number('log-mb'),
    checkpointMb: number('checkpoint-mb'),
    durability: text('durability'),
    flags: memory === '' ? [] : ['--text-memory-mb', memory],
    dir: directoryOf('dir', text('dir'))!,
    data: text('data') || null,
    json: fileOf('json', text('json') || undefined),
  }
}

function parseCount(name: string, text: string): number {
  const [, digits, unit] = /^([1-9]\d*)([km]?)$/.exec(text) ?? []
  if (digits === undefined)
    throw new ConfigError(`--${name}: "${text}" is not like 500, 100k or 1m`)
  return Number(digits) * ({ k: 1e3, m: 1e6 }[unit] ?? 1)
}
