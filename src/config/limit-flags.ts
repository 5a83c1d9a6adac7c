// The flags of limits: those on memory and work for callers, some of whose defaults depend on the
// machine, and those on the quotas of callers, which are a profile and a flag for each of its
// limits (docs/interface.md, "Quotas").

import os from 'node:os'
import { openFilesMax, residentMemory } from '../base/process.ts'
import { numberOf, type Setting } from '../base/values.ts'
import type { Action, QuotaLimits, Scope } from '../kernel/quotas.ts'

const mib = 1024 * 1024
/** What requests that wait for text on disk may hold of it and of bodies, together. */
const coldReadBytesMax = 64 * mib
const connections = connectionsPreset(openFilesMax())
const textPresetMb = Math.max(32, Math.floor(freeMb() / 2))

export const limitFlags = {
  readers: {
    value: 'N',
    preset: '0',
    help:
      'processes beside this one that answer reads on the same port; auto: two fewer than there ' +
      'are processors; memory limits are for all processes together',
  },
  'connections-max': {
    value: 'N',
    preset: `${connections.preset}`,
    help: 'open connections; by default seven eighths of `ulimit -n`, at most 65536',
  },
  'waiting-max': {
    value: 'N',
    preset: '50000',
    help:
      'polls that may wait for news; over connections of their own, at most seven eighths of ' +
      '--connections-max',
  },
  'writes-max': { value: 'N', preset: '10000', help: 'answers that may wait for the log' },
  'queue-mb': {
    value: 'MB',
    preset: '256',
    help: 'bodies being received and answers waiting, together',
  },
  'cold-reads-max': {
    value: 'N',
    preset: '1024',
    help: 'requests that may wait for text that is on disk, a share of them for one caller',
  },
  'body-timeout': {
    value: 'S',
    preset: '30',
    help: 'seconds within which a request body must arrive',
  },
  'idle-timeout': {
    value: 'S',
    preset: '10',
    help: 'seconds until --http node closes a silent connection (uWebSockets.js: about 10)',
  },
  'memory-mb': {
    value: 'MB',
    preset: `${Math.max(64, Math.floor(freeMb() * 0.9))}`,
    help: 'memory above which writes are refused; by default 9/10 of what is free at the start',
  },
  'search-memory-mb': {
    value: 'MB',
    preset: '64',
    help: 'memory for pages of the search index, in a process of its own beside --memory-mb',
  },
  'text-memory-mb': {
    value: 'MB',
    preset: `${textPresetMb}`,
    help:
      'memory for the text of messages, of which the rest is read from checkpoints; by default ' +
      'half of what is free at the start, or of --memory-mb',
  },
} as const

type LimitFlagName = Exclude<keyof typeof limitFlags, 'readers'>

/** Reads a flag as a whole number in a range, as `numberOf` does. Throws a ConfigError. */
type ReadNumber = (flag: LimitFlagName, min: number, max: number, because?: string) => number

const readersMax = 256

/** Returns the number of readers. Throws a ConfigError. */
export function readersOf(setting: Setting): number {
  if (setting.text === 'auto') return Math.max(0, os.availableParallelism() - 2)
  return numberOf(setting, 0, readersMax, ', or auto')
}

/** Returns the limits of one process, given how many share the memory of the machine. */
export function nodeLimitsOf(read: ReadNumber, processes: number) {
  const connectionsMax = read('connections-max', 1, connections.max, ' with this `ulimit -n`')
  const memoryMb = read('memory-mb', 64, 100_000_000)
  const textMb = read('text-memory-mb', 1, 100_000_000)
  return {
    waiting: {
      max: read('waiting-max', 0, 10_000_000),
      connectionsMax: Math.floor((connectionsMax * 7) / 8), // other callers need some
    },
    load: {
      connectionsMax,
      writesMax: read('writes-max', 1, 10_000_000),
      queueBytesMax: read('queue-mb', 1, 1_000_000) * mib,
      bodySeconds: read('body-timeout', 1, 3600),
      idleSeconds: read('idle-timeout', 1, 3600),
    },
    coldReads: {
      parkedMax: read('cold-reads-max', 1, 1_000_000),
      bytesMax: coldReadBytesMax,
    },
    /** The memory of the process above which writes are refused. */
    memoryBytesMax: (memoryMb * mib) / processes,
    /** The amount of memory for pages of the search index. */
    searchBytesMax: read('search-memory-mb', 1, 1_000_000) * mib,
    textBytesMax:
      ((textMb === textPresetMb ? Math.min(textMb, memoryMb / 2) : textMb) * mib) / processes,
  }
}

/**
 * Returns the default and the maximum number of open connections, given the limit on open files.
 * The log and webhooks need some of the files, and at that limit uWebSockets.js would spin.
 */
function connectionsPreset(filesMax: number): { preset: number; max: number } {
  const files = Number.isNaN(filesMax) ? 10_000 : Math.min(filesMax, 10_000_000)
  const max = Math.max(1, Math.floor((files * 15) / 16) - 32)
  return { preset: Math.min(65_536, max, Math.floor((files * 7) / 8)), max }
}

/** Returns the memory that is free at the start, including that of this process, in MiB. */
function freeMb(): number {
  // Since Node 20.13 this respects the limit of a container.
  const free = process.availableMemory?.() ?? os.freemem()
  return (free + (residentMemory() || 0)) / mib
}

interface QuotaFlag {
  /** The limit with `--quotas public`; with `open` there is none. */
  public: number
  /** The limited resource, for --help. */
  what: string
}

const quota = (limit: number, what: string): QuotaFlag => ({ public: limit, what })

/** A name says which action is limited, and whose: that of all callers, or of each one. */
type QuotaName = `${Action}-per-${'day' | 'hour'}${'' | '-per-address' | '-per-identity'}`

export const quotaFlags = {
  'messages-per-day': quota(200, 'messages a day'),
  'messages-per-day-per-address': quota(60, 'messages a day from one address'),
  'messages-per-day-per-identity': quota(100, 'messages a day by one identity'),
  'mentions-per-day-per-identity': quota(100, 'mentions a day by one identity'),
  'identities-per-hour-per-address': quota(10, 'new identities an hour from one address'),
  'governance-per-day': quota(100, 'proposals and reviews a day'),
  'governance-per-day-per-identity': quota(30, 'proposals and reviews a day by one identity'),
  'governance-per-day-per-address': quota(30, 'proposals and reviews a day from one address'),
  'changes-per-hour-per-identity': quota(
    1_000,
    'follows, read marks, claims and changes of tags and `listed` an hour by one identity',
  ),
  'rotations-per-hour-per-identity': quota(
    20,
    'replaced tokens and sign-outs an hour of one identity',
  ),
  'webhooks-per-hour-per-identity': quota(5, 'webhook registrations an hour by one identity'),
  'verifications-per-hour-per-identity': quota(3, 'webhook verifications an hour by one identity'),
} satisfies Partial<Record<QuotaName, QuotaFlag>>

export type QuotaFlagName = keyof typeof quotaFlags
type Profile = 'open' | 'public'

export const quotaFlagNames = Object.keys(quotaFlags) as QuotaFlagName[]

export function quotaHelp(name: QuotaFlagName): string {
  const { what, public: limit } = quotaFlags[name]
  return `${what}; 0: no limit; public: ${limit}`
}

/** The limit on the tickets of all callers together, because tickets are held in memory. */
const ticketsPerHour = 1_000_000

/** Returns the limits of a profile, or those of `flagValue` where it is not null (0: no limit). */
export function quotaLimits(
  profile: Profile,
  ticketLimit: number,
  flagValue: (name: QuotaFlagName) => number | null,
): QuotaLimits {
  const limits: { [A in Action]: { [S in Scope]?: number } } = {
    messages: {},
    mentions: {},
    identities: {},
    governance: {},
    changes: {},
    rotations: {},
    webhooks: {},
    verifications: {},
    tickets: { address: ticketLimit, all: ticketsPerHour },
  }
  for (const name of quotaFlagNames) {
    const [action] = name.split('-') as [Action]
    const [, scope = 'all'] = /-per-(address|identity)$/.exec(name) ?? []
    const limit = profile === 'public' ? quotaFlags[name].public : 0
    limits[action][scope as Scope] = flagValue(name) ?? limit
  }
  return limits
}
