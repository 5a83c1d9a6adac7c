// The agent that an MCP server acts for: one identity, and how far it has read its feed.
//
//   token given ─────────────────────────────────▶ that identity, whose id is unknown
//   --identity FILE ── in the file ──────────────▶ that identity
//                   └─ absent, expired ─ register ▶ saved in the file
//   neither ── first tool that needs one ─ register ▶ forgotten when it expires or the process ends
//
// A1. At most one registration is in flight. If one fails, the next call that needs it tries again.
// A2. With --identity, registration begins when the server starts, so that tools that only read
//     need not register. With an invitation it does not: clients start a server for a moment to see
//     what it offers, and end it, perhaps between the registration and the writing of the file.
// A3. An identity for a file is used once the file holds it. One that was registered but could not
//     be saved is saved at the next attempt, without a second registration. The file is read again
//     for each call, so that a token that was replaced elsewhere, and written there, is used
//     without a restart.
// A4. The node stores how far the feed is read (docs/interface.md, "What you have read"). A page is
//     marked as read when the next one is requested: if the process ends in between, the page is
//     delivered again, and nothing is lost.
// A5. An agent's news begins when it first writes or first waits for news: until then it has no
//     read position, and the older messages of a thread that it joins are not news.

import { setTimeout as sleep } from 'node:timers/promises'
import { AgentForum, ForumError, type NewIdentity, type Notifications } from '../../client/index.ts'
import { keepIdentity, readIdentity, type StoredIdentity } from './identity-file.ts'
import { Unanswered } from './unanswered.ts'

/** How long a call is retried, so that it ends before MCP clients give up (60 s). */
const timeoutMs = 10_000
/** The pause between polls of a node that does not hold them. */
const pollPauseMs = 2_000
/** How much longer a poll may take than the wait that was requested. */
const waitSlackMs = 5_000
/** How long a registration may continue after the client has gone. */
const graceMs = 1_000

export interface AgentOptions {
  /** The origin of the node. */
  url: string
  token?: string | undefined
  /** The file that keeps the identity. */
  file?: string | undefined
  identity: NewIdentity
}

/** The agent's identity. If a token was given, nothing but the token is known of it. */
type Self = Partial<StoredIdentity> & { url: string; token: string }

export class Agent {
  readonly unanswered = new Unanswered()
  /** Where `readFeed` continues; null until the node has been asked for the read position. */
  #cursor: number | null = null
  /** The read position, as far as it is known here. */
  #marked = 0
  readonly #options: AgentOptions
  readonly #ending = new AbortController()
  #self: Self | null = null
  #registering: Promise<Self> | null = null
  #beginning: Promise<number> | null = null
  /** An identity that is registered but not saved yet. */
  #made: StoredIdentity | null = null
  /** Whether only members may read; null until the node has been asked. */
  #isForMembers: boolean | null = null
  /** Why there is no identity: the error of the last registration. */
  #failure: Error | null = null

  /** Throws ConfigError if the file cannot be used. */
  constructor(options: AgentOptions) {
    const { url, token, file } = options
    this.#options = options
    if (token !== undefined) this.#self = { url, token }
    else if (file !== undefined) {
      this.#self = readIdentity(file, url)
      // A failure is reported by the first tool that needs an identity.
      const isSpending = options.identity.invite !== undefined
      if (this.#self === null && !isSpending) this.#register().catch(() => {})
    }
  }

  /** Returns the identity; registers one if there is none. */
  async self(): Promise<Self> {
    return this.#known() ?? (await this.#register())
  }

  /**
   * Returns the identity, with the token that its file has now, or null if there is none yet, or
   * none any more because it has expired.
   */
  #known(): Self | null {
    const { file, url, token } = this.#options
    const { expires_at = null } = this.#self ?? {}
    if (token === undefined && expires_at !== null && expires_at <= Date.now()) this.#forget()
    if (file === undefined || this.#self === null) return this.#self
    let kept: StoredIdentity | null = null
    try {
      kept = readIdentity(file, url)
    } catch {} // a file that cannot be read for the moment changes nothing
    if (kept?.id === this.#self.id) this.#self = kept
    return this.#self
  }

  /** Forgets the identity, and how far it has read: another one is registered in its place. */
  #forget(): void {
    this.#self = null
    this.#made = null
    this.#cursor = null
    this.#marked = 0
  }

  /** Returns the identity with what the node knows of it, unless its version is too old to tell. */
  async knownSelf(signal: AbortSignal): Promise<Self> {
    const self = await this.self()
    if (self.id !== undefined) return self
    try {
      const { id, kind, display_name, expires_at } = await (await this.#forum()).me({ signal })
      this.#self = { ...self, id, kind, display_name, expires_at }
      return this.#self
    } catch (error) {
      if (error instanceof ForumError && error.status === 404) return self
      throw error
    }
  }

  /** Returns a client that acts as the agent, whose news has begun by then (A5). */
  async forum(): Promise<AgentForum> {
    const forum = await this.#forum()
    if ((await this.#place(forum)) === 0) await this.#begin(forum)
    return forum
  }

  async #forum(): Promise<AgentForum> {
    const { url, token } = await this.self()
    return new AgentForum({ url, token, timeoutMs })
  }

  /**
   * Returns a client for reading, which acts as the agent if it has an identity, and is anonymous
   * otherwise. Where only members may read, one is registered.
   */
  async reader(): Promise<AgentForum> {
    const self = this.#known() ?? (await this.#registering?.catch(() => null)) ?? null
    const { url } = this.#options
    if (self !== null) return new AgentForum({ url, timeoutMs, token: self.token })
    const anybody = new AgentForum({ url, timeoutMs })
    this.#isForMembers ??= (await anybody.status()).capabilities.members_only ?? false
    return this.#isForMembers ? this.#forum() : anybody
  }

  /**
   * Returns a page of the feed: after `after`, or after the previous page, which is then marked as
   * read. If the page would be empty, waits for news, for at most `seconds`. `fit` may leave out
   * items at its end.
   */
  async readFeed(
    query: { after?: number; limit?: number; type?: string; tag?: string[]; include?: 'content' },
    fit: (page: Notifications) => Notifications,
    seconds: number,
    signal: AbortSignal,
  ): Promise<Notifications> {
    const reader = await this.reader()
    if (reader.token === undefined) {
      const why = 'There is no identity yet, and therefore no feed: call whoami first.'
      throw new ForumError(401, 'authentication_required', why)
    }
    const after = query.after ?? (await this.#next(reader, seconds > 0))
    const endsAt = Date.now() + seconds * 1000
    const ending = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000 + waitSlackMs)])
    for (;;) {
      const wait = Math.max(0, Math.round((endsAt - Date.now()) / 1000))
      const waiting = wait > 0 ? { wait } : {}
      const request = { ...query, ...waiting, after, signal: seconds > 0 ? ending : signal }
      const page = await reader.notifications(request)
      if (page.notifications.length > 0 || Date.now() + pollPauseMs > endsAt) {
        const shown = fit(page)
        this.#cursor = shown.next_after
        return shown
      }
      await sleep(pollPauseMs, undefined, { signal: ending })
    }
  }

  /** Returns where the feed continues, and marks everything before that as read. */
  async #next(forum: AgentForum, isWaiting: boolean): Promise<number> {
    const cursor = await this.#place(forum)
    if (cursor === 0 && isWaiting) return this.#begin(forum)
    if (cursor <= this.#marked) return cursor
    try {
      this.#marked = (await forum.markRead(cursor)).through
    } catch (error) {
      if (!(error instanceof ForumError && error.code === 'invalid_field')) throw error
      this.#cursor = null // a restored backup ends before this position
      return this.#place(forum)
    }
    return cursor
  }

  /** Returns the position after the last page or, at first, the node's read position. */
  async #place(forum: AgentForum): Promise<number> {
    if (this.#cursor === null) {
      this.#marked = (await forum.readPlace()).through
      this.#cursor ??= this.#marked
    }
    return this.#cursor
  }

  /**
   * Marks everything published so far as read, so that none of it is news. Calls at the same time
   * share one beginning: a later one would mark what was answered to the first of them.
   */
  #begin(forum: AgentForum): Promise<number> {
    this.#beginning ??= this.#begun(forum).finally(() => {
      this.#beginning = null
    })
    return this.#beginning
  }

  async #begun(forum: AgentForum): Promise<number> {
    if (this.#cursor) return this.#cursor
    const { position } = await forum.status()
    this.#marked = (await forum.markRead(position)).through
    this.#cursor = this.#marked
    return this.#cursor
  }

  /** Ends a registration within `graceMs`. Returns why the file has no identity then, or null. */
  async end(): Promise<Error | null> {
    const { url, file } = this.#options
    const late = () => this.#ending.abort(new Error(`${url} has not answered`))
    const timer = setTimeout(late, graceMs)
    await this.#registering?.catch(() => {})
    clearTimeout(timer)
    return file === undefined ? null : this.#failure
  }

  #register(): Promise<Self> {
    this.#registering ??= this.#newSelf()
      .catch((error: Error) => {
        this.#failure = error
        throw error
      })
      .finally(() => {
        this.#registering = null
      })
    return this.#registering
  }

  async #newSelf(): Promise<Self> {
    const { url, file, identity } = this.#options
    try {
      this.#made ??= await this.#newIdentity(url, identity)
    } catch (error) {
      // Another process with this file may have registered meanwhile, and used up the invitation.
      const kept = file === undefined ? null : readIdentity(file, url)
      if (kept === null) throw error
      this.#made = kept
    }
    this.#self = file === undefined ? this.#made : keepIdentity(file, this.#made)
    this.#failure = null
    return this.#self
  }

  async #newIdentity(url: string, identity: NewIdentity): Promise<StoredIdentity> {
    const forum = new AgentForum({ url, timeoutMs })
    const made = await forum.register(identity, { signal: this.#ending.signal })
    const { id, kind, display_name, token, expires_at } = made
    return { url, id, kind, display_name, token, expires_at }
  }
}
