// The sessions of the operators' pages. A browser gets one by following a link that the socket gave
// out, so it is a browser of the owner of the data directory (protocol.ts, P1).
//
//   socket: sign-in ──▶ code in a link ──confirmed──▶ session ──▶ signed out, expired
//
// O1. A code signs in once, within ten minutes. A session ends after twelve hours, when the browser
//     signs out, or with the process. Only digests of codes and cookies are kept.
// O2. The forms of a session contain its form token, which no other page knows.

import { createHash, randomBytes } from 'node:crypto'

const codeMs = 10 * 60_000
export const sessionSeconds = 12 * 3600
/** The maximum number of codes, and of sessions; the oldest ones are dropped. */
const keptMax = 100
const secretBytes = 32

export interface BrowserSession {
  /** The digest of the session's cookie. */
  readonly id: string
  formToken: string
  endsMs: number
}

/** `now` returns milliseconds since an arbitrary time. */
export class BrowserSessions {
  readonly #codes = new Map<string, number>()
  readonly #sessions = new Map<string, BrowserSession>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Returns a new code, which signs in once. */
  newCode(): string {
    const code = secret()
    keep(this.#codes, digestOf(code), this.#now() + codeMs)
    return code
  }

  /** Begins a session and returns its cookie, or null if the code is unknown, used or expired. */
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

  /** Returns the session with this cookie, or null if there is none or it has expired. */
  find(cookie: string): BrowserSession | null {
    const session = this.#sessions.get(digestOf(cookie))
    return session === undefined || session.endsMs <= this.#now() ? null : session
  }

  /** Makes earlier forms unusable, so that a form whose answer shows a secret is not sent twice. */
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
