// Rate limits per action: exact sliding windows over the times of records.
//
//   action, e.g. `messages` ─┬─ limit for all ────── window ── one subject
//                            ├─ limit per identity ─ window ── a subject for each identity
//                            └─ limit per address ── window ── a subject for each address
//
//   subject: a ring of the times of its last events:   17 42 | 3 8 9     next ▶ the oldest
//
// W1. A subject has at most `most` events in any `windowMs`: before another event is allowed, the
//     oldest of the times of its last `most` events must have left the window.
// W2. Subjects are kept in two generations, each at least a window long; when a third begins, the
//     oldest is dropped. Memory is proportional to the subjects that were active recently.
// W3. Only records count, at their own times. A rejection or a replay makes no record, and a
//     restart reproduces the same counts.

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The actions that are counted, and the lengths of their windows. */
const windowsMs = {
  messages: dayMs,
  mentions: dayMs,
  identities: hourMs,
  governance: dayMs,
  /** Follows, unfollows, read marks and claims. */
  changes: hourMs,
  /** Replaced tokens and sign-outs: apart from the others, so that no thief can prevent them. */
  rotations: hourMs,
  webhooks: hourMs,
  verifications: hourMs,
  tickets: hourMs,
}

export type Action = keyof typeof windowsMs

/** The events that a limit counts together: all, those of an identity, or those of an address. */
export type Scope = 'all' | 'identity' | 'address'

/** The maximum number of events within an action's window; 0 or absent means no limit. */
export type QuotaLimits = { readonly [A in Action]?: { readonly [S in Scope]?: number } }

/** One event that is counted, or is about to be. */
export interface QuotaEvent {
  by: number
  /** A hash of the caller's address, or '' where no limit needs it; '' is not counted. */
  client: string
  /** Milliseconds since the epoch. */
  at: number
}

interface Counter {
  scope: Scope
  window: Window
}

export class Quotas {
  readonly #counters: Record<Action, Counter[]>

  constructor(limits: QuotaLimits) {
    const counters = (action: Action): Counter[] =>
      Object.entries(limits[action] ?? {})
        .filter(([, most]) => most > 0)
        .map(([scope, most]) => {
          return { scope: scope as Scope, window: new Window(most, windowsMs[action]) }
        })
    const actions = Object.keys(windowsMs) as Action[]
    this.#counters = Object.fromEntries(
      actions.map((action) => [action, counters(action)]),
    ) as Record<Action, Counter[]>
  }

  facts(): unknown[] {
    return this.#all().map(({ action, scope, window }) => [action, scope, window.facts()])
  }

  /** Restores the windows. A limit that was added since then counts only events from now on. */
  restore(facts: unknown): void {
    const windows = this.#all()
    for (const [action, scope, saved] of facts as [Action, Scope, WindowFacts][]) {
      const same = windows.find((each) => each.action === action && each.scope === scope)
      same?.window.restore(saved)
    }
  }

  #all(): (Counter & { action: Action })[] {
    return Object.entries(this.#counters).flatMap(([action, counters]) =>
      counters.map((counter) => ({ action: action as Action, ...counter })),
    )
  }

  /** Returns whether records of this action must carry a hash of the caller's address. */
  needsClient(action: Action): boolean {
    return this.#counters[action].some(({ scope }) => scope === 'address')
  }

  /** Counts an event that is recorded in the log. */
  count(action: Action, event: QuotaEvent): void {
    for (const { scope, window } of this.#counters[action]) {
      const subject = subjectOf(scope, event)
      if (subject !== '') window.count(subject, event.at)
    }
  }

  /** Returns the milliseconds until all limits allow `times` such events, or 0 if they do now. */
  waitMs(action: Action, event: QuotaEvent, times = 1): number {
    let wait = 0
    for (const { scope, window } of this.#counters[action]) {
      wait = Math.max(wait, window.waitMs(subjectOf(scope, event), event.at, times))
    }
    return wait
  }
}

function subjectOf(scope: Scope, { by, client }: QuotaEvent): number | string {
  if (scope === 'all') return 'all'
  return scope === 'identity' ? by : client
}

/** A ring of times. When it is full, `times[next]` is the oldest one. */
interface Recent {
  times: number[]
  next: number
}

/** `#since`, and both generations: each subject with its times, oldest first. */
type WindowFacts = [number, [number | string, number[]][], [number | string, number[]][]]

/** Limits each subject to `most` events in any `windowMs` milliseconds. */
export class Window {
  readonly #most: number
  readonly #windowMs: number
  /** Subjects with an event since `#since`, and those whose last event is a generation older. */
  #current = new Map<number | string, Recent>()
  #before = new Map<number | string, Recent>()
  #since = 0

  constructor(most: number, windowMs: number) {
    this.#most = most
    this.#windowMs = windowMs
  }

  facts(): WindowFacts {
    const rows = (subjects: Map<number | string, Recent>): WindowFacts[1] =>
      Array.from(subjects, ([subject, { times, next }]) => {
        return [subject, [...times.slice(next), ...times.slice(0, next)]]
      })
    return [this.#since, rows(this.#current), rows(this.#before)]
  }

  /** Restores the window. If the limit has been lowered since, the newest times are kept. */
  restore([since, current, before]: WindowFacts): void {
    const kept = (rows: WindowFacts[1]): [number | string, Recent][] =>
      rows.map(([subject, times]) => [subject, { times: times.slice(-this.#most), next: 0 }])
    this.#since = since
    this.#current = new Map(kept(current))
    this.#before = new Map(kept(before))
  }

  get subjects(): number {
    return this.#current.size + this.#before.size
  }

  /** Counts an event. Times must never go back. */
  count(subject: number | string, at: number): void {
    if (at - this.#since >= this.#windowMs) {
      // A subject without an event since `#since` has none within the current window.
      this.#before = this.#current
      this.#current = new Map()
      this.#since = at
    }
    const recent = this.#find(subject) ?? { times: [], next: 0 }
    this.#before.delete(subject)
    this.#current.set(subject, recent)
    if (recent.times.length < this.#most) {
      recent.times.push(at)
      return
    }
    recent.times[recent.next] = at
    recent.next = (recent.next + 1) % this.#most
  }

  /** Returns the milliseconds until the limit allows `events` more events, or 0 if it does now. */
  waitMs(subject: number | string, at: number, events = 1): number {
    if (events > this.#most) return this.#windowMs // they never are
    const { times, next } = this.#find(subject) ?? { times: [], next: 0 }
    const leaving = times.length + events - this.#most
    if (leaving <= 0) return 0
    const last = times[(next + leaving - 1) % times.length]
    return Math.max(0, last + this.#windowMs - at)
  }

  #find(subject: number | string): Recent | undefined {
    return this.#current.get(subject) ?? this.#before.get(subject)
  }
}
