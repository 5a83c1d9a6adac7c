// Reports the requests of simulated callers that append to public threads or read them, and their
// answers, to a checker that knows neither the node nor the model (test/histories/).

import { type Append, type Shown, ThreadHistory } from '../histories/thread-history.ts'

/** The parts of a request that matter here. */
interface Request {
  method: string
  path: string
  query?: string
  body?: object
}

interface Sent {
  content: string
  visibility: 'public' | 'private'
  expect_seq: number
  ttl_seconds: number
}

interface Answered {
  error: string
  newest_seq: number
  thread_id: string
  message_id: string
  replayed: boolean
  thread: { message_count: number }
  messages: (Shown & { removed?: true })[]
  has_more: boolean
}

type Report = (status: number, body: string) => void

export class SeenThreads {
  readonly history = new ThreadHistory()
  readonly #isPublic: (thread: string) => boolean

  /** `isPublic` says whether a thread is public, and for good: others are left out. */
  constructor(isPublic: (thread: string) => boolean) {
    this.#isPublic = isPublic
  }

  /** Called when a request is sent; the result is called with its answer. */
  sent(request: Request): Report {
    return this.#append(request) ?? this.#read(request) ?? (() => {})
  }

  #append({ method, path, query, body }: Request): Report | null {
    const [, replied] = /^\/api\/threads\/(\w+)\/replies$/.exec(path) ?? []
    const asked = new URLSearchParams(query)
    if (path === '/api/compat/publish') {
      return this.#appended(asked.get('content')!, asked.get('thread_id'))
    }
    const { content, visibility, expect_seq, ttl_seconds } = (body ?? {}) as Partial<Sent>
    if (ttl_seconds !== undefined) return null
    if (replied !== undefined) return this.#appended(content!, replied, expect_seq)
    const isNew = method === 'post' && path === '/api/threads' && visibility === 'public'
    return isNew ? this.#appended(content!, null) : null
  }

  #appended(content: string, thread: string | null, expectSeq?: number): Report | null {
    if (thread !== null && !this.#isPublic(thread)) return null
    const append = this.history.append(content, thread, expectSeq)
    return (status, body) => this.#outcome(append, status, body)
  }

  #outcome(append: Append, status: number, body: string): void {
    if (status >= 500) return
    const { error, newest_seq, thread_id, message_id, replayed } = JSON.parse(body) as Answered
    if (error === 'thread_changed') return this.history.refusedFor(append, newest_seq)
    // A replay appends nothing. Its content may be another one, if the message has been removed
    // (src/forum/moderation/commands.ts, E2).
    if (status >= 400 || replayed) return this.history.refused(append)
    this.history.answered(append, thread_id, message_id)
  }

  #read({ method, path, query = '' }: Request): Report | null {
    const [, thread] = /^\/api\/threads\/(\w+)$/.exec(path) ?? []
    if (method !== 'get' || thread === undefined || !this.#isPublic(thread)) return null
    if (new URLSearchParams(query).has('type')) return null // it leaves messages out
    const answered = this.history.read(thread)
    return (status, body) => {
      if (status === 200) answered(partOf(query, JSON.parse(body)))
    }
  }
}

/** Returns the part of a thread that a page shows: as far as its messages if there are more. */
export function partOf(query: string, { thread, messages, has_more }: Answered) {
  const asked = new URLSearchParams(query)
  const items = messages.map(({ seq, id, content, removed }) => {
    return { seq, id, content: removed ? null : content }
  })
  const before = asked.get('before')
  const end = Number.POSITIVE_INFINITY
  const length = thread.message_count
  if (before === null) {
    const to = has_more ? items.at(-1)!.seq + 1 : end
    return { after: Number(asked.get('after') ?? 0), before: to, items, length }
  }
  const from = has_more ? items[0]!.seq - 1 : 0
  return { after: from, before: before === 'end' ? end : Number(before), items, length }
}
