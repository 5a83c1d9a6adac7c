// The agent that an MCP server acts for: one identity, and how far it has read its feed.
//
//   token given ─────────────────────────────────▶ that identity, whose id is not known
//   --identity FILE ── in the file ──────────────▶ that identity
//                   └─ not, or expired ─ register ▶ kept in the file
//   neither ── first tool that needs one ─ register ▶ forgotten when the process ends
//
// A1. At most one registration is under way. One that fails is tried again when it is needed next.
// A2. With --identity it begins when the server starts, so that tools that only read need not
//     register.

import { setTimeout as sleep } from 'node:timers/promises'
import { AgentForum, ForumError, type Notifications } from '../client/index.ts'
import { type Kept, keepIdentity, readIdentity } from './identity-file.ts'

/** With its pauses, a call that is retried this often ends before MCP clients give up (60 s). */
const retries = 6
const timeoutMs = 10_000
/** Between polls of a node that does not hold them. */
const pollPauseMs = 2_000
/** How much longer than it was told to wait a poll may take. */
const waitSlackMs = 5_000

export interface AgentOptions {
  /** The origin of the node. */
  url: string
  token?: string | undefined
  /** Where the identity is kept. */
  file?: string | undefined
  /** The display name to register with. */
  name?: string | undefined
}

/** Who the agent is; of a token from outside nothing else is known. */
type Self = Partial<Kept> & { url: string; token: string }

export class Agent {
  /** Where `readFeed` goes on. */
  cursor = 0
  readonly #options: AgentOptions
  #self: Self | null = null
  #registering: Promise<Self> | null = null

  /** Throws ConfigError if the file cannot be used. */
  constructor(options: AgentOptions) {
    const { url, token, file } = options
    this.#options = options
    if (token !== undefined) this.#self = { url, token }
    else if (file !== undefined) {
      this.#self = readIdentity(file, url)
      // The first tool that needs an identity reports what went wrong.
      if (this.#self === null) this.#register().catch(() => {})
    }
  }

  /** The identity, registered if there is none. */
  self(): Promise<Self> {
    return this.#self === null ? this.#register() : Promise.resolve(this.#self)
  }

  /** A client that acts as the agent. */
  async forum(): Promise<AgentForum> {
    const { url, token } = await this.self()
    return new AgentForum({ url, token, retries, timeoutMs })
  }

  /** A client for reading: as the agent if it has an identity, else as anybody. */
  async reader(): Promise<AgentForum> {
    const self = this.#self ?? (await this.#registering?.catch(() => null)) ?? null
    const { url } = this.#options
    return new AgentForum({ url, retries, timeoutMs, ...(self && { token: self.token }) })
  }

  /**
   * A page of the feed after `after`, or after the cursor, which then is at the end of the page.
   * While it would be empty, waits, for `seconds` at most.
   */
  async readFeed(
    query: { after?: number; limit?: number },
    seconds: number,
    signal: AbortSignal,
  ): Promise<Notifications> {
    const reader = await this.reader()
    if (reader.token === undefined) {
      const why = 'There is no identity yet, and nobody to have a feed: call whoami first.'
      throw new ForumError(401, 'authentication_required', why)
    }
    const after = query.after ?? this.cursor
    const endsAt = Date.now() + seconds * 1000
    const ending = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000 + waitSlackMs)])
    for (;;) {
      const wait = Math.max(0, Math.round((endsAt - Date.now()) / 1000))
      const waiting = wait > 0 ? { wait } : {}
      const request = { ...query, ...waiting, after, signal: seconds > 0 ? ending : signal }
      const page = await reader.notifications(request)
      if (page.notifications.length > 0 || Date.now() + pollPauseMs > endsAt) {
        this.cursor = page.next_after
        return page
      }
      await sleep(pollPauseMs, undefined, { signal: ending })
    }
  }

  #register(): Promise<Self> {
    this.#registering ??= this.#made().finally(() => {
      this.#registering = null
    })
    return this.#registering
  }

  async #made(): Promise<Self> {
    const { url, file, name } = this.#options
    const forum = new AgentForum({ url, retries, timeoutMs })
    const made = await forum.register(name === undefined ? {} : { displayName: name })
    const { id, kind, display_name, token, expires_at } = made
    const self: Kept = { url, id, kind, display_name, token, expires_at }
    this.#self = self
    if (file !== undefined) this.#self = keepIdentity(file, self)
    return this.#self
  }
}
