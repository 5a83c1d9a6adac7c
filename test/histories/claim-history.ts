// What concurrent callers asked of the claims of threads and were told, and the check that one
// order explains all of it: each request takes effect at one instant between its call and its
// answer (linearizability; thread-history.ts has the same for messages). Instants are counted:
// every call and every answer is one.
//
//   free ──claim──▶ held by one identity, with a fence ──release, block, expiry──▶ free
//                     └─claim by its holder──▶ held until another time, with the same fence
//
// F1. A claim that was granted, and however often it is repeated with its key, is one operation. A
//     request without an answer took effect at one instant after its call, or never.
// F2. While one identity holds a claim, nobody else is granted one. A claim that is not released
//     ends at its time and not before.
// F3. A new claim has a greater fence than all before it, of any thread.
// F4. A reply with a fence is published while its author holds the claim with this fence.
// F5. Whoever is refused because of a claim, or reads the thread, sees the claim of one instant.
//
// The callers have no clock. A grant shows when it was made, because its caller chose how long it
// lasts, and a message shows when it was published; those times never decrease in the order.

/** A claim as threads show it. */
export interface Held {
  holder: string
  fence: number
  expiresAt: number
}

export type Command =
  | {
      is: 'claim'
      by: string
      seconds: number
      /** The fence of the claim that is to be renewed; null if a new one may be made. */
      fence: number | null
      /** Whether it may also end earlier, with its holder. */
      isGuest: boolean
      /** What the first answer says; null while the outcome is unknown. */
      granted: Held | null
    }
  | { is: 'release'; by: string }
  | { is: 'block'; by: string }
  /** `at` is when it was published; null as long as no read has shown it. */
  | { is: 'reply'; by: string; fence: number; at: number | null }

export type Observation =
  | { is: 'shown'; claim: Held | null }
  /** A claim is refused, because this one is held. */
  | { is: 'claimed'; by: string; holder: string; expiresAt: number }
  /** A claim or a reply is refused, because the caller does not hold the claim with this fence. */
  | { is: 'lost'; by: string; fence: number }
  /** A release is refused, because another identity holds the claim. */
  | { is: 'not_holder'; by: string }

export interface Operation<T = Command | Observation> {
  what: T
  /** Null if it concerns the claims of all threads. */
  thread: string | null
  calledAt: number
  /** Infinity while the outcome is unknown. */
  answeredAt: number
  /** The number of times that it was sent and not refused. */
  attempts: number
}

/** A thread's claim in some order; null for what no answer has shown yet. */
interface State {
  claim: { holder: string; fence: number | null; expiresAt: number | null } | null
  /** The time that has come at least. */
  time: number
  /** The greatest fence of the thread so far. */
  fence: number
}

export class ClaimHistory {
  /** By a name that no two of them share, such as the idempotency key. */
  readonly commands = new Map<string, Operation<Command>>()
  readonly observations: Operation<Observation>[] = []
  readonly #found: string[] = []
  #instants = 0

  /** A command is sent, for the first time or again with its key. */
  send(name: string, thread: string | null, what: Command): Operation<Command> {
    const known = this.commands.get(name)
    const answeredAt = Number.POSITIVE_INFINITY
    const sent = known ?? { what, thread, calledAt: this.instant(), answeredAt, attempts: 0 }
    this.commands.set(name, sent)
    sent.attempts += 1
    return sent
  }

  answered(sent: Operation<Command>, granted: Held | null = null): void {
    const { what } = sent
    if (what.is === 'claim') {
      what.granted ??= granted
      const [first, again] = [what.granted, granted].map((held) => JSON.stringify(held))
      if (first !== again) this.#found.push(`F1: ${first} was also granted as ${again}`)
    }
    if (sent.answeredAt === Number.POSITIVE_INFINITY) sent.answeredAt = this.instant()
  }

  /** The command was refused without effect, and not because of a claim. */
  refused(name: string): void {
    const sent = this.commands.get(name)
    if (sent === undefined) return
    sent.attempts -= 1
    if (sent.attempts === 0) this.commands.delete(name)
  }

  /** The command was refused because of a claim, which the answer shows. */
  refusedFor(name: string, what: Observation): void {
    const { thread, calledAt } = this.commands.get(name)!
    this.refused(name)
    this.saw(thread!, calledAt, what)
  }

  /** Returns the next instant, as that of a call. */
  instant(): number {
    this.#instants += 1
    return this.#instants
  }

  /** An answer to a request that was sent at this instant shows something of a claim. */
  saw(thread: string, calledAt: number, what: Observation): void {
    const answeredAt = this.instant()
    this.observations.push({ what, thread, calledAt, answeredAt, attempts: 1 })
  }

  /** A read shows that a reply of this name was published at this time. */
  published(name: string, at: number): void {
    const reply = this.commands.get(name)
    if (reply?.what.is !== 'reply') return
    reply.what.at = at
    if (reply.answeredAt === Number.POSITIVE_INFINITY) reply.answeredAt = this.instant()
  }

  /** Returns everything that no order explains. */
  contradictions(): string[] {
    const all: Operation[] = [...this.commands.values(), ...this.observations]
    const threads = new Set(all.map(({ thread }) => thread))
    threads.delete(null)
    const found = [...this.#found, ...this.#compareFences()]
    for (const thread of threads) {
      const own = all.filter((each) => each.thread === thread || each.thread === null)
      const missing = unexplained(own.sort((a, b) => a.calledAt - b.calledAt))
      if (missing === null) continue
      const { what, calledAt, answeredAt } = missing
      const name = `${JSON.stringify(what)} of ${thread}, from ${calledAt} to ${answeredAt}`
      found.push(`${ruleOf[what.is]}: no order explains ${name}`)
    }
    return found
  }

  /**
   * Returns when this identity sent its first claim of the thread that has no answer, which may
   * have made the claim that a later one renews; Infinity if there is none.
   */
  #unansweredAt(holder: string, thread: string | null): number {
    const sent = [...this.commands.values()].filter(({ what, thread: other }) => {
      return what.is === 'claim' && what.granted === null && what.by === holder && other === thread
    })
    return Math.min(...sent.map(({ calledAt }) => calledAt))
  }

  /** Returns what contradicts one order of the fences of all threads (F3). */
  #compareFences(): string[] {
    const found: string[] = []
    const claims = new Map<number, { is: string; after: number; before: number }>()
    for (const { what, thread, calledAt, answeredAt } of this.commands.values()) {
      if (what.is !== 'claim' || what.granted === null) continue
      const { fence, holder } = what.granted
      const is = `${holder} in ${thread}`
      const known = claims.get(fence) ?? { is, after: calledAt, before: answeredAt }
      if (known.is !== is) found.push(`F3: fence ${fence} is of ${known.is} and of ${is}`)
      const sentAt = Math.min(calledAt, this.#unansweredAt(holder, thread))
      const [after, before] = [Math.min(known.after, sentAt), Math.min(known.before, answeredAt)]
      claims.set(fence, { is, after, before })
    }
    let latest = { fence: 0, after: 0 }
    for (const [fence, { after, before }] of [...claims].sort(([a], [b]) => a - b)) {
      if (before < latest.after) {
        found.push(`F3: ${fence} was granted at ${before}, ${latest.fence} after ${latest.after}`)
      }
      if (after > latest.after) latest = { fence, after }
    }
    return found
  }
}

const ruleOf = {
  claim: 'F2',
  release: 'F2',
  block: 'F2',
  reply: 'F4',
  shown: 'F5',
  claimed: 'F5',
  lost: 'F5',
  not_holder: 'F5',
} as const

/**
 * Searches for an order of these operations of one thread, which are in the order of their calls.
 * Returns null if there is one, and otherwise the operation with the earliest answer that the
 * longest beginning of an order lacks.
 *
 * An observation that the present state explains is taken at once: it changes nothing, so that what
 * remains has an order if it had one before. Whatever was searched in vain is not searched again.
 */
export function unexplained(operations: readonly Operation[]): Operation | null {
  const inVain = new Set<string>()
  let furthest: { left: number; first: Operation | null } = { left: operations.length, first: null }

  const hasOrder = (left: readonly Operation[], state: State): boolean => {
    const [rest, possible] = withoutExplained(left, state)
    const first = possible[0]
    if (first === undefined) return true // what remains never took effect
    const key = JSON.stringify([state, rest.map(({ calledAt }) => calledAt)])
    if (inVain.has(key)) return false
    inVain.add(key)
    if (rest.length <= furthest.left) furthest = { left: rest.length, first }
    return possible.some((operation) => {
      const others = rest.filter((other) => other !== operation)
      return statesAfter(state, operation.what).some((next) => hasOrder(others, next))
    })
  }
  return hasOrder(operations, { claim: null, time: 0, fence: 0 }) ? null : furthest.first
}

/**
 * Takes observations that the state explains. Returns what is left, and the operations that can be
 * next, in the order of their answers; none if nothing is left that was answered.
 */
function withoutExplained(left: readonly Operation[], state: State): [Operation[], Operation[]] {
  let rest = [...left]
  for (;;) {
    const firstAnswer = rest.reduce((least, each) => Math.min(least, each.answeredAt), Infinity)
    if (firstAnswer === Number.POSITIVE_INFINITY) return [rest, []]
    const possible = rest.filter(({ calledAt }) => calledAt <= firstAnswer)
    const isExplained = ({ what }: Operation) => {
      return ruleOf[what.is] === 'F5' && statesAfter(state, what)[0] === state
    }
    const explained = new Set(possible.filter(isExplained))
    if (explained.size === 0) {
      return [rest, possible.sort((a, b) => a.answeredAt - b.answeredAt)]
    }
    rest = rest.filter((each) => !explained.has(each))
  }
}

/** Returns the states in which a thread may be after this; none if it is impossible here. */
export function statesAfter(state: State, what: Command | Observation): State[] {
  const { claim } = state
  switch (what.is) {
    case 'shown':
      if (what.claim === null) return claim === null ? [state] : expired(state)
      return known(state, what.claim)
    case 'claimed':
      return what.holder === what.by ? [] : known(state, what)
    case 'lost':
      return claim?.holder === what.by && claim.fence === what.fence ? expired(state) : [state]
    case 'not_holder':
      return claim !== null && claim.holder !== what.by ? [state] : []
    case 'reply':
      return known(state, { holder: what.by, fence: what.fence }).flatMap((held) => {
        return what.at === null ? held : publishedAt(held, what.at)
      })
    case 'release':
      if (claim === null || claim.holder === what.by) return [{ ...state, claim: null }]
      return expired(state)
    case 'block':
      return [claim?.holder === what.by ? { ...state, claim: null } : state]
    case 'claim':
      return what.granted === null ? perhapsClaimed(state, what) : claimed(state, what)
  }
}

type Claiming = Extract<Command, { is: 'claim' }>

function claimed(state: State, { by, seconds, fence, isGuest, granted }: Claiming): State[] {
  const { claim, time } = state
  const held = granted!
  const at = held.expiresAt - seconds * 1000
  if (held.holder !== by || (at < time && !isGuest)) return []
  const next = { ...state, claim: held, time: Math.max(at, time), fence: held.fence }
  const ends = claim === null ? 0 : claim.expiresAt
  const isGreater = held.fence > state.fence
  const states: State[] = []
  const isSame = claim?.holder === by && (claim.fence === held.fence || claim.fence === null)
  const isOver = !isGuest && ends !== null && at >= ends
  const isWanted = fence === null || fence === held.fence
  if (isSame && isWanted && !isOver && (claim.fence !== null || isGreater)) states.push(next)
  const isHeld = !isGuest && ends !== null && at < ends
  const isOther = claim?.fence !== held.fence
  if (isOther && isGreater && fence === null && !isHeld) {
    states.push({ ...next, time: Math.max(next.time, ends ?? 0) })
  }
  return states
}

/** What a claim without an answer may have done. */
function perhapsClaimed(state: State, { by, fence }: Claiming): State[] {
  const own = known(state, fence === null ? { holder: by } : { holder: by, fence })
  const renewed = own.map((each) => ({ ...each, claim: { ...each.claim!, expiresAt: null } }))
  if (fence !== null) return renewed
  const made = { holder: by, fence: null, expiresAt: null }
  const free = state.claim === null ? [state] : expired(state)
  return [...renewed, ...free.map((each) => ({ ...each, claim: made }))]
}

/** Returns the state in which the thread's claim has expired. */
function expired(state: State): State[] {
  const { claim, time } = state
  if (claim === null) return []
  return [{ ...state, claim: null, time: Math.max(time, claim.expiresAt ?? 0) }]
}

function publishedAt(state: State, at: number): State[] {
  const ends = state.claim?.expiresAt ?? Number.POSITIVE_INFINITY
  return at < state.time || at >= ends ? [] : [{ ...state, time: at }]
}

/** Returns the state if it can have this claim, with what is known of the claim from now on. */
function known(state: State, shown: Partial<Held>): State[] {
  const { claim } = state
  if (claim === null) return []
  const { holder, fence = claim.fence, expiresAt = claim.expiresAt } = shown
  const isOther = claim.holder !== holder || (claim.fence ?? fence) !== fence
  if (isOther || (claim.expiresAt ?? expiresAt) !== expiresAt) return []
  if (claim.fence === fence && claim.expiresAt === expiresAt) return [state]
  if (claim.fence === null && fence !== null && fence <= state.fence) return []
  const least = Math.max(state.fence, fence ?? 0)
  return [{ ...state, claim: { holder, fence, expiresAt }, fence: least }]
}
