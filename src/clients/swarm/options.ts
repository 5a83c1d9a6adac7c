// The swarm's flags, checked before anything else happens.

import {
  ConfigError,
  type Flags,
  type FlagValues,
  flagHelp,
  readFlags,
} from '../../base/arguments.ts'
import { defaultUrl, numberOf, originOfNode } from '../../base/values.ts'
import { batchMax } from './batches.ts'
import { parseTarget } from './limit-search.ts'
import { timedOperations } from './meter.ts'
import { rateMax } from './pace.ts'
import { parseShape } from './synthetic.ts'
import { parseThresholds } from './threshold.ts'

export type Options = ReturnType<typeof optionsOf>

/** The reports of `--merge`. */
export type MergeOptions = Destinations & { merge: string[] }

const connectionsMax = 1024
/** The largest number of requests in flight. */
const lanesMax = 100_000
export const waitSecondsMax = 50
const idleMax = 20_000
const searchPercentMax = 90
const claimSecondsMax = 60
const patienceSecondsMax = 86_400

export const swarmFlags = {
  corpus: {
    value: 'FILE',
    help: 'discussions, one JSON object a line, gzip or plain; see below',
  },
  synthetic: { value: 'SPEC', help: 'discussions made up from a seed; the numbers are totals' },
  skew: {
    value: 'S',
    help: "replies choose the threads of --synthetic by Zipf's law with this exponent; default 0",
  },
  sizes: {
    value: 'SHARES',
    help: "lengths of the texts of --synthetic in characters: '100:0.7,1000:0.25,8000:0.05'",
  },
  url: { value: 'URL', help: `the server; default ${defaultUrl}, or that of the saved run` },
  invite: { value: 'CODE', help: 'an invitation to register the agents with' },
  connections: { value: 'N', help: `requests in flight, 1 to ${connectionsMax}; default 64` },
  batch: {
    value: 'N',
    help: `send requests in batches of up to N, one on each connection: 2 to ${batchMax}`,
  },
  wait: {
    value: 'SECONDS',
    help: `agents poll all the time, waiting this long for news: 1 to ${waitSecondsMax}; default 0`,
  },
  idle: {
    value: 'N',
    help: `more agents that only wait for news, each over its own connection, up to ${idleMax}`,
  },
  search: {
    value: 'PERCENT',
    help: `percentage of requests that search while publishing, to ${searchPercentMax}; default 0`,
  },
  mentions: { value: 'PERCENT', help: 'percentage of messages that mention agents; default 0' },
  claims: {
    value: 'SECONDS',
    help: `then claim each thread for so long, as a task that is done once: to ${claimSecondsMax}`,
  },
  patience: { value: 'SECONDS', help: 'how long to retry one request; default 60; 0: never retry' },
  'replay-all': {
    value: null,
    help: 'send every message a second time with its key, not only a sample',
  },
  save: {
    value: 'FILE',
    help: "keep the data for a later --verify, with the agents' tokens; mode 0600",
  },
  verify: {
    value: 'FILE',
    help: 'publish nothing: verify a saved run, with the --corpus or --synthetic it had',
  },
  rate: {
    value: 'N',
    help: 'messages a second; each latency counts from when the message is due',
  },
  burst: {
    value: 'N',
    help: 'as --rate N, but all messages of a second are due at its beginning',
  },
  scenario: {
    value: 'FILE',
    help: 'what agents do, in phases with a rate each, as JSON: see docs/load-testing.md',
  },
  duration: {
    value: 'SECONDS',
    help: 'publish for this long, repeating the corpus, and then verify it',
  },
  'find-limit': {
    value: 'TARGET',
    help: "find the highest rate that keeps 'p99<20ms', in steps of --duration, from --rate up",
  },
  json: {
    value: 'FILE',
    bare: '-',
    help: 'write the report as JSON too; - or no FILE: a line each second to standard output',
  },
  html: { value: 'FILE', help: 'write a page with plots' },
  csv: {
    value: 'FILE',
    help: 'write the rate, the lost answers and the latencies of each second as CSV',
  },
  merge: {
    value: 'FILE…',
    help: 'publish nothing: merge the --json reports of processes that ran together',
  },
  compare: {
    value: 'FILE',
    help: 'compare this run with an earlier one, whose --json report is FILE',
  },
  'fail-if': {
    value: 'LIMITS',
    help: "exit with 2 if crossed: 'p99>50ms', 'reply.p99>50ms,rate<1000,errors>0'",
  },
} satisfies Flags

export const help = `agent-forum swarm: agents that publish discussions and then read them back

  agent-forum swarm --synthetic agents=100,threads=50,replies=1000[,seed=1]
  agent-forum swarm --corpus FILE --save run.json --json report.json
  agent-forum swarm --synthetic agents=100,threads=50,replies=1000 --rate 500 --duration 60 \\
      --fail-if 'p99>50ms,errors>0' --html report.html
  agent-forum swarm --synthetic agents=100,threads=50,replies=1000 --find-limit 'p99<20ms'
  agent-forum swarm --merge first.json second.json --html both.html
  npm run swarm -- --corpus FILE [flags]     in a clone

${flagHelp(swarmFlags)}
  -h, --help

A line of a corpus: {"thread", "title", "messages": [{"author", "at", "text"}]}

Ctrl-C ends a run with its summary so far, without a verification; a second one ends it at once.

Exit codes: 0 everything identical, 1 something differs, 2 a --fail-if limit is crossed or no rate
keeps that of --find-limit, 64 a flag or file that cannot be used, 74 the server cannot be reached,
130 interrupted.
`

type Values = FlagValues<typeof swarmFlags>

/** Parses the flags; returns null if help is requested. Throws ConfigError that names the flag. */
export function parseOptions(args: string[]): Options | MergeOptions | null {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; --help lists the flags`)
  const { values, positionals } = readFlags(args, swarmFlags, refuse, { allowPositionals: true })
  if (values.help) return null
  if (values.merge !== undefined) return mergeOptions(values, [values.merge, ...positionals])
  if (positionals.length > 0) throw refuse(`unexpected argument '${positionals[0]}'`)
  if ((values.corpus === undefined) === (values.synthetic === undefined)) {
    const example = '--synthetic agents=100,threads=50,replies=1000'
    throw new ConfigError(`give either --corpus FILE or --synthetic SPEC, as ${example}`)
  }
  if (values.corpus !== undefined && (values.skew ?? values.sizes) !== undefined) {
    throw new ConfigError(
      '--skew and --sizes shape the discussions of --synthetic, not those of a corpus',
    )
  }
  if (values.save !== undefined && values.verify !== undefined) {
    throw new ConfigError('--save keeps a new run, --verify reads an old one: give one of them')
  }
  const partial = ['duration', 'find-limit', 'scenario', 'claims'] as const
  const partly = partial.find((flag) => values[flag] !== undefined)
  if (partly && (values.save !== undefined || values.verify !== undefined)) {
    throw new ConfigError(
      `--${partly} publishes less or more than the corpus, ` +
        'but --save and --verify need it published exactly once: leave one of them out',
    )
  }
  const inScenario = (['rate', 'burst', 'duration', 'find-limit', 'search'] as const).find(
    (flag) => values[flag] !== undefined,
  )
  if (values.scenario !== undefined && inScenario !== undefined) {
    throw new ConfigError(`--scenario says it all: leave --${inScenario} out`)
  }
  const { rate, burst } = values
  if (burst !== undefined && (rate !== undefined || values['find-limit'] !== undefined)) {
    throw new ConfigError('--burst says how many messages a second has: give no other rate')
  }
  return optionsOf(values)
}

/** Returns the options for flags that may be combined. Throws ConfigError. */
function optionsOf(values: Values) {
  const { rate, burst, duration } = values
  const [rateFlag, perSecond] = burst === undefined ? ['rate', rate] : ['burst', burst]
  const durationSeconds =
    duration === undefined ? null : integer('duration', duration, 1, patienceSecondsMax)
  const { invite, ...flags } = values
  const connections = integer('connections', values.connections ?? '64', 1, connectionsMax)
  const batch = values.batch === undefined ? 1 : integer('batch', values.batch, 2, batchMax)
  const lanes = connections * batch
  if (lanes > lanesMax) {
    throw new ConfigError(
      `--connections ${connections} in batches of ${batch} are more than ` +
        `${lanesMax.toLocaleString('en-US')} requests in flight`,
    )
  }
  return {
    /** All flags as they were given, except --invite. */
    flags,
    source:
      values.corpus === undefined
        ? { synthetic: values.synthetic as string, shape: parseShape(values) }
        : { corpus: values.corpus },
    url: values.url === undefined ? null : originOfNode(values.url),
    /** The code of an invitation with which agents register; null: they register without one. */
    invite: invite ?? null,
    connections,
    /** The number of requests that leave together at most; 1: each leaves alone. */
    batch,
    /** The number of requests in flight: as many on each connection as a batch has. */
    lanes,
    /** How long polls wait for news while the swarm publishes; 0: they do not. */
    waitSeconds: integer('wait', values.wait ?? '0', 0, waitSecondsMax),
    /** The number of agents that write nothing, and wait for news. */
    idle: integer('idle', values.idle ?? '0', 0, idleMax),
    /** The percentage of requests that are searches while the swarm publishes. */
    searchPercent: integer('search', values.search ?? '0', 0, searchPercentMax),
    /** The percentage of messages that mention somebody. */
    mentionPercent: integer('mentions', values.mentions ?? '0', 0, 100),
    /** The seconds of each claim of a task; 0: there are no tasks. */
    claimSeconds:
      values.claims === undefined ? 0 : integer('claims', values.claims, 1, claimSecondsMax),
    patienceMs: integer('patience', values.patience ?? '60', 0, patienceSecondsMax) * 1000,
    replayAll: values['replay-all'] ?? false,
    /** A file that says what agents do, and when; null: the flags do. */
    scenario: values.scenario ?? null,
    save: values.save ?? null,
    verify: values.verify ?? null,
    ...destinationsOf(values),
    /** What the highest rate must keep, and how long a step is; null: none is to be found. */
    findLimit: limitToFind(values['find-limit'], durationSeconds),
    /** Messages per second, of the first step if there is a limit to find; null: unlimited. */
    rate: perSecond === undefined ? null : integer(rateFlag, perSecond, 1, rateMax),
    /** Whether the messages of a second are all due at its beginning. */
    isBurst: burst !== undefined,
    /** How long to publish the corpus, again and again; null: until it has been published once. */
    durationSeconds,
  }
}

/** Where a report goes, and what it must keep. */
export type Destinations = ReturnType<typeof destinationsOf>

function destinationsOf(values: Values) {
  return {
    /** A file, or `-`: lines on standard output. */
    json: values.json ?? null,
    html: values.html ?? null,
    csv: values.csv ?? null,
    compare: values.compare ?? null,
    failIf: parseThresholds(values['fail-if'], timedOperations),
  }
}

/** The flags that are no part of the load, and so the only ones beside --merge. */
export const outputFlags = ['json', 'html', 'csv', 'compare', 'fail-if'] as const

function mergeOptions(values: Values, files: string[]): MergeOptions {
  const allowed: readonly string[] = ['merge', ...outputFlags]
  const other = Object.keys(values).find((flag) => !allowed.includes(flag))
  if (other !== undefined) {
    throw new ConfigError(`--merge reads the reports of runs that have ended: leave --${other} out`)
  }
  if (files.length === 1) throw new ConfigError('--merge: give two reports or more')
  return { ...destinationsOf(values), merge: files }
}

const stepSecondsDefault = 10
/** In this many limits, a node falls behind by one if the rate is too high by a twentieth. */
const limitsPerStep = 20

function limitToFind(text: string | undefined, durationSeconds: number | null) {
  if (text === undefined) return null
  const [target, seconds] = [parseTarget(text), durationSeconds ?? stepSecondsDefault]
  const secondsMin = Math.ceil((target.limitMs * limitsPerStep) / 1000)
  if (seconds >= secondsMin) return { target, seconds }
  throw new ConfigError(
    `--find-limit: ${text} takes steps of --duration ${secondsMin} or more, because shorter ones ` +
      'would end before a backlog shows',
  )
}

function integer(flag: string, text: string, min: number, max: number): number {
  return numberOf({ name: `--${flag}`, text }, min, max)
}
