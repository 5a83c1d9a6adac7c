// A ring of requests that a load generator sends repeatedly, in order. Each request is rendered
// once, before the load begins; at one place in it, a fresh idempotency key or a log position may
// be inserted.

/** Marks the place of an idempotency key that has never been used. */
export const freshKey = '\x1c'
/** Marks the place of the log position one cycle of the ring ago, which a poller saw last. */
export const lastSeen = '\x1d'
/** Ends each request in a file of requests. */
export const requestEnd = '\x1e'

export interface Request {
  method: 'GET' | 'POST'
  /** The route of the path: requests of one route have answers of one kind. */
  route: string
  path: string
  accept?: string
  token?: string
  key?: string
  body?: object
}

export interface Ring {
  requests: readonly Request[]
  /** How many of the requests append a record. */
  writes: number
}

/** The values to insert: a prefix for keys, and the log's position when the load begins. */
export interface Filling {
  prefix: string
  position: number
}

export function ringOf(requests: readonly Request[]): Ring {
  return { requests, writes: requests.filter(({ key }) => key === freshKey).length }
}

/** Returns the requests as they are sent over the wire, with their marks. */
export function renderRing({ requests }: Ring): string {
  return requests.map((request) => render(request) + requestEnd).join('')
}

function render(request: Request): string {
  const { method, path, body } = request
  const text = body === undefined ? '' : JSON.stringify(body)
  const headers: Record<string, string> = { Host: '127.0.0.1', ...headersOf(request) }
  if (body !== undefined) headers['Content-Length'] = `${Buffer.byteLength(text)}`
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${text}`
}

export function headersOf({ accept, token, key, body }: Request): Record<string, string> {
  return {
    ...(accept !== undefined && { Accept: accept }),
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(key !== undefined && { 'Idempotency-Key': key }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  }
}

/** Returns the `n`-th request to send, with its mark replaced. */
export function fill(
  request: Request,
  ring: Ring,
  { prefix, position }: Filling,
  n: number,
): Request {
  const seen = Math.max(0, position - ring.writes)
  const { path, key } = request
  return {
    ...request,
    path: path.replace(lastSeen, `${seen}`),
    ...(key !== undefined && { key: key.replace(freshKey, `${prefix}${n}`) }),
  }
}

export interface Answered {
  route: string
  status: number
  body: string
}

/** Sends `count` requests of the ring, evenly spread; returns the server's answers. */
export async function ask(
  url: string,
  ring: Ring,
  filling: Filling,
  count: number,
): Promise<Answered[]> {
  const { requests } = ring
  const step = Math.max(1, Math.floor(requests.length / count))
  const answers: Answered[] = []
  for (let i = 0; i < requests.length && answers.length < count; i += step) {
    const request = fill(requests[i], ring, filling, i)
    const { method, route, path, body } = request
    const headers = headersOf(request)
    const text = body === undefined ? null : JSON.stringify(body)
    const response = await fetch(url + path, { method, headers, body: text })
    answers.push({ route, status: response.status, body: await response.text() })
    if (!response.ok) throw new Error(`${route}: ${response.status} ${answers.at(-1)!.body}`)
  }
  return answers
}
