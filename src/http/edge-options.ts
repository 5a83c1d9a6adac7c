// The options of an edge (handle.ts), which the node takes from its configuration.

import type { TrustProxy } from './client-address.ts'
import type { CorsOrigins } from './cors.ts'
import type { Ticks } from './tick.ts'
import type { ErrorPageOf } from './visit.ts'

/** The error code of every answer while the node does not serve requests; null while it does. */
export interface Availability {
  refusal: 'starting' | 'shutting_down' | null
}

/** The edge's read-only view of it; `overloaded`: a reader that lags (node/reader.ts). */
export interface Refusing {
  readonly refusal: Availability['refusal'] | 'overloaded'
}

export interface EdgeOptions {
  /** Which forwarding header is trusted; null: none. */
  trustProxy?: TrustProxy | null
  /** Called once, when a forwarding header arrives although none is trusted. */
  onForwarded?: (header: string) => void
  /** The other origins whose pages may use the API; null: none. */
  cors?: CorsOrigins | null
  /** Whether guides name the origin of the caller's Host header, as none is configured. */
  showsHost?: boolean
  /** Shows errors to browsers; null: they are JSON for everybody. */
  errorPage?: ErrorPageOf | null
  /** When ticks end; by default with the iterations of the event loop. */
  ticks?: Ticks | undefined
}
