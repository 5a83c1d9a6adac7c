// Who may use the operators' pages: the browser that has followed a link which the socket gave out,
// thus one of whoever owns the data directory (protocol.ts, P1).
//
//   socket: sign-in ──▶ code in a link ──confirmed──▶ session ──▶ signed out, expired
//
// O1. A code signs in once, within ten minutes; a session ends after twelve hours, by signing out,
//     and with the process. Of both, only digests are kept.
// O2. Forms of a session contain its form token, which no other page knows.

import { createHash, randomBytes } from 'node:crypto'

const codeMs = 10 * 60_000
export const sessionSeconds = 12 * 3600
/** The oldest ones are dropped. */
const keptMax = 100
const secretBytes = 32

export interface BrowserSession {
  /** The digest of its cookie. */
  readonly id: string
  formToken: string
  endsMs: number
}

/** `now` is in milliseconds, from any beginning. */
export class BrowserSessions {
  readonly #codes = new Map<string, number>()
  readonly #sessions = new Map<string, BrowserSession>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** A code that signs in once. */
  newCode(): string {
    const code = secret()
    keep(this.#codes, digestOf(code), this.#now() + codeMs)
    return code
  }

  /** Begins a session with a code, and returns its cookie; null: it is unknown, used or expired. */
  begin(code: string): string | null {
    const digest = digestOf(code)
    const endsMs = this.#codes.get(digest) ?? 0
    this.#codes.delete(digest)
    if (endsMs <= this.#now()) return null
    const cookie = secret()
    const id = digestOf(cookie)
    const session = { id, formToken: secret(), endsMs: this.#now() + sessionSeconds * 1000 }
    keep(this.#sessions, id, session)
    return cookie
  }

  /** The session with this cookie, if it goes on. */
  find(cookie: string): BrowserSession | null {
    const session = this.#sessions.get(digestOf(cookie))
    return session === undefined || session.endsMs <= this.#now() ? null : session
  }

  /** Makes forms that were shown before unusable: one that shows a secret is sent once. */
  renewForms(session: BrowserSession): void {
    session.formToken = secret()
  }

  end({ id }: BrowserSession): void {
    this.#sessions.delete(id)
  }
}

function secret(): string {
  return randomBytes(secretBytes).toString('hex')
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function keep<V>(map: Map<string, V>, key: string, value: V): void {
  map.set(key, value)
  if (map.size > keptMax) map.delete(map.keys().next().value!)
}
