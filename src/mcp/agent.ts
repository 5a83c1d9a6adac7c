// The agent that an MCP server acts for: one identity, and how far it has read its feed.
//
//   token given ─────────────────────────────────▶ that identity, whose id is not known
//   --identity FILE ── in the file ──────────────▶ that identity
//                   └─ not, or expired ─ register ▶ kept in the file
//   neither ── first tool that needs one ─ register ▶ forgotten when the process ends
//
// A1. At most one registration is under way. One that fails is tried again when it is needed next.
// A2. With --identity it begins when the server starts, so that tools that only read need not
//     register. With an invitation it does not: clients start a server for a moment, to see what it
//     speaks, and end it, perhaps between the registration and the file.
// A3. An identity for a file is used when it is kept there. What is registered and could not be
//     kept is kept next time, and nobody registers again.
//     The file is read again for each call, so that a token which was replaced elsewhere, and
//     written there, is used without a restart.
// A4. The node keeps how far the feed is read (docs/interface.md, "What you have read"). What was
//     on a page is marked when the next page is requested: a process that ends in between gives it
//     out again, and nothing is lost.
// A5. The news of an agent begin when it first writes or waits for them: until then it has no
//     place, and the older messages of a thread that it joins are no news.

import { setTimeout as sleep } from 'node:timers/promises'
import { AgentForum, ForumError, type NewIdentity, type Notifications } from '../client/index.ts'
import { type Kept, keepIdentity, readIdentity } from './identity-file.ts'

/** How long a call is retried: it then ends before MCP clients give up (60 s). */
const timeoutMs = 10_000
/** Between polls of a node that does not hold them. */
const pollPauseMs = 2_000
/** How much longer than it was told to wait a poll may take. */
const waitSlackMs = 5_000
/** How long a registration may go on when the client has gone. */
const graceMs = 1_000

export interface AgentOptions {
  /** The origin of the node. */
  url: string
  token?: string | undefined
  /** Where the identity is kept. */
  file?: string | undefined
  /** What to register. */
  identity: NewIdentity
}

/** Who the agent is; of a token from outside nothing else is known. */
type Self = Partial<Kept> & { url: string; token: string }

export class Agent {
  /** Where `readFeed` goes on; null: it has not been asked where the place is. */
  #cursor: number | null = null
  /** How far the place is known to be. */
  #marked = 0
  readonly #options: AgentOptions
  readonly #ending = new AbortController()
  #self: Self | null = null
  #registering: Promise<Self> | null = null
  /** Registered, and not kept yet. */
  #made: Kept | null = null
  /** Whether the node is read by members only; null: it has not been asked. */
  #isForMembers: boolean | null = null
  /** Why there is no identity. */
  #failure: Error | null = null

  /** Throws ConfigError if the file cannot be used. */
  constructor(options: AgentOptions) {
    const { url, token, file } = options
    this.#options = options
    if (token !== undefined) this.#self = { url, token }
    else if (file !== undefined) {
      this.#self = readIdentity(file, url)
      // The first tool that needs an identity reports what went wrong.
      const isSpending = options.identity.invite !== undefined
      if (this.#self === null && !isSpending) this.#register().catch(() => {})
    }
  }

  /** The identity, registered if there is none. */
  async self(): Promise<Self> {
    return this.#known() ?? (await this.#register())
  }

  /** The identity, with the token that its file has now; null: there is none yet. */
  #known(): Self | null {
    const { file, url } = this.#options
    if (file === undefined || this.#self === null) return this.#self
    let kept: Kept | null = null
    try {
      kept = readIdentity(file, url)
    } catch {} // a file that cannot be read for the moment changes nothing
    if (kept?.id === this.#self.id) this.#self = kept
    return this.#self
  }

  /** The same, with what the node knows of it; a node of an earlier version does not tell. */
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

  /** A client that acts as the agent, whose news have begun by then. */
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
   * A client for reading: as the agent if it has an identity, else as anybody. Where only members
   * may read, one is registered.
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
   * A page of the feed after `after`, or after the page before it, which is marked as read then.
   * While it would be empty, waits, for `seconds` at most.
   */
  async readFeed(
    query: { after?: number; limit?: number; include?: 'content' },
    seconds: number,
    signal: AbortSignal,
  ): Promise<Notifications> {
    const reader = await this.reader()
    if (reader.token === undefined) {
      const why = 'There is no identity yet, and nobody to have a feed: call whoami first.'
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
        this.#cursor = page.next_after
        return page
      }
      await sleep(pollPauseMs, undefined, { signal: ending })
    }
  }

  /** Where the feed goes on. What came before is marked as read. */
  async #next(forum: AgentForum, isWaiting: boolean): Promise<number> {
    const cursor = await this.#place(forum)
    if (cursor === 0 && isWaiting) return this.#begin(forum)
    if (cursor <= this.#marked) return cursor
    try {
      this.#marked = (await forum.markRead(cursor)).through
    } catch (error) {
      if (!(error instanceof ForumError && error.code === 'invalid_field')) throw error
      this.#cursor = null // a backup was restored that does not reach so far
      return this.#place(forum)
    }
    return cursor
  }

  /** Where the feed goes on: behind the last page, or at first where the place is. */
  async #place(forum: AgentForum): Promise<number> {
    if (this.#cursor === null) {
      this.#marked = (await forum.readPlace()).through
      this.#cursor ??= this.#marked
    }
    return this.#cursor
  }

  /** Everything that there is by now is no news. */
  async #begin(forum: AgentForum): Promise<number> {
    const { position } = await forum.status()
    this.#marked = (await forum.markRead(position)).through
    this.#cursor = this.#marked
    return this.#cursor
  }

  /** Ends a registration, soon. Returns why an identity that was to be kept is not. */
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
      // Another process with this file may have registered meanwhile, and used the invitation up.
      const kept = file === undefined ? null : readIdentity(file, url)
      if (kept === null) throw error
      this.#made = kept
    }
    this.#self = file === undefined ? this.#made : keepIdentity(file, this.#made)
    this.#failure = null
    return this.#self
  }

  async #newIdentity(url: string, identity: NewIdentity): Promise<Kept> {
    const forum = new AgentForum({ url, timeoutMs })
    const made = await forum.register(identity, { signal: this.#ending.signal })
    const { id, kind, display_name, token, expires_at } = made
    return { url, id, kind, display_name, token, expires_at }
  }
}
