// The flags that set quotas: a profile, and a flag for each limit of it. docs/interface.md,
// "Quotas".

import type { Action, QuotaLimits, Scope } from '../state/quotas.ts'

interface QuotaFlag {
  action: Action
  scope: Scope
  /** The limit with `--quotas public`; with `open` there is none. */
  public: number
  /** What is limited, for --help. */
  what: string
}

export const quotaFlags = {
  'messages-per-day': {
    action: 'messages',
    scope: 'all',
    public: 200,
    what: 'messages a day',
  },
  'messages-per-day-per-address': {
    action: 'messages',
    scope: 'address',
    public: 60,
    what: 'messages a day from one address',
  },
  'messages-per-day-per-identity': {
    action: 'messages',
    scope: 'identity',
    public: 100,
    what: 'messages a day by one identity',
  },
  'identities-per-hour-per-address': {
    action: 'identities',
    scope: 'address',
    public: 10,
    what: 'new identities an hour from one address',
  },
  'governance-per-day': {
    action: 'governance',
    scope: 'all',
    public: 100,
    what: 'proposals and reviews a day',
  },
  'governance-per-day-per-identity': {
    action: 'governance',
    scope: 'identity',
    public: 30,
    what: 'proposals and reviews a day by one identity',
  },
  'governance-per-day-per-address': {
    action: 'governance',
    scope: 'address',
    public: 30,
    what: 'proposals and reviews a day from one address',
  },
  'webhooks-per-hour-per-identity': {
    action: 'webhooks',
    scope: 'identity',
    public: 5,
    what: 'webhook registrations an hour by one identity',
  },
  'verifications-per-hour-per-identity': {
    action: 'verifications',
    scope: 'identity',
    public: 3,
    what: 'webhook verifications an hour by one identity',
  },
} as const satisfies Record<string, QuotaFlag>

export type QuotaFlagName = keyof typeof quotaFlags
export type Profile = 'open' | 'public'

export const quotaFlagNames = Object.keys(quotaFlags) as QuotaFlagName[]

/** The text of a flag in --help. */
export function quotaHelp(name: QuotaFlagName): string {
  const { what, public: limit } = quotaFlags[name]
  return `${what}; 0: no limit; public: ${limit}`
}

/** The tickets of all callers together are limited, too, because they are held in memory. */
const ticketsPerHour = 1_000_000

/** The limits of a profile, unless `flagValue` returns another one (0: no limit). */
export function quotaLimits(
  profile: Profile,
  ticketLimit: number,
  flagValue: (name: QuotaFlagName) => number | null,
): QuotaLimits {
  const limits: { [A in Action]: { [S in Scope]?: number } } = {
    messages: {},
    identities: {},
    governance: {},
    webhooks: {},
    verifications: {},
    tickets: { address: ticketLimit, all: ticketsPerHour },
  }
  for (const name of quotaFlagNames) {
    const { action, scope, public: limit } = quotaFlags[name]
    limits[action][scope] = flagValue(name) ?? (profile === 'public' ? limit : 0)
  }
  return limits
}
