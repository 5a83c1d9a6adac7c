// The requests of an agent, one function each. Every answer is checked against the interface before
// it is used; an answer of another status or shape throws WrongAnswer, which names the request and
// the answer.

import { Ajv, type ValidateFunction } from 'ajv'
import type {
  GrantedClaim,
  Identity,
  Message,
  NewIdentity,
  Notification,
  Notifications,
  Publication,
  ReleasedClaim,
  SearchHit,
  SearchPage,
  Subscribed,
  Thread,
  ThreadPage,
} from '../../client/types.ts'
import { type Client, errorOf, type ReceivedAnswer, type Request } from './client.ts'
import { WrongAnswer } from './failures.ts'
import type { TimedOperation } from './meter.ts'

/** Items on a page: the maximum that the interface allows. */
const pageLimit = 100

export type Kind = NonNullable<NewIdentity['kind']>
export type { Message, Notification, Thread }

type Schema = Record<string, unknown>

const ajv = new Ajv()
const string = { type: 'string' }
const boolean = { type: 'boolean' }
const integer = { type: 'integer', minimum: 0 }
/** Returns the schema of an object with these fields of T, on which the swarm relies. */
const object = <T>(properties: { readonly [Name in keyof T]?: Schema }): Schema => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
})
const list = (items: Schema): Schema => ({ type: 'array', maxItems: pageLimit, items })
const paged = { next_after: integer, has_more: boolean }

const isStatus = ajv.compile<Record<string, unknown>>({ type: 'object' })
const isIdentity = ajv.compile<Identity>(
  object<Identity>({ id: string, kind: string, token: string, display_name: string }),
)
const isPublication = ajv.compile<Publication>(
  object<Publication>({
    thread_id: string,
    message_id: string,
    author_id: string,
    published: boolean,
    replayed: boolean,
  }),
)
const isSubscription = ajv.compile<Subscribed>(
  object<Subscribed>({ thread_id: string, subscribed: { const: true } }),
)
const isGrantedClaim = ajv.compile<GrantedClaim>(
  object<GrantedClaim>({ thread_id: string, fence: integer, expires_at: integer }),
)
const isReleasedClaim = ajv.compile<ReleasedClaim>(
  object<ReleasedClaim>({ thread_id: string, claimed: { const: false } }),
)
const isThreadPage = ajv.compile<ThreadPage>(
  object<ThreadPage>({
    ...paged,
    thread: object<Thread>({
      id: string,
      author_id: string,
      title: string,
      visibility: string,
      message_count: integer,
    }),
    messages: list(
      object<Message>({
        seq: integer,
        id: string,
        author_id: string,
        display_name: string,
        kind: string,
        content: string,
        created_at: integer,
      }),
    ),
  }),
)
const isFeedPage = ajv.compile<Notifications>(
  object<Notifications>({
    ...paged,
    notifications: list(
      object<Notification>({
        seq: integer,
        message_id: string,
        thread_id: string,
        author_id: string,
        created_at: integer,
      }),
    ),
  }),
)

const isSearchPage = ajv.compile<SearchPage>(
  object<SearchPage>({
    has_more: boolean,
    next_before: { type: ['integer', 'null'] },
    indexed_through: integer,
    results: list(
      object<SearchHit>({
        seq: integer,
        message_id: string,
        thread_id: string,
        title: string,
        author_id: string,
        display_name: string,
        created_at: integer,
        excerpt: string,
      }),
    ),
  }),
)

/** Returns the server's status, for the head of the summary. */
export async function readStatus(client: Client): Promise<Record<string, unknown>> {
  const request: Request = { operation: null, method: 'GET', path: '/api/status' }
  return checked(request, await client.send(request), [200], isStatus)
}

/**
 * Creates an identity. The request is not idempotent: if its answer is lost, a retry leaves behind
 * an identity that nobody uses.
 */
export async function createIdentity(
  client: Client,
  kind: Kind,
  name: string,
  invite: string | null,
): Promise<Identity> {
  const request: Request = {
    operation: 'create identity',
    method: 'POST',
    path: '/api/identities',
    body: { kind, display_name: name, ...(invite !== null && { invite }) },
  }
  return checked(request, await client.send(request), [201], isIdentity)
}

/** `threadId` null opens a thread. `replay`: the key has been used for this very message. */
export type Publish = {
  token: string
  key: string
  threadId: string | null
  body: { title?: string; content: string; mention_ids?: string[]; fence?: number }
  replay: boolean
  /** The time from which its latency counts; by default, when it is sent. */
  dueAt?: number
}

/**
 * Publishes a message. A replay must be answered with 200. A first request must be answered with
 * 201, or with 200 if an answer was lost, because an earlier try has then published the message.
 */
export async function publish(client: Client, message: Publish): Promise<Publication> {
  const request = publication(message)
  return publicationOf(message, request, await client.send(request))
}

/** Publishes a reply under a claim. Resolves to null if the claim is lost. */
export async function publishUnderClaim(
  client: Client,
  message: Publish,
): Promise<Publication | null> {
  const request = publication(message)
  const answer = await client.send(request)
  return isRefused(answer, 412, 'claim_lost') ? null : publicationOf(message, request, answer)
}

function publication({ threadId, token, key, body, replay, dueAt }: Publish): Request {
  const first: TimedOperation = threadId === null ? 'create thread' : 'reply'
  return {
    operation: replay ? 'replay' : first,
    method: 'POST',
    path: threadId === null ? '/api/threads' : `/api/threads/${threadId}/replies`,
    token,
    key,
    body,
    ...(dueAt !== undefined && { dueAt }),
  }
}

function publicationOf({ replay }: Publish, request: Request, answer: ReceivedAnswer): Publication {
  const statuses = replay ? [200] : answer.tries === 1 ? [201] : [200, 201]
  const publication = checked(request, answer, statuses, isPublication)
  if (publication.replayed !== (answer.status === 200) || !publication.published) {
    throw wrong(request, answer, 'but its body contradicts the status')
  }
  return publication
}

/** `fence`: the claim that is renewed. */
export type NewClaim = {
  token: string
  key: string
  threadId: string
  seconds: number
  fence?: number
}

/** Claims a thread, or renews a claim. Resolves to null if another holds it, or it is lost. */
export async function claim(client: Client, wanted: NewClaim): Promise<GrantedClaim | null> {
  const { token, key, threadId, seconds, fence } = wanted
  const path = `/api/threads/${threadId}/claim`
  const body = { seconds, ...(fence !== undefined && { fence }) }
  const request: Request = { operation: 'claim', method: 'POST', path, token, key, body }
  const answer = await client.send(request)
  const isLost =
    fence === undefined ? isRefused(answer, 409, 'claimed') : isRefused(answer, 412, 'claim_lost')
  if (isLost) return null
  return checked(request, answer, answer.tries === 1 ? [201] : [200, 201], isGrantedClaim)
}

/** Releases the caller's claim of a thread, unless it is over and another one holds the thread. */
export async function release(client: Client, token: string, threadId: string): Promise<void> {
  const path = `/api/threads/${threadId}/claim`
  const request: Request = { operation: 'release', method: 'DELETE', path, token }
  const answer = await client.send(request)
  if (!isRefused(answer, 403, 'not_holder')) checked(request, answer, [200], isReleasedClaim)
}

/** Subscribes to a thread. Repeating this changes nothing. */
export async function subscribe(client: Client, token: string, threadId: string): Promise<void> {
  const path = `/api/threads/${threadId}/subscribe`
  const request: Request = { operation: 'subscribe', method: 'POST', path, token }
  const answer = await client.send(request)
  const subscription = checked(request, answer, [200], isSubscription)
  if (subscription.thread_id !== threadId) throw wrong(request, answer, 'for another thread')
}

/** Returns one page of a thread, after a position, as anybody can read it. */
export async function readThread(
  client: Client,
  threadId: string,
  after: number,
): Promise<ThreadPage> {
  const path = `/api/threads/${threadId}?limit=${pageLimit}&after=${after}`
  const request: Request = { operation: 'read thread', method: 'GET', path }
  const answer = await client.send(request)
  const page = checked(request, answer, [200], isThreadPage)
  checkCursor(request, answer, after, page, page.messages.at(-1)?.seq)
  return page
}

/** How long a poll waits for news, and the signal that ends it earlier. */
export type Patience = { seconds: number; signal: AbortSignal }

/** Returns one page of an agent's feed, after a position. A poll that waits is not timed. */
export async function readFeed(
  client: Client,
  token: string,
  after: number,
  operation: 'poll feed' | 'read feed' | Patience,
): Promise<Notifications> {
  const path = `/api/notifications?limit=${pageLimit}&after=${after}`
  const request: Request =
    typeof operation === 'string'
      ? { operation, method: 'GET', path, token }
      : {
          operation: null,
          method: 'GET',
          path: `${path}&wait=${operation.seconds}`,
          token,
          signal: operation.signal,
        }
  const answer = await client.send(request)
  const page = checked(request, answer, [200], isFeedPage)
  checkCursor(request, answer, after, page, page.notifications.at(-1)?.seq)
  return page
}

export type Query = {
  q: string
  thread_id?: string
  author_id?: string
  before?: number
  limit: number
}

/** Returns one page of what anybody can find, newest first. */
export async function search(client: Client, query: Query): Promise<SearchPage> {
  const { before = Number.MAX_SAFE_INTEGER } = query
  const { q, ...numbers } = query
  const parameters = Object.entries(numbers).map(([name, value]) => `&${name}=${value}`)
  const text = `q=${encodeURIComponent(q)}${parameters.join('')}`
  const request: Request = { operation: 'search', method: 'GET', path: `/api/search?${text}` }
  const answer = await client.send(request)
  const page = checked(request, answer, [200], isSearchPage)
  let last = before
  for (const { seq } of page.results) {
    if (seq >= last) throw wrong(request, answer, `and shows ${seq} after ${last}`)
    last = seq
  }
  const { next_before, has_more } = page
  if (has_more !== (next_before !== null) || (next_before ?? -1) >= before) {
    throw wrong(request, answer, `with next_before ${next_before} after ${before}`)
  }
  return page
}

// Following `next_after` must neither skip items nor repeat them forever.
function checkCursor(
  request: Request,
  answer: ReceivedAnswer,
  after: number,
  { next_after, has_more }: Pick<ThreadPage, 'next_after' | 'has_more'>,
  lastSeq: number | undefined,
): void {
  if (next_after !== (lastSeq ?? after)) {
    throw wrong(request, answer, `with next_after ${next_after}, not the last item's seq`)
  }
  if (has_more && next_after <= after) {
    throw wrong(request, answer, 'and says there is more, but its cursor does not advance')
  }
}

const isRefused = ({ status, body }: ReceivedAnswer, due: number, code: string): boolean =>
  status === due && (body as { error?: unknown } | undefined)?.error === code

function checked<T>(
  request: Request,
  answer: ReceivedAnswer,
  statuses: number[],
  isRight: ValidateFunction<T>,
): T {
  if (!statuses.includes(answer.status)) {
    const due = `(due: ${statuses.join(' or ')})`
    throw wrong(request, answer, `${errorOf(answer.body)} ${due}`.trim())
  }
  if (answer.body === undefined) throw wrong(request, answer, 'with a body that is not UTF-8 JSON')
  if (isRight(answer.body)) return answer.body
  const [first] = isRight.errors ?? []
  throw wrong(request, answer, `but its body ${first?.instancePath ?? ''} ${first?.message}`)
}

function wrong(
  { method, path, key }: Request,
  { status }: ReceivedAnswer,
  what: string,
): WrongAnswer {
  const withKey = key === undefined ? '' : ` with key ${key}`
  return new WrongAnswer(`${method} ${path}${withKey} answered ${status} ${what}`)
}
