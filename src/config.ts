// Flags and environment variables → one checked Config. A flag wins over its variable; what is
// unknown or impossible is one clear line (ConfigError) and exit code 64.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Durability } from '../wal/journal.ts'
import { readArgs } from './arguments.ts'
import { limitFlags, type NodeLimits, nodeLimitsOf } from './limit-flags.ts'
import {
  limitsOf,
  type Profile,
  type QuotaFlagName,
  quotaFlagNames,
  quotaHelp,
} from './quota-flags.ts'
import type { Limits } from './state/quotas.ts'

export interface Config {
  host: string
  port: number
  data: string
  durability: Durability
  /** Of a file of the log. */
  segmentBytes: number
  /** As given or `always`: what status, logs and benchmarks say. */
  durabilityName: string
  /** Own origin, without a slash at the end; null: http://host:port. */
  publicUrl: string | null
  /** The HTTP server: uWebSockets.js where it runs, or by name. */
  http: 'auto' | 'uws' | 'node'
  pollAfterSeconds: number
  /** How often callers may do what. */
  limits: Limits
  /** What callers may make the node hold. */
  nodeLimits: NodeLimits
  /** Whether messages can be published by GET. */
  compat: boolean
  /** Given in the environment; else the data directory has one (secret.ts). */
  secret: string | undefined
  trustProxy: boolean
  /** 0: no port for operators. */
  opsPort: number
  /** Whether webhooks may be at private hosts, ports and addresses: for labs. */
  webhookAllowPrivate: boolean
  /** PEM of a further certificate authority that webhooks may be signed by, or null. */
  webhookCa: string | null
  idempotencyHours: number
  /** MiB of log after which a checkpoint is taken; 0: none are taken. */
  checkpointMb: number
  logLevel: string
}

export class ConfigError extends Error {}

const secretCharactersMin = 32

interface Flag {
  /** What stands for the value in --help; null: the flag is on or off. */
  value: string | null
  preset: string
  help: string
}

const quotas = Object.fromEntries(
  quotaFlagNames.map((name) => [name, { value: 'N', preset: '', help: quotaHelp(name) }]),
) as Record<QuotaFlagName, Flag>

const flags = {
  host: { value: 'HOST', preset: '127.0.0.1', help: 'address the API listens on' },
  port: { value: 'PORT', preset: '8787', help: 'port the API listens on; 0: any free one' },
  data: {
    value: 'DIR',
    preset: './data',
    help: 'log, checkpoints, secret, lock: all there is to keep',
  },
  durability: {
    value: 'MODE',
    preset: 'always',
    help:
      'always: synced before every answer; interval[:ms]: at most that much is lost when ' +
      'power fails; none',
  },
  'segment-mb': {
    value: 'MB',
    preset: '64',
    help: 'size of a file of the log; the next one is made ahead, so two are the least there is',
  },
  'public-url': { value: 'URL', preset: '', help: 'own origin, where a proxy stands in front' },
  http: {
    value: 'SERVER',
    preset: 'auto',
    help: 'uws (uWebSockets.js), node (node:http); auto: uws where it runs',
  },
  'poll-after': { value: 'S', preset: '60', help: 'poll_after_seconds: how often to poll a feed' },
  quotas: {
    value: 'PROFILE',
    preset: 'open',
    help: 'open: only tickets are limited; public: so is what the next flags say',
  },
  ...quotas,
  ...limitFlags,
  'ticket-limit': {
    value: 'N',
    preset: '20',
    help: 'publishing tickets an hour from one address; 0: no limit',
  },
  'no-compat': { value: null, preset: 'off', help: 'no publishing by GET: it answers 404' },
  'trust-proxy': {
    value: null,
    preset: 'off',
    help: 'believe X-Forwarded-For and CF-Connecting-IP: only behind a proxy that sets them',
  },
  'ops-port': {
    value: 'PORT',
    preset: '0',
    help: '/livez, /readyz and /metrics on the loopback interface; 0: off',
  },
  'webhook-allow-private': {
    value: null,
    preset: 'off',
    help: 'webhooks at any host, port and address: for a lab',
  },
  'webhook-ca': { value: 'FILE', preset: '', help: 'a further authority for webhooks, as PEM' },
  'idempotency-hours': { value: 'H', preset: '24', help: 'how long receipts are kept at least' },
  'checkpoint-mb': {
    value: 'MB',
    preset: '128',
    help: 'a checkpoint after so much log, which bounds what a start replays; 0: none are taken',
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

/** The configuration, or a ConfigError that says what to write instead. */
export function parseConfig(args: string[], environment: NodeJS.ProcessEnv): Config {
  const given = readFlags(args)
  const text = (name: FlagName) =>
    given[name] ?? environment[variableName(name)] ?? flags[name].preset
  const durability = parseDurability(text('durability'))
  return {
    host: parseText('host', text('host')),
    port: parseNumber('port', text('port'), 0, 65_535),
    data: parseText('data', text('data')),
    durability,
    durabilityName: durabilityName(durability),
    segmentBytes: parseNumber('segment-mb', text('segment-mb'), 1, 1024) * 2 ** 20,
    publicUrl: parseOrigin(text('public-url')),
    http: parseHttp(text('http')),
    pollAfterSeconds: parseNumber('poll-after', text('poll-after'), 0, 86_400),
    limits: limitsOf(
      parseProfile(text('quotas')),
      parseLimit('ticket-limit', text('ticket-limit')),
      (name) => (text(name) === '' ? null : parseLimit(name, text(name))),
    ),
    nodeLimits: nodeLimitsOf((name, min, max) => parseNumber(name, text(name), min, max)),
    compat: !parseSwitch('no-compat', text('no-compat')),
    secret: readSecret(environment),
    trustProxy: parseSwitch('trust-proxy', text('trust-proxy')),
    opsPort: parseNumber('ops-port', text('ops-port'), 0, 65_535),
    webhookAllowPrivate: parseSwitch('webhook-allow-private', text('webhook-allow-private')),
    webhookCa: readCertificate('webhook-ca', text('webhook-ca')),
    idempotencyHours: parseNumber('idempotency-hours', text('idempotency-hours'), 1, 8_760),
    checkpointMb: parseNumber('checkpoint-mb', text('checkpoint-mb'), 0, 1_048_576),
    logLevel: parseLevel(text('log-level')),
  }
}

/** Checked before anything is touched: the data directory, the port, the log. */
function readSecret({ AGENT_FORUM_SECRET }: NodeJS.ProcessEnv): string | undefined {
  if (AGENT_FORUM_SECRET === undefined) return undefined
  return checkedSecret(AGENT_FORUM_SECRET, 'AGENT_FORUM_SECRET')
}

/** The secret, or a ConfigError that names its `source` when it is too short. */
export function checkedSecret(secret: string, source: string): string {
  if (secret.length >= secretCharactersMin) return secret
  throw new ConfigError(`${source} must hold at least ${secretCharactersMin} characters`)
}

function variableName(flag: string): string {
  return `AGENT_FORUM_${flag.toUpperCase().replaceAll('-', '_')}`
}

/** What was given, by flag; a switch that was given is `on`. */
function readFlags(args: string[]): Partial<Record<string, string>> {
  const options = Object.fromEntries(
    Object.entries<Flag>(flags).map(([name, { value }]) => {
      return [name, { type: value === null ? ('boolean' as const) : ('string' as const) }]
    }),
  )
  const { values } = readArgs(
    { args, options },
    (sentence) => new ConfigError(`${sentence}; --help lists the flags`),
  )
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value === true ? 'on' : `${value}`]),
  )
}

/** An empty host would mean every address of the machine. */
function parseText(flag: FlagName, text: string): string {
  if (text !== '') return text
  throw new ConfigError(`--${flag} takes a ${flags[flag].value}, not an empty text`)
}

function parseNumber(flag: FlagName, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new ConfigError(`--${flag} takes a whole number from ${min} to ${max}, not "${text}"`)
}

function parseSwitch(flag: FlagName, text: string): boolean {
  if (['on', 'true', '1'].includes(text)) return true
  if (['off', 'false', '0', ''].includes(text)) return false
  throw new ConfigError(`${variableName(flag)} is on or off, not "${text}"`)
}

/** More than a node can do in the time; as many fit in memory. */
const limitMax = 10_000_000

function parseLimit(flag: FlagName, text: string): number {
  return parseNumber(flag, text, 0, limitMax)
}

function parseProfile(text: string): Profile {
  if (text === 'open' || text === 'public') return text
  throw new ConfigError(`--quotas takes open or public, not "${text}"`)
}

const defaultIntervalMs = 100

function parseDurability(text: string): Durability {
  if (text === 'always' || text === 'none') return { mode: text }
  const interval = /^interval(?::(\d{1,5}))?$/.exec(text)
  const ms = Number(interval?.[1] ?? defaultIntervalMs)
  if (interval !== null && ms >= 1) return { mode: 'interval', ms }
  throw new ConfigError(`--durability takes always, interval[:ms] or none, not "${text}"`)
}

function durabilityName(durability: Durability): string {
  return durability.mode === 'interval' ? `interval:${durability.ms}` : durability.mode
}

function parseOrigin(text: string): string | null {
  if (text === '') return null
  const url = URL.canParse(text) ? new URL(text) : null
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href
  if (isOrigin) return url.origin
  throw new ConfigError(`--public-url takes an origin like https://forum.example, not "${text}"`)
}

function readCertificate(flag: FlagName, path: string): string | null {
  if (path === '') return null
  try {
    const pem = readFileSync(path, 'utf8')
    new X509Certificate(pem)
    return pem
  } catch (error) {
    throw new ConfigError(`--${flag} takes a PEM certificate: ${(error as Error).message}`)
  }
}

function parseHttp(text: string): Config['http'] {
  if (text === 'auto' || text === 'uws' || text === 'node') return text
  throw new ConfigError(`--http takes auto, uws or node, not "${text}"`)
}

function parseLevel(text: string): string {
  if (['debug', 'info', 'warn', 'error', 'silent'].includes(text)) return text
  throw new ConfigError(`--log-level takes debug, info, warn, error or silent, not "${text}"`)
}
