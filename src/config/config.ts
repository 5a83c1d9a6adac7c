// The settings of a node, and the checked Config that they make. settings.ts finds their values. An
// unknown or impossible setting is a ConfigError: one clear line, and exit code 64.

import type { Durability } from '../../wal/journal/journal.ts'
import { ConfigError, type Flag, type Flags } from '../base/arguments.ts'
import { choiceOf, numberOf, originOf, type Setting, titleDefault } from '../base/values.ts'
import type { Access } from '../edge/api/route.ts'
import { allowedHostsOf, corsOf, edgeFlags, trustProxyOf } from './edge-settings.ts'
import {
  limitFlags,
  nodeLimitsOf,
  type QuotaFlagName,
  quotaFlagNames,
  quotaHelp,
  quotaLimits,
  readersOf,
} from './limit-flags.ts'
import { replicationFlags, replicationOf } from './replication-flags.ts'
import {
  certificateOf,
  durabilityOf,
  hoursOf,
  SettingSources,
  switchOf,
  textOf,
  titleOf,
  unknownVariables as unknownAmong,
  variableName,
  variablePrefix,
} from './settings.ts'

export type Config = ReturnType<typeof checkSettings>

/** The secret has no flag, because every user of a machine can see command lines. */
export const secretVariable = `${variablePrefix}SECRET`
/** A timer can last at most 596 hours. */
const timerHoursMax = 500
const secretCharactersMin = 32
/** More than a node can do in the period of a quota, and still few enough for the memory. */
const quotaMax = 10_000_000
const guessesPerHour = 100
/** Filling the first segments with zeros is most of what the start of a node in memory costs. */
const memorySegmentMb = 4

const quotas = Object.fromEntries(
  quotaFlagNames.map((name) => [name, { value: 'N', preset: '', help: quotaHelp(name) }]),
) as Record<QuotaFlagName, Flag & { preset: string }>

export const settingFlags = {
  config: {
    value: 'FILE',
    preset: '',
    help: 'JSON file of settings, such as {"port": 8080}; flags and variables take precedence',
  },
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
  memory: {
    value: null,
    preset: 'off',
    help: 'keep nothing, for tests: no --data, and all is gone when the node ends',
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
  title: {
    value: 'NAME',
    preset: titleDefault,
    help: 'name of the forum, at the head of its pages for people',
  },
  http: {
    value: 'SERVER',
    choices: ['auto', 'uws', 'node'] as const,
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
    choices: ['open', 'public'] as const,
    preset: 'open',
    help: 'open: only tickets are limited; public: also the actions of the flags below',
  },
  ...quotas,
  'guesses-per-hour-per-address': {
    value: 'N',
    preset: '',
    help:
      'wrong tokens and invitations an hour from one address, for each process; 0: no limit; ' +
      'with --quotas public, --members-only or a --registration other than open: 100',
  },
  ...limitFlags,
  'ticket-limit': {
    value: 'N',
    preset: '20',
    help: 'publishing tickets an hour from one address; 0: no limit',
  },
  registration: {
    value: 'MODE',
    choices: ['open', 'invited', 'closed'] as const,
    preset: 'open',
    help:
      'who may create an identity: open: anybody; invited: whoever has an invitation (admin ' +
      'invite); closed: nobody but the operator (admin register)',
  },
  'members-only': {
    value: null,
    preset: 'off',
    help: 'require a token for all content: without one, only the guides can be read',
  },
  'no-compat': {
    value: null,
    preset: 'off',
    help: 'turn publishing by GET off: its paths answer 404',
  },
  'no-pages': {
    value: null,
    preset: 'off',
    help: 'turn the pages for people off: their paths answer 404',
  },
  'no-search': {
    value: null,
    preset: 'off',
    help: 'turn the search off, and remove its index: its paths answer 404',
  },
  ...edgeFlags,
  'ops-port': {
    value: 'PORT',
    preset: '0',
    help: 'port for the dashboard, moderation, /livez, /readyz, /metrics; 0: none',
  },
  'ops-host': {
    value: 'HOST',
    preset: '127.0.0.1',
    help: 'address that the port for operators listens on; anybody who reaches it may read',
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
  'retention-days': {
    value: 'N',
    preset: '0',
    help: 'forget each thread N days after its newest message; 0: keep all',
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
  ...replicationFlags,
  'log-level': {
    value: 'LEVEL',
    choices: ['debug', 'info', 'warn', 'error', 'silent'] as const,
    preset: 'info',
    help: 'debug (also a line for each answer), info, warn, error or silent',
  },
  'log-format': {
    value: 'FORMAT',
    choices: ['auto', 'json', 'text'] as const,
    preset: 'auto',
    help: 'json: an object a line; text: for people; auto: text on a terminal, else json',
  },
} satisfies Record<string, Flag & { preset: string }>

/** Flags of `serve` that are not settings. */
export const serveSwitches = {
  'print-config': {
    value: null,
    help: 'print every setting with its source, and start nothing',
  },
  json: { value: null, help: 'with --print-config: print it as JSON' },
} satisfies Flags

export type SettingName = keyof typeof settingFlags

/** Finds the settings. Throws a ConfigError if a flag is unusable or a file cannot be read. */
export function findSettings(args: readonly string[], environment: NodeJS.ProcessEnv) {
  return new SettingSources(settingFlags, serveSwitches, args, environment)
}

/** Returns the checked configuration. Throws a ConfigError that names a usable value. */
export function parseConfig(args: readonly string[], environment: NodeJS.ProcessEnv): Config {
  return checkSettings(findSettings(args, environment), environment)
}

/** Returns the configuration of these settings. Throws a ConfigError like `parseConfig`. */
export function checkSettings(
  sources: Pick<SettingSources<SettingName>, 'find'>,
  environment: NodeJS.ProcessEnv,
) {
  const setting = (name: SettingName) => sources.find(name)
  const number = (flag: SettingName, min: number, max: number, because?: string) =>
    numberOf(setting(flag), min, max, because)
  const quota = (flag: QuotaFlagName) =>
    setting(flag).text === '' ? null : number(flag, 0, quotaMax)
  const memory = switchOf(setting('memory'))
  const durability = memory ? { mode: 'none' as const } : durabilityOf(setting('durability'))
  const isSmall = memory && setting('segment-mb').from === 'default'
  const readers = readersOf(setting('readers'))
  const access = accessOf(setting)
  const host = textOf(setting('host'))
  const publicUrl = setting('public-url').text === '' ? null : originOf(setting('public-url'))
  const trustProxy = trustProxyOf(setting)
  return {
    host,
    port: number('port', 0, 65_535),
    data: textOf(setting('data')),
    /**
     * Whether nothing is kept when the node ends. `data` is then a directory for the time being.
     */
    memory,
    durability,
    /** The mode as status and logs show it: `always`, `interval:<ms>`, `none` or `memory`. */
    durabilityName: memory ? 'memory' : durabilityName(durability),
    segmentBytes: (isSmall ? memorySegmentMb : number('segment-mb', 1, 1024)) * 2 ** 20,
    /** The service's own origin, without a trailing slash, or null for http://host:port. */
    publicUrl,
    title: titleOf(setting('title')),
    /** The HTTP server, by name; `auto`: uWebSockets.js where it runs. */
    http: choiceOf(setting('http'), settingFlags.http.choices),
    pollAfterSeconds: number('poll-after', 0, 86_400),
    limits: quotaLimits(
      choiceOf(setting('quotas'), settingFlags.quotas.choices),
      number('ticket-limit', 0, quotaMax),
      quota,
    ),
    /** Limits of the memory and work that each of the node's processes spends on callers. */
    nodeLimits: nodeLimitsOf(number, readers + 1),
    readers,
    access,
    /** How many wrong tokens and invitations an address may send in an hour; 0: any number. */
    guessesMax:
      setting('guesses-per-hour-per-address').text === ''
        ? guessesMaxOf(access, setting('quotas').text)
        : number('guesses-per-hour-per-address', 0, quotaMax),
    compat: !switchOf(setting('no-compat')),
    pages: !switchOf(setting('no-pages')),
    search: !switchOf(setting('no-search')),
    /** If undefined, the data directory holds one (engine/storage/node-files.ts). */
    secret: readSecret(environment),
    /** How the caller's address is found behind proxies, or null if there are none. */
    trustProxy,
    /** The host names by which callers may reach the API, or null for any. */
    allowedHosts: allowedHostsOf(setting('allowed-hosts'), { host, publicUrl, trustProxy }),
    /** The other origins whose pages may use the API, or null for none. */
    cors: corsOf(setting('cors')),
    /** The address and the port for operators; port 0: none. */
    opsHost: textOf(setting('ops-host')),
    opsPort: number('ops-port', 0, 65_535),
    webhookAllowPrivate: switchOf(setting('webhook-allow-private')),
    webhookCa: certificateOf(setting('webhook-ca')),
    idempotencyHours: number('idempotency-hours', 1, 8_760),
    /** The days after its newest message for which a thread is kept, or 0 for ever. */
    retentionDays: number('retention-days', 0, 36_500),
    /** The hours between two scrubs of the page files, or 0 for never. */
    scrubHours: hoursOf(setting('scrub-hours'), timerHoursMax),
    /** The MiB of log after which a checkpoint is taken, or 0 for never. */
    checkpointMb: number('checkpoint-mb', 0, 1_048_576),
    /** How the log is replicated, or null on a standalone node. */
    replication: replicationOf(setting),
    logLevel: choiceOf(setting('log-level'), settingFlags['log-level'].choices),
    logFormat: choiceOf(setting('log-format'), settingFlags['log-format'].choices),
  }
}

/** All settings as they were written, which make the same configuration in another process. */
export type SettingTexts = Readonly<Record<SettingName, string>>

export function settingTexts(sources: Pick<SettingSources<SettingName>, 'find'>): SettingTexts {
  const names = Object.keys(settingFlags) as SettingName[]
  const texts = names.map((name) => [name, sources.find(name).text])
  return Object.fromEntries(texts) as SettingTexts
}

/** The variables of the commands that take part, which a node may be started with. */
const variablesOfCallers = ['url', 'identity', 'token'].map(variableName)

/** Returns environment variables with our prefix that nothing reads, with suggestions. */
export function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const settings = Object.keys(settingFlags).map(variableName)
  return unknownAmong(environment, [...settings, secretVariable, ...variablesOfCallers])
}

/** Checks the secret before the data directory, the port or the log is touched. */
function readSecret({ [secretVariable]: secret }: NodeJS.ProcessEnv): string | undefined {
  return secret === undefined ? undefined : checkedSecret(secret, secretVariable)
}

/** Returns the secret. Throws a ConfigError that names its `source` if it is too short. */
export function checkedSecret(secret: string, source: string): string {
  if (secret.length >= secretCharactersMin) return secret
  throw new ConfigError(`${source} must hold at least ${secretCharactersMin} characters`)
}

function accessOf(setting: (name: SettingName) => Setting): Access {
  return {
    membersOnly: switchOf(setting('members-only')),
    registration: choiceOf(setting('registration'), settingFlags.registration.choices),
  }
}

function durabilityName(durability: Durability): string {
  return durability.mode === 'interval' ? `interval:${durability.ms}` : durability.mode
}

/** Returns 0 where anybody can have an identity: only the tokens of others can be guessed there. */
function guessesMaxOf({ membersOnly, registration }: Access, quotas: string): number {
  const isOpen = registration === 'open' && !membersOnly && quotas === 'open'
  return isOpen ? 0 : guessesPerHour
}
