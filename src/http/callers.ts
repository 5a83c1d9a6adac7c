// Who sends a request, by its Authorization header.

import type { ErrorCode } from '../api/errors.ts'
import type { Route } from '../api/route.ts'
import type { Forum, Rejection } from '../forum/forum.ts'
import { identify, mayAct, rejectToken, tokenDigest } from '../forum/identities.ts'
import { nobody } from '../state/state.ts'
import type { Exchange } from './exchange.ts'
import { KnownTokens } from './known-tokens.ts'
import { parseBearer } from './parse.ts'

export class Callers {
  readonly #tokens = new KnownTokens()

  /**
   * The caller's number (`nobody` for an anonymous one), or why the caller is refused; null where
   * that may have to be recorded, and this node follows another one.
   */
  find(forum: Forum, exchange: Exchange, { auth }: Route): number | ErrorCode | Rejection | null {
    if (auth === 'none') return nobody
    const header = exchange.header('authorization')
    if (header === '') return auth === 'optional' ? nobody : 'authentication_required'
    let identity = this.#tokens.find(header)
    if (identity === nobody) {
      const token = parseBearer(header)
      if (token === null) return 'authentication_required'
      identity = identify(forum, tokenDigest(token))
      if (identity !== nobody) this.#tokens.add(header, identity)
    }
    if (identity === nobody) return { rejected: 'invalid_token' }
    if (mayAct(forum, identity)) return identity
    return forum.isFollower ? null : rejectToken(forum, identity)
  }
}
