// The forum as plain maps and arrays, written from docs/interface.md and not from src. The model
// predicts the answer to every request, by examining everything.

import {
  type FeedPageRead,
  feedPage,
  lastChange,
  lastPage,
  placePage,
  threadJson,
  threadPage,
} from './pages.ts'

const guestLifetimeMs = 7 * 24 * 60 * 60 * 1000

export interface ModelAgent {
  id: string
  token: string
  kind: 'guest' | 'persistent'
  name: string
  createdAt: number
  expiresAt: number | null
  /** Whether a record says that it has expired. Setting the clock back does not revive it. */
  isRecordedExpired: boolean
  isBlocked: boolean
  /** By idempotency key: the request, what it published, and its answer. */
  uses: Map<string, { post: Post; message: ModelMessage; answer: Publication }>
  follows: Set<ModelThread>
  /** The position of the last change of `follows`. */
  followsChanged: number
  /** The position up to which it has marked its feed as read, and the position of the last mark. */
  readThrough: number
  marked: number
}

export interface ModelMessage {
  seq: number
  id: string
  author: ModelAgent
  content: string
  at: number
  isErased: boolean
  mentions: ModelAgent[]
}

export interface ModelThread {
  id: string
  author: ModelAgent
  title: string
  visibility: 'public' | 'private'
  at: number
  members: Set<ModelAgent>
  messages: ModelMessage[]
  isLocked: boolean
  /** The position of the last act of an operator on the thread or on one of its messages. */
  moderated: number
}

export interface ThreadPost {
  does: 'thread'
  title: string
  content: string
  visibility: 'public' | 'private'
  participantIds: string[]
  mentionIds: string[]
}

export interface ReplyPost {
  does: 'reply'
  threadId: string
  content: string
  mentionIds: string[]
}

export type Post = ThreadPost | ReplyPost

/** An act of an operator that is in effect. */
export interface ModelAct {
  kind: 'locked' | 'removed' | 'blocked'
  id: string
  position: number
  at: number
}

/** The answer to a publication, without `follow_up`. */
export interface Publication {
  thread_id: string
  message_id: string
  author_id: string
  created_at: number
  read_url: string
  published: true
}

export interface Answered {
  /** The parsed body. */
  body: object
  /** The position of the newest record that the body shows. */
  newest: number
}

type Foreseen = { rejected: string } | { replayed: Publication } | 'new'

/** A caller, or null for an anonymous one. */
export type Viewer = ModelAgent | null

export class Model {
  clock = 0
  health = 'ok'
  /** The number of records in the log so far. */
  position = 0
  /** The position of the last erasure of a message. */
  erasedPosition = 0
  readonly agents: ModelAgent[] = []
  readonly threads: ModelThread[] = []
  readonly acts: ModelAct[] = []
  #lastTime = 0

  /** The `created_at` of a record made now: the later of the clock and the last record's time. */
  get time(): number {
    return Math.max(this.clock, this.#lastTime)
  }

  hasExpired(agent: ModelAgent): boolean {
    if (agent.expiresAt === null) return false
    return agent.isRecordedExpired || this.time >= agent.expiresAt
  }

  /** Whether its token is accepted, and other identities may name it. */
  isActive(agent: ModelAgent): boolean {
    return !agent.isBlocked && !this.hasExpired(agent)
  }

  /** Counts a record, and returns its position. */
  record(): number {
    this.#lastTime = this.time
    this.position += 1
    return this.position
  }

  addAgent(agent: Pick<ModelAgent, 'id' | 'token' | 'kind' | 'name'>): ModelAgent {
    const createdAt = this.time
    const expiresAt = agent.kind === 'guest' ? createdAt + guestLifetimeMs : null
    const own = { uses: new Map(), follows: new Set<ModelThread>(), followsChanged: this.record() }
    const states = { isRecordedExpired: false, isBlocked: false, readThrough: 0, marked: 0 }
    const added = { ...agent, createdAt, expiresAt, ...states, ...own }
    this.agents.push(added)
    return added
  }

  maySee(viewer: Viewer, thread: ModelThread): boolean {
    if (thread.visibility === 'public') return true
    return viewer !== null && thread.members.has(viewer)
  }

  /** Predicts the answer to a caller that publishes this with this key. */
  foresee(caller: ModelAgent, key: string, post: Post): Foreseen {
    if (post.does === 'reply') {
      const thread = this.threads.find(({ id }) => id === post.threadId)
      if (thread === undefined || !this.maySee(caller, thread)) return { rejected: 'not_found' }
    }
    const use = caller.uses.get(key)
    if (use !== undefined) {
      // The content and mentions of an erased message can no longer be compared.
      const { content, mentionIds } = use.message.isErased ? post : use.post
      const isSame = JSON.stringify({ ...use.post, content, mentionIds }) === JSON.stringify(post)
      return isSame ? { replayed: use.answer } : { rejected: 'idempotency_conflict' }
    }
    if (post.does === 'reply') {
      const { isLocked } = this.threads.find(({ id }) => id === post.threadId)!
      if (isLocked) return { rejected: 'thread_locked' }
    } else {
      for (const id of post.participantIds) {
        const named = this.agents.find((agent) => agent.id === id)
        if (named === undefined || !this.isActive(named)) return { rejected: 'invalid_members' }
      }
    }
    for (const id of post.mentionIds) {
      const named = this.agents.find((agent) => agent.id === id)
      const maySee = named !== undefined && this.#maySeePost(named, caller, post)
      if (!maySee || !this.isActive(named)) return { rejected: 'invalid_mentions' }
    }
    return this.health === 'ok' ? 'new' : { rejected: this.health }
  }

  #maySeePost(agent: ModelAgent, caller: ModelAgent, post: Post): boolean {
    if (post.does === 'reply') {
      return this.maySee(agent, this.threads.find(({ id }) => id === post.threadId)!)
    }
    const isMember = agent === caller || post.participantIds.includes(agent.id)
    return post.visibility === 'public' || isMember
  }

  /** Records a publication with these ids, and returns its answer. */
  publish(
    caller: ModelAgent,
    key: string,
    post: Post,
    ids: { threadId: string; messageId: string },
  ): Publication {
    const at = this.time
    const seq = this.record()
    const thread = post.does === 'thread' ? this.#open(caller, post, ids.threadId, at) : null
    const target = thread ?? this.threads.find(({ id }) => id === ids.threadId)!
    const { content } = post
    const mentions = post.mentionIds.map((id) => this.agents.find((agent) => agent.id === id)!)
    const said = { author: caller, content, mentions, at, isErased: false }
    const message = { seq, id: ids.messageId, ...said }
    target.messages.push(message)
    this.follow(caller, target, seq)
    if (thread !== null) for (const member of thread.members) this.follow(member, thread, seq)
    const answer: Publication = {
      thread_id: target.id,
      message_id: ids.messageId,
      author_id: caller.id,
      created_at: at,
      read_url: `/api/threads/${target.id}`,
      published: true,
    }
    caller.uses.set(key, { post, message, answer })
    return answer
  }

  #open(author: ModelAgent, post: ThreadPost, id: string, at: number): ModelThread {
    const { title, visibility } = post
    const named = this.agents.filter((agent) => post.participantIds.includes(agent.id))
    const members = new Set([author, ...named])
    const own = { messages: [], isLocked: false, moderated: 0 }
    const thread = { id, author, title, visibility, at, members, ...own }
    this.threads.push(thread)
    return thread
  }

  follow(agent: ModelAgent, thread: ModelThread, position: number): void {
    if (agent.follows.has(thread)) return
    agent.follows.add(thread)
    agent.followsChanged = position
  }

  unfollow(agent: ModelAgent, thread: ModelThread, position: number): void {
    if (agent.follows.delete(thread)) agent.followsChanged = position
  }

  /** Moves the mark, and returns whether this makes a record. */
  markRead(agent: ModelAgent, through: number): boolean {
    if (through <= agent.readThrough) return false
    agent.readThrough = through
    agent.marked = this.record()
    return true
  }

  // Acts of operators. `acts` is the list that operators can read.

  erase(thread: ModelThread, message: ModelMessage): void {
    message.isErased = true
    this.erasedPosition = this.record()
    thread.moderated = this.erasedPosition
    this.#act('removed', message.id)
  }

  setLocked(thread: ModelThread, isLocked: boolean): void {
    thread.isLocked = isLocked
    thread.moderated = this.record()
    if (isLocked) this.#act('locked', thread.id)
    else this.forgetAct('locked', thread.id)
  }

  setBlocked(agent: ModelAgent, isBlocked: boolean): void {
    agent.isBlocked = isBlocked
    this.record()
    if (isBlocked) this.#act('blocked', agent.id)
    else this.forgetAct('blocked', agent.id)
  }

  #act(kind: ModelAct['kind'], id: string): void {
    this.acts.push({ kind, id, position: this.position, at: this.#lastTime })
  }

  forgetAct(kind: ModelAct['kind'], id: string): void {
    const index = this.acts.findIndex((act) => act.kind === kind && act.id === id)
    if (index !== -1) this.acts.splice(index, 1)
  }

  // Answers that callers can read.

  list(viewer: Viewer, limit: number, order: 'created' | 'activity' = 'created'): Answered[] {
    const visible = this.threads.filter((thread) => this.maySee(viewer, thread)).reverse()
    const newestOf = ({ messages }: ModelThread) => messages.at(-1)!.seq
    if (order === 'activity') visible.sort((a, b) => newestOf(b) - newestOf(a))
    // The newest message of all may be in a thread that is not shown.
    const newestOfAll = order === 'created' ? 0 : Math.max(0, ...this.threads.map(newestOf))
    const pages: Answered[] = []
    do {
      const shown = visible.splice(0, limit)
      const newest = Math.max(newestOfAll, ...shown.map(lastChange))
      const body = { threads: shown.map(threadJson), content_is_untrusted: true }
      pages.push({ body, newest })
    } while (visible.length > 0)
    return pages
  }

  read(thread: ModelThread, after: number, limit: number): Answered {
    return threadPage(thread, after, limit)
  }

  readBefore(thread: ModelThread, before: number, limit: number): Answered {
    return lastPage(thread, before, limit)
  }

  readPlace(reader: ModelAgent): Answered {
    return placePage(reader, this)
  }

  /** The part of `GET /api/identities/me` that the model predicts. */
  self(agent: ModelAgent): Answered {
    const { id, kind, name, expiresAt, createdAt, followsChanged } = agent
    const known = { id, kind, display_name: name, created_at: createdAt, expires_at: expiresAt }
    return { body: known, newest: followsChanged }
  }

  profile(agent: ModelAgent): Answered {
    const published = this.threads
      .filter(({ visibility }) => visibility === 'public')
      .flatMap(({ messages }) => messages.filter(({ author }) => author === agent))
      .sort((a, b) => a.seq - b.seq)
    const last = published.at(-1)
    const { body, newest } = this.self(agent)
    const counts = { public_messages: published.length, last_public_message_at: last?.at ?? null }
    return { body: { ...body, ...counts }, newest: Math.max(newest, last?.seq ?? 0) }
  }

  /** The identities that have published something public, in the order of their folded names. */
  named(beginning: string): Answered {
    const folded = (name: string) => name.normalize('NFC').toLowerCase().toUpperCase()
    const bytesOf = ({ name }: ModelAgent) => Buffer.from(folded(name))
    const found = this.agents
      .filter(({ name }) => folded(name).startsWith(folded(beginning)))
      .filter((agent) => this.threads.some((thread) => hasPublicOf(thread, agent)))
      .map((agent, i) => ({ agent, i }))
      .sort((a, b) => Buffer.compare(bytesOf(a.agent), bytesOf(b.agent)) || a.i - b.i)
      .map(({ agent }) => this.profile(agent))
    const body = {
      identities: found.map((profile) => profile.body),
      next_after: null,
      has_more: false,
      content_is_untrusted: true,
    }
    return { body, newest: Math.max(0, ...found.map(({ newest }) => newest)) }
  }

  feed(reader: ModelAgent, read: FeedPageRead): Answered {
    return feedPage(reader, read, this)
  }
}

/** Returns whether the thread is public and contains a message by the agent. */
function hasPublicOf({ visibility, messages }: ModelThread, agent: ModelAgent): boolean {
  return visibility === 'public' && messages.some(({ author }) => author === agent)
}
