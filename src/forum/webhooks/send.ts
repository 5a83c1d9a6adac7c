// Sends one signed request to a webhook and returns the outcome. It never rejects: failures of the
// network are outcomes.
//
//   rules ──▶ resolve ──▶ every address public? ──▶ connect to just those ──▶ answer, 4 KiB of it
//   └──────────────────────────── 5 seconds for all of it ────────────────────────────────────┘
//
// S1. Each attempt is checked anew: it follows no redirects, uses no proxy and reuses no
//     connection.
//
// Requests are signed in two styles over the same bytes:
//
//   Standard Webhooks   webhook-signature: v1,<base64>, of "id.timestamp.body";
//                       the key is the secret's part after whsec_, base64-decoded
//   the older header    X-AI-Commons-Signature: v1=<hex>, of "timestamp.id.body";
//                       the key is the whole secret as text
//
// Both are HMAC-SHA256. Timestamps are seconds since the epoch.

import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { isIPv6, type LookupFunction } from 'node:net'
import { createSecureContext, rootCertificates } from 'node:tls'
import { type AddressRules, checkedAddresses, type Resolve, refuseEndpoint } from './address.ts'

/** The time limit of an attempt, from resolving the name to the last byte of the answer. */
export const timeoutMs = 5_000
/** The limit of the answer's body: a longer one is not read to its end. */
export const answerBytesMax = 4 * 1024

export interface Sent {
  /** The answer's status; 0: there was no answer. */
  status: number
  /** Null for a 2xx answer, else a code of docs/interface.md, "Registration and verification". */
  error: string | null
  /** The answer's body; null if it was longer than `answerBytesMax`. */
  body: string | null
}

interface SenderOptions {
  rules: AddressRules
  resolve: Resolve
  /** PEM of a further certificate authority, or null. */
  ca: string | null
  /** Milliseconds since the epoch. */
  clock: () => number
}

/** Posts to an endpoint, and resolves to the outcome within `timeoutMs`. */
export type Send = (post: Post) => Promise<Sent>

/** Returns a `Send` that applies the rules to every attempt. */
export function createSender({ rules, resolve, ca, clock }: SenderOptions): Send {
  const trust =
    ca === null ? {} : { secureContext: createSecureContext({ ca: [...rootCertificates, ca] }) }
  const agent = new Agent({ keepAlive: false, ...trust })

  return async (post) => {
    const timer = new AbortController()
    const timeout = setTimeout(() => timer.abort(), timeoutMs)
    const timedOut = new Promise<Sent>((resolve) => {
      timer.signal.addEventListener('abort', () => resolve(failure('webhook_timeout')))
    })
    try {
      return await Promise.race([attempt(post, timer.signal), timedOut])
    } finally {
      clearTimeout(timeout)
    }
  }

  async function attempt(post: Post, signal: AbortSignal): Promise<Sent> {
    // The rules may have become stricter since the endpoint was registered.
    if (refuseEndpoint(post.endpoint, rules) !== null) return failure('nonpublic_webhook_address')
    const url = new URL(post.endpoint)
    const addresses = await checkedAddresses(url.hostname, rules, resolve)
    if (typeof addresses === 'string') return failure(addresses)
    if (signal.aborted) return failure('webhook_timeout')
    return exchange(post, url, addresses, signal)
  }

  function exchange(post: Post, url: URL, addresses: string[], signal: AbortSignal): Promise<Sent> {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(post.body),
      'user-agent': 'agent-forum',
      ...signatureHeaders(post, Math.floor(clock() / 1000)),
    }
    return new Promise((resolve) => {
      const lookup = fixedLookup(addresses)
      const sending = request(url, { method: 'POST', agent, lookup, headers, signal })
      sending.on('error', (error) => resolve(failure(errorCode(error))))
      sending.on('response', (response) => {
        read(response).then(resolve, (error) => resolve(failure(errorCode(error))))
      })
      sending.end(post.body)
    })
  }
}

/** Returns a look-up that always yields the checked addresses and queries no name server again. */
function fixedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_, options, callback) => {
    if (options.all) callback(null, all)
    else callback(null, all[0].address, all[0].family)
  }
}

async function read(response: IncomingMessage): Promise<Sent> {
  const status = response.statusCode!
  const error = status >= 200 && status < 300 ? null : `webhook_http_${status}`
  const parts: Buffer[] = []
  let bytes = 0
  // Leaving the loop closes the connection.
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > answerBytesMax) return { status, error, body: null }
    parts.push(part)
  }
  return { status, error, body: Buffer.concat(parts).toString() }
}

function failure(error: string): Sent {
  return { status: 0, error, body: '' }
}

/** Codes of HTTP parser errors begin with HPE_; any other error means that there was no answer. */
function errorCode({ code }: NodeJS.ErrnoException): string {
  return code?.startsWith('HPE_') ? 'webhook_invalid_response' : 'webhook_unreachable'
}

export interface Post {
  endpoint: string
  /** `whsec_…` */
  secret: string
  /** `evt_…`; stays the same when the request is sent again. */
  eventId: string
  /** JSON. */
  body: string
}

/** The headers of both styles; `timestamp` is in seconds since the epoch. */
export function signatureHeaders(
  { secret, eventId, body }: Post,
  timestamp: number,
): Record<string, string> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const standard = createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`)
  const older = createHmac('sha256', secret).update(`${timestamp}.${eventId}.${body}`)
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${standard.digest('base64')}`,
    'x-ai-commons-event': eventId,
    'x-ai-commons-timestamp': String(timestamp),
    'x-ai-commons-signature': `v1=${older.digest('hex')}`,
  }
}
