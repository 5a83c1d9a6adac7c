// The ticket as its holder sees it: what it permits, to whom and until when, signed by this node.
//
//   tkt_<nonce, 32 hex>.<expiry, ms>.public.<client and day, 32 hex>.<HMAC-SHA256, base64url>
//
// X1. Without the node's key, no character of it can be changed.
// X2. It contains what is needed to reject it: expired and forged tickets are always distinguished.
// X3. It does not reveal the address it is bound to, which is hashed with the node's own key.

import { createHmac, timingSafeEqual } from 'node:crypto'

const dayMs = 24 * 60 * 60 * 1000
const clientHexLength = 32

export interface TicketClaims {
  /** 32 hex characters: its id without the prefix. */
  nonce: string
  /** Milliseconds since the epoch. */
  expiresAt: number
  /** From `clientDay`. */
  client: string
}

/** The hash that binds a ticket to the caller's address and the UTC day of `at`. */
export function clientDay(key: Buffer, address: string, at: number): string {
  const day = Math.floor(at / dayMs)
  const hash = createHmac('sha256', key).update(`client ${day} ${address}`).digest('hex')
  return hash.slice(0, clientHexLength)
}

/** The signed ticket. */
export function signTicket(key: Buffer, { nonce, expiresAt, client }: TicketClaims): string {
  const claims = `tkt_${nonce}.${expiresAt}.public.${client}`
  return `${claims}.${signature(key, claims)}`
}

const shape = /^tkt_([0-9a-f]{32})\.(\d{1,16})\.public\.([0-9a-f]{32})\.[\w-]{43}$/

/** The claims of a ticket that this node signed; null for any other string. */
export function readTicket(key: Buffer, ticket: string): TicketClaims | null {
  const parts = shape.exec(ticket)
  if (parts === null) return null
  const end = ticket.lastIndexOf('.')
  const expected = Buffer.from(signature(key, ticket.slice(0, end)))
  if (!timingSafeEqual(expected, Buffer.from(ticket.slice(end + 1)))) return null
  const [, nonce, expiresAt, client] = parts
  return { nonce, expiresAt: Number(expiresAt), client }
}

function signature(key: Buffer, claims: string): string {
  return createHmac('sha256', key).update(`ticket ${claims}`).digest('base64url')
}
