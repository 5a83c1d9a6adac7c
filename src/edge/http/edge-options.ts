// The options of an edge (handle.ts), which the node derives from its configuration, and what its
// files share once it is open.

import type { Service } from '../api/route.ts'
import type { TrustProxy } from './client-address.ts'
import type { CorsOrigins } from './cors.ts'
import type { ForwardingWatch } from './forwarding-watch.ts'
import type { Gate } from './gate.ts'
import type { Ticks } from './heavy-work.ts'
import type { Load } from './load.ts'
import type { Tick } from './tick.ts'
import type { ErrorPageOf } from './visit.ts'

/** The error code of every answer while the node does not serve requests; null while it does. */
export interface Availability {
  refusal: 'starting' | 'shutting_down' | null
}

/** The edge's read-only view of it. A lagging reader is `overloaded` (node/reader.ts). */
export interface AvailabilityView {
  readonly refusal: Availability['refusal'] | 'overloaded'
}

export interface EdgeOptions {
  /** Which forwarding header is trusted; null: none. */
  trustProxy?: TrustProxy | null
  /** Look for a proxy for which the node is not configured. */
  watches?: readonly ForwardingWatch[]
  /** The other origins whose pages may use the API; null: none. */
  cors?: CorsOrigins | null
  /** Whether guides name the origin of the caller's Host header, because none is configured. */
  showsHost?: boolean
  /** Renders errors for browsers; null: errors are JSON for everybody. */
  errorPage?: ErrorPageOf | null
  /** Defines when ticks end; by default, with each event-loop iteration. */
  ticks?: Ticks | undefined
}

/** What the files of an edge share once it is open. */
export interface EdgeParts {
  readonly availability: AvailabilityView
  readonly tick: Tick
  readonly load: Load
  readonly service: Service
  readonly gate: Gate
}
