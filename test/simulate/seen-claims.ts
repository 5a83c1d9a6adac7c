// Reports the requests of simulated callers that concern claims of threads, and their answers, to a
// checker that knows neither the node nor the model (test/histories/claim-history.ts).

import { ClaimHistory, type Held } from '../histories/claim-history.ts'

/** The parts of a request that matter here. */
interface Request {
  method: string
  path: string
  token?: string | undefined
  key?: string
  body?: object
}

interface Answered {
  error: string
  /** Of an identity. */
  id: string
  token: string
  kind: string
  replayed: boolean
  holder_id: string
  expires_at: number
  fence: number
  thread: { claim?: Omit<Answered, 'id'> }
  messages: { content: string; created_at: number }[]
}

type Report = (status: number, body: string) => void

const ignored: Report = () => {}

export class SeenClaims {
  readonly history = new ClaimHistory()
  /** The identities by their tokens. */
  readonly #known = new Map<string, { id: string; isGuest: boolean }>()
  #names = 0

  /** Called when a request is sent; the result is called with its answer. */
  sent(request: Request): Report {
    const { method, path, token } = request
    const by = this.#known.get(token ?? '')
    if (method === 'post' && path === '/api/identities') return this.#created
    const [, thread = '', rest = ''] = /^\/api\/threads\/(\w+)(\/\w+)?$/.exec(path) ?? []
    if (method === 'get' && thread !== '' && rest === '') return this.#read(thread)
    if (by === undefined) return ignored
    if (path === '/api/identities/me/token') return this.#rotated(by)
    if (rest === '/replies') return this.#reply(thread, by.id, request)
    if (rest !== '/claim') return ignored
    return method === 'post' ? this.#claim(thread, by, request) : this.#release(thread, by.id)
  }

  /** An operator blocks an identity. The result is called once this is done, or refused. */
  blocking(by: string): (isDone: boolean) => void {
    const name = this.#newName()
    const sent = this.history.send(name, null, { is: 'block', by })
    return (isDone) => (isDone ? this.history.answered(sent) : this.history.refused(name))
  }

  readonly #created: Report = (status, body) => {
    if (status >= 300) return
    const { id, token, kind } = JSON.parse(body) as Answered
    this.#known.set(token, { id, isGuest: kind === 'guest' })
  }

  #rotated(by: { id: string; isGuest: boolean }): Report {
    return (status, body) => {
      if (status < 300) this.#known.set((JSON.parse(body) as Answered).token, by)
    }
  }

  #claim(thread: string, by: { id: string; isGuest: boolean }, { key, body }: Request): Report {
    const { id, isGuest } = by
    const { seconds, fence = null } = body as { seconds: number; fence?: number }
    const name = `${id} ${key}`
    const what = { is: 'claim', by: id, seconds, fence, isGuest, granted: null } as const
    const sent = this.history.send(name, thread, { ...what })
    return this.#outcome(name, id, fence, (answer) => {
      this.history.answered(sent, heldOf(answer))
    })
  }

  #release(thread: string, by: string): Report {
    const name = this.#newName()
    const sent = this.history.send(name, thread, { is: 'release', by })
    return this.#outcome(name, by, null, () => this.history.answered(sent))
  }

  #reply(thread: string, by: string, { body }: Request): Report {
    const { content: name, fence } = body as { content: string; fence?: number }
    if (fence === undefined) return ignored
    const sent = this.history.send(name, thread, { is: 'reply', by, fence, at: null })
    return this.#outcome(name, by, fence, ({ replayed }) => {
      // A replay publishes nothing, and its content may be another one (seen-threads.ts).
      if (replayed) this.history.refused(name)
      else this.history.answered(sent)
    })
  }

  #outcome(
    name: string,
    by: string,
    fence: number | null,
    done: (answer: Answered) => void,
  ): Report {
    return (status, body) => {
      if (status >= 500) return
      const answer = JSON.parse(body) as Answered
      const { error, holder_id: holder, expires_at: expiresAt } = answer
      if (status < 400) return done(answer)
      const { history } = this
      if (error === 'claimed') return history.refusedFor(name, { is: error, by, holder, expiresAt })
      if (error === 'not_holder') return history.refusedFor(name, { is: error, by })
      if (error !== 'claim_lost' || fence === null) return history.refused(name)
      history.refusedFor(name, { is: 'lost', by, fence })
    }
  }

  #read(thread: string): Report {
    const calledAt = this.history.instant()
    return (status, body) => {
      if (status !== 200) return
      const { thread: shown, messages } = JSON.parse(body) as Answered
      const claim = shown.claim === undefined ? null : heldOf(shown.claim)
      this.history.saw(thread, calledAt, { is: 'shown', claim })
      for (const { content, created_at } of messages) this.history.published(content, created_at)
    }
  }

  #newName(): string {
    this.#names += 1
    return `command ${this.#names}`
  }
}

function heldOf({ holder_id, fence, expires_at }: Omit<Answered, 'id'>): Held {
  return { holder: holder_id, fence, expiresAt: expires_at }
}
