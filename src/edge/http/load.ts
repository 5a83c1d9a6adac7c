// Counts what the node currently holds for callers, and how often something was refused because of
// a limit on that. The HTTP servers, the gate and the edge share one instance, which has the
// limits.
//
// L1. Bytes are counted from the moment they are kept until they are released, for whatever reason.
// L2. Bytes that are passed on at once (an answer that the kernel accepts), or within one tick
//     (tick.ts, T3), are not counted.

export interface LoadLimits {
  connectionsMax: number
  /** The number of answers that may wait for the log before writes are refused. */
  writesMax: number
  /** Bodies being received and answers waiting, together. */
  queueBytesMax: number
  /** The time within which a body must arrive. */
  bodySeconds: number
  /** How long a connection may be silent; uWebSockets.js has its own timeout (uws.ts, U5). */
  idleSeconds: number
}

/** No limits except timeouts: for tests, and for servers that hold nothing. */
export const unlimited: LoadLimits = {
  connectionsMax: Number.POSITIVE_INFINITY,
  writesMax: Number.POSITIVE_INFINITY,
  queueBytesMax: Number.POSITIVE_INFINITY,
  bodySeconds: 30,
  idleSeconds: 10,
}

export class Load {
  readonly limits: LoadLimits
  /** Bytes of bodies that have arrived in part. */
  bodyBytes = 0
  /** Bytes of answers that wait for the log, or for a slow reader. */
  answerBytes = 0
  /** Whether the process has reached its memory limit (admission.ts). */
  isMemoryLow = false
  /** Numbers of refused requests and closed connections, by reason. */
  readonly refused = {
    connections: 0,
    framing: 0,
    slow_bodies: 0,
    bodies: 0,
    answers: 0,
    writes: 0,
    memory: 0,
  }
  /** The number of open connections; the HTTP server sets this function. */
  connections: () => number = () => 0

  constructor(limits: LoadLimits = unlimited) {
    this.limits = limits
  }

  /** Returns whether `bytes` more may be held. */
  hasRoom(bytes: number): boolean {
    return this.bodyBytes + this.answerBytes + bytes <= this.limits.queueBytesMax
  }
}
