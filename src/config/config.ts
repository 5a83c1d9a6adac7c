// Flags and environment variables → one checked Config. A flag takes precedence over its variable.
// An unknown or impossible setting is a ConfigError: one clear line, and exit code 64.

import type { Durability } from '../../wal/journal/journal.ts'
import type { TrustProxy } from '../http/client-address.ts'
import type { CorsOrigins } from '../http/cors.ts'
import type { QuotaLimits } from '../state/quotas.ts'
import { ConfigError, readArgs, suggestion } from './arguments.ts'
import { corsOf, edgeFlags, trustProxyOf } from './edge-settings.ts'
import { limitFlags, type NodeLimits, nodeLimitsOf } from './limit-flags.ts'
import { type QuotaFlagName, quotaFlagNames, quotaHelp, quotaLimits } from './quota-flags.ts'
import {
  certificateOf,
  choiceOf,
  durabilityOf,
  hoursOf,
  numberOf,
  originOf,
  type Setting,
  switchOf,
  textOf,
} from './settings.ts'

export interface Config {
  host: string
  port: number
  data: string
  durability: Durability
  /** Size of one log segment. */
  segmentBytes: number
  /** The mode as status, logs and benchmarks show it: `always`, `interval:<ms>` or `none`. */
  durabilityName: string
  /** The service's own origin, without a slash at the end; null: http://host:port. */
  publicUrl: string | null
  /** The HTTP server: uWebSockets.js where it runs, or by name. */
  http: 'auto' | 'uws' | 'node'
  pollAfterSeconds: number
  /** Rate limits per action. */
  limits: QuotaLimits
  /** Limits on what the node holds for callers. */
  nodeLimits: NodeLimits
  /** Whether messages can be published by GET. */
  compat: boolean
  /** From the environment; if absent, the data directory holds one (node/secret.ts). */
  secret: string | undefined
  /** How the caller's address is found behind proxies; null: there are none. */
  trustProxy: TrustProxy | null
  /** Other origins whose pages may use the API; null: none. */
  cors: CorsOrigins | null
  /** 0: no port for operators. */
  opsPort: number
  /** Whether webhooks may be at private hosts, ports and addresses: for labs. */
  webhookAllowPrivate: boolean
  /** PEM of an additional certificate authority for webhooks, or null. */
  webhookCa: string | null
  idempotencyHours: number
  /** MiB of log after which a checkpoint is taken; 0: none are taken. */
  checkpointMb: number
  /** Hours between two scrubs of the page files; 0: none. */
  scrubHours: number
  logLevel: string
}

const variablePrefix = 'AGENT_FORUM_'
/** It has no flag, because every user of a machine can see command lines. */
const secretVariable = 'AGENT_FORUM_SECRET'
/** A timer can last at most 596 hours. */
const timerHoursMax = 500
const secretCharactersMin = 32
/** More than a node can do in the time of a quota, and still few enough for the memory. */
const quotaMax = 10_000_000

interface Flag {
  /** The placeholder of the value in --help; null: the flag is a switch. */
  value: string | null
  /** The value of the flag when it is used without one; absent: it needs one. */
  bare?: string
  preset: string
  help: string
}

const quotas = Object.fromEntries(
  quotaFlagNames.map((name) => [name, { value: 'N', preset: '', help: quotaHelp(name) }]),
) as Record<QuotaFlagName, Flag>

const flags = {
  host: { value: 'HOST', preset: '127.0.0.1', help: 'address that the API listens on' },
  port: { value: 'PORT', preset: '8787', help: 'port that the API listens on; 0: any free one' },
  data: {
    value: 'DIR',
    preset: './data',
    help: 'directory of the log, checkpoints and secret: all that has to be kept',
  },
  durability: {
    value: 'MODE',
    preset: 'always',
    help:
      'always: synced before every answer; interval[:ms]: a power failure loses at most that ' +
      'much; none: left to the operating system',
  },
  'segment-mb': {
    value: 'MB',
    preset: '64',
    help: 'size of one log segment; the next one is made in advance, so there are at least two',
  },
  'public-url': {
    value: 'URL',
    preset: '',
    help: 'origin at which callers reach the node, if it is behind a proxy',
  },
  http: {
    value: 'SERVER',
    preset: 'auto',
    help: 'uws (uWebSockets.js) or node (node:http); auto: uws where it runs',
  },
  'poll-after': {
    value: 'S',
    preset: '60',
    help: 'poll_after_seconds: how long clients should wait between polls',
  },
  quotas: {
    value: 'PROFILE',
    preset: 'open',
    help: 'open: only tickets are limited; public: also the actions of the flags below',
  },
  ...quotas,
  ...limitFlags,
  'ticket-limit': {
    value: 'N',
    preset: '20',
    help: 'publishing tickets an hour from one address; 0: no limit',
  },
  'no-compat': {
    value: null,
    preset: 'off',
    help: 'turn publishing by GET off: its paths answer 404',
  },
  ...edgeFlags,
  'ops-port': {
    value: 'PORT',
    preset: '0',
    help: 'port for /livez, /readyz and /metrics on the loopback interface; 0: none',
  },
  'webhook-allow-private': {
    value: null,
    preset: 'off',
    help: 'allow webhooks at any host, port and address: for a lab',
  },
  'webhook-ca': {
    value: 'FILE',
    preset: '',
    help: 'PEM file of an additional certificate authority for webhooks',
  },
  'idempotency-hours': {
    value: 'H',
    preset: '24',
    help: 'minimum time for which idempotency keys are remembered',
  },
  'checkpoint-mb': {
    value: 'MB',
    preset: '128',
    help: 'take a checkpoint after this much log, which bounds what a start replays; 0: never',
  },
  'scrub-hours': {
    value: 'H',
    preset: '24',
    help: 'how often all page files are read, and damage in them is repaired; 0: never',
  },
  'log-level': { value: 'LEVEL', preset: 'info', help: 'debug, info, warn, error or silent' },
} satisfies Record<string, Flag>

type FlagName = keyof typeof flags

/** The lines of `--help`, one for each flag. */
export function flagHelp(): string {
  const lines = Object.entries<Flag>(flags).map(([name, { value, preset, help }]) => {
    const shown = preset === '' ? '' : ` (${preset})`
    return `  ${`--${name} ${value ?? ''}`.padEnd(39)} ${help}${shown}`
  })
  return lines.join('\n')
}

/** The checked configuration. Throws a ConfigError that says what to write instead. */
export function parseConfig(args: string[], environment: NodeJS.ProcessEnv): Config {
  const fromArgs = readFlags(args)
  const setting = (flag: FlagName): Setting => {
    const variable = variableName(flag)
    const isVariable = fromArgs[flag] === undefined && environment[variable] !== undefined
    const text = fromArgs[flag] ?? environment[variable] ?? flags[flag].preset
    return { name: isVariable ? variable : `--${flag}`, text }
  }
  const number = (flag: FlagName, min: number, max: number) => numberOf(setting(flag), min, max)
  const quota = (flag: QuotaFlagName) =>
    setting(flag).text === '' ? null : number(flag, 0, quotaMax)
  const durability = durabilityOf(setting('durability'))
  return {
    host: textOf(setting('host')),
    port: number('port', 0, 65_535),
    data: textOf(setting('data')),
    durability,
    durabilityName: durabilityName(durability),
    segmentBytes: number('segment-mb', 1, 1024) * 2 ** 20,
    publicUrl: originOf(setting('public-url')),
    http: choiceOf(setting('http'), ['auto', 'uws', 'node']),
    pollAfterSeconds: number('poll-after', 0, 86_400),
    limits: quotaLimits(
      choiceOf(setting('quotas'), ['open', 'public']),
      number('ticket-limit', 0, quotaMax),
      quota,
    ),
    nodeLimits: nodeLimitsOf(number),
    compat: !switchOf(setting('no-compat')),
    secret: readSecret(environment),
    trustProxy: trustProxyOf(
      setting('trust-proxy'),
      setting('proxy-hops'),
      setting('trusted-proxies'),
    ),
    cors: corsOf(setting('cors')),
    opsPort: number('ops-port', 0, 65_535),
    webhookAllowPrivate: switchOf(setting('webhook-allow-private')),
    webhookCa: certificateOf(setting('webhook-ca')),
    idempotencyHours: number('idempotency-hours', 1, 8_760),
    scrubHours: hoursOf(setting('scrub-hours'), timerHoursMax),
    checkpointMb: number('checkpoint-mb', 0, 1_048_576),
    logLevel: choiceOf(setting('log-level'), ['debug', 'info', 'warn', 'error', 'silent']),
  }
}

/** Environment variables with our prefix that are not settings, each with a suggestion. */
export function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = [...Object.keys(flags).map(variableName), secretVariable]
  const settings = known.map((name) => name.slice(variablePrefix.length))
  return Object.keys(environment)
    .filter((name) => name.startsWith(variablePrefix) && !known.includes(name))
    .map((name) => name + suggestion(name.slice(variablePrefix.length), settings, variablePrefix))
}

/** Checked here, before the data directory, the port or the log is touched. */
function readSecret({ [secretVariable]: secret }: NodeJS.ProcessEnv): string | undefined {
  return secret === undefined ? undefined : checkedSecret(secret, secretVariable)
}

/** The secret. Throws a ConfigError that names its `source` if it is too short. */
export function checkedSecret(secret: string, source: string): string {
  if (secret.length >= secretCharactersMin) return secret
  throw new ConfigError(`${source} must hold at least ${secretCharactersMin} characters`)
}

function variableName(flag: string): string {
  return `${variablePrefix}${flag.toUpperCase().replaceAll('-', '_')}`
}

/** The values on the command line, by flag; a switch is `on`. */
function readFlags(args: string[]): Partial<Record<string, string>> {
  const options = Object.fromEntries(
    Object.entries<Flag>(flags).map(([name, { value }]) => {
      return [name, { type: value === null ? ('boolean' as const) : ('string' as const) }]
    }),
  )
  const { values } = readArgs(
    { args: args.map(withValue), options },
    (sentence) => new ConfigError(`${sentence}; --help lists the flags`),
  )
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value === true ? 'on' : `${value}`]),
  )
}

/** Adds the value to a flag that may be used without one, and is. */
function withValue(arg: string, index: number, args: string[]): string {
  const flag = Object.entries<Flag>(flags).find(([name]) => arg === `--${name}`)?.[1]
  const isAlone = args[index + 1]?.startsWith('-') !== false
  return flag?.bare !== undefined && isAlone ? `${arg}=${flag.bare}` : arg
}

function durabilityName(durability: Durability): string {
  return durability.mode === 'interval' ? `interval:${durability.ms}` : durability.mode
}
