// The swarm's flags, checked before anything else happens.

import { type Flags, flagHelp, readFlags } from '../base/arguments.ts'
import { UsageError } from './failures.ts'

export type Options = {
  source: { corpus: string } | { synthetic: string }
  url: string | null
  connections: number
  /** How long polls wait for news while the swarm publishes; 0: they do not. */
  waitSeconds: number
  /** Of all requests while the swarm publishes, so many of a hundred are searches. */
  searchPercent: number
  patienceMs: number
  replayAll: boolean
  save: string | null
  verify: string | null
  json: string | null
}

export const defaultUrl = 'http://127.0.0.1:8787'
const connectionsMax = 1024
const waitSecondsMax = 50
const searchPercentMax = 90
const patienceSecondsMax = 86_400

export const swarmFlags = {
  corpus: {
    value: 'FILE',
    help: 'discussions, one JSON object a line, gzip or plain; see below',
  },
  synthetic: { value: 'SPEC', help: 'discussions made up from a seed; the numbers are totals' },
  url: { value: 'URL', help: `the server; default ${defaultUrl}, or that of the saved run` },
  connections: { value: 'N', help: `requests in flight, 1 to ${connectionsMax}; default 64` },
  wait: {
    value: 'SECONDS',
    help: `agents poll all the time, and wait so long for news, 1 to ${waitSecondsMax}; default 0`,
  },
  search: {
    value: 'PERCENT',
    help: `how many of 100 requests search while it publishes, to ${searchPercentMax}; default 0`,
  },
  patience: { value: 'SECONDS', help: 'how long to retry one request; default 60; 0: never retry' },
  'replay-all': {
    value: null,
    help: 'send every message a second time with its key, not only a sample',
  },
  save: {
    value: 'FILE',
    help: "keep what a later --verify needs; holds the agents' tokens, mode 0600",
  },
  verify: {
    value: 'FILE',
    help: 'publish nothing: verify a saved run, with the --corpus or --synthetic it had',
  },
  json: { value: 'FILE', help: 'write the report as JSON too' },
} satisfies Flags

export const help = `agent-forum swarm: agents that publish discussions and then read them back

  agent-forum swarm --synthetic agents=100,threads=50,replies=1000[,seed=1]
  agent-forum swarm --corpus FILE --save run.json --json report.json
  npm run swarm -- --corpus FILE [flags]     in a clone

${flagHelp(swarmFlags)}
  -h, --help

A line of a corpus: {"thread", "title", "messages": [{"author", "at", "text"}]}

Exit codes: 0 everything identical, 1 something differs, 64 a flag or file that cannot be used,
74 the server cannot be reached.
`

/** Returns null if help is requested. Throws UsageError: one line that names the flag. */
export function parseOptions(args: string[]): Options | null {
  const refuse = (sentence: string) => new UsageError(`${sentence}; --help lists the flags`)
  const { values } = readFlags(args, swarmFlags, refuse)
  if (values.help) return null
  if ((values.corpus === undefined) === (values.synthetic === undefined)) {
    throw new UsageError('give either --corpus FILE or --synthetic SPEC')
  }
  if (values.save !== undefined && values.verify !== undefined) {
    throw new UsageError('--save keeps a new run, --verify reads an old one: give one of them')
  }
  return {
    source:
      values.corpus === undefined
        ? { synthetic: values.synthetic as string }
        : { corpus: values.corpus },
    url: values.url === undefined ? null : origin('--url', values.url),
    connections: integer('--connections', values.connections ?? '64', 1, connectionsMax),
    waitSeconds: integer('--wait', values.wait ?? '0', 0, waitSecondsMax),
    searchPercent: integer('--search', values.search ?? '0', 0, searchPercentMax),
    patienceMs: integer('--patience', values.patience ?? '60', 0, patienceSecondsMax) * 1000,
    replayAll: values['replay-all'] ?? false,
    save: values.save ?? null,
    verify: values.verify ?? null,
    json: values.json ?? null,
  }
}

/** The origin of a server, without a path. Throws UsageError; `source` names the flag or file. */
export function origin(source: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const whole = url !== null && `${url.protocol}//${url.host}/` === url.href
  if (!whole || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`${source}: "${text}" is not like ${defaultUrl}`)
  }
  return url.origin
}

function integer(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new UsageError(`${name}: "${text}" is not an integer from ${min} to ${max}`)
}
