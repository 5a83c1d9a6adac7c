// Identifies the caller of a request by its Authorization header.

import type { Forum } from '../../forum/forum.ts'
import {
  identify,
  isAccepted,
  mayAct,
  mayStillAct,
  rejectToken,
  rejectUnknown,
  tokenDigest,
} from '../../forum/identities/commands.ts'
import { nobody } from '../../kernel/network.ts'
import type { ErrorCode, Rejection } from '../../kernel/rejection.ts'
import type { Route } from '../api/route.ts'
import type { Exchange } from './exchange.ts'
import { parseBearer } from './parse.ts'

export class Callers {
  readonly #tokens = new KnownTokens()
  /**
   * The number of the token that was sent by the caller found last (forum/identities/commands.ts).
   */
  tokenNumber = 0

  /**
   * Returns the caller's number (`nobody` for an anonymous one), or why the caller is refused; null
   * if only the node that this one follows can tell: because the refusal may need a record, or
   * because the records that make the token known may not have been read yet.
   */
  find(
    forum: Forum,
    exchange: Exchange,
    { auth }: Route,
    addressOf: () => string,
  ): number | ErrorCode | Rejection | null {
    if (auth === 'none') return nobody
    const header = exchange.header('authorization')
    if (header === '') {
      if (auth === 'optional') return nobody
      return auth === 'member' ? 'token_required' : 'authentication_required'
    }
    let identity = this.#findKnown(forum, header)
    if (identity === nobody) {
      const token = parseBearer(header)
      if (token === null) return 'authentication_required'
      const { guesses } = forum
      const address = guesses.areLimited ? addressOf() : ''
      const retryAfter = guesses.refuse(address)
      if (retryAfter > 0) return { rejected: 'rate_limited', retryAfter }
      const bearer = identify(forum, tokenDigest(token))
      if (bearer === null) {
        if (forum.isFollower) return null // the process that can tell counts it, too
        guesses.count(address, 'token')
        return rejectUnknown(forum)
      }
      identity = bearer.identity
      this.tokenNumber = bearer.token
      const isPresent = bearer.token === forum.state.identities.tokenNumber(identity)
      if (isPresent) this.#tokens.add(header, identity, bearer.token)
    }
    if (mayAct(forum, identity) && isAccepted(forum, identity, this.tokenNumber)) {
      forum.lastSeen.note(identity)
      return identity
    }
    return forum.isFollower ? null : rejectToken(forum, identity, this.tokenNumber)
  }

  #findKnown({ state }: Forum, header: string): number {
    const identity = this.#tokens.find(header)
    if (identity === nobody) return nobody
    this.tokenNumber = this.#tokens.tokenNumber
    return this.tokenNumber === state.identities.tokenNumber(identity) ? identity : nobody
  }
}

/** Rejects a caller who expired, was blocked or got another token since the token was checked. */
export function rejectCaller(
  forum: Forum,
  { caller, token }: { caller: number; token: number },
): Rejection | null {
  if (caller === nobody || mayStillAct(forum, caller, token)) return null
  return rejectToken(forum, caller, token)
}

// Caches the identities that recent Authorization headers name: most requests need no SHA-256.
//
//   header ──its first hex digits──▶ pair p ──▶ headers[p], headers[p + 1]      the newer first
//
// T1. Only the current tokens of identities are kept, each with its number. An entry is not used if
//     its number is no longer that of the identity's current token. Whether the identity may still
//     act is checked for each request.
// T2. Only headers of the usual length are kept, because spaces could make one arbitrarily long.
// T3. At most `headersMax` headers are kept, two in each pair. A third evicts the older one. Tokens
//     are random, so that is rare until the table is nearly full.
//
// The headers are kept in clear text, as every request brings them. If the key were a digest, each
// request would need a SHA-256: 0.4 us and 9,000 instructions instead of 0.03 us and 1,500, where a
// poll that finds nothing takes 22,000.
//
// A Map would hash the whole header whenever it arrives as a new string, in twice the time.

const headersMax = 65_536
const pairShift = 32 - Math.log2(headersMax)
const usualStart = 'Bearer aic_'.length
const usualCharacters = usualStart + 64
/** The number of a token's digits that choose its pair. */
const pairDigits = 8

export class KnownTokens {
  readonly #headers: string[] = new Array<string>(headersMax).fill('')
  readonly #identities = new Uint32Array(headersMax)
  readonly #numbers = new Uint32Array(headersMax)
  /** The number of the token that was found last. */
  tokenNumber = 0

  /** Returns the number of the identity that this Authorization header names, or `nobody`. */
  find(header: string): number {
    if (header.length !== usualCharacters) return nobody
    const pair = pairOf(header)
    const index = this.#headers[pair] === header ? pair : pair + 1
    if (index !== pair && this.#headers[index] !== header) return nobody
    this.tokenNumber = this.#numbers[index]
    return this.#identities[index]
  }

  add(header: string, identity: number, token: number): void {
    if (header.length !== usualCharacters) return
    const pair = pairOf(header)
    this.#headers[pair + 1] = this.#headers[pair]
    this.#identities[pair + 1] = this.#identities[pair]
    this.#numbers[pair + 1] = this.#numbers[pair]
    this.#headers[pair] = header
    this.#identities[pair] = identity
    this.#numbers[pair] = token
  }
}

function pairOf(header: string): number {
  let hash = 0
  for (let i = usualStart; i < usualStart + pairDigits; i++) {
    hash = Math.imul(hash, 31) + header.charCodeAt(i)
  }
  return (Math.imul(hash, 0x9e3779b1) >>> pairShift) & ~1
}
