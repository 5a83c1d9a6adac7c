// What callers make the node hold at this moment, how much of it there may be, and what was refused
// because of that. The HTTP servers, the gate and the edge share one.
//
// L1. Bytes are counted from the moment they are kept until they are let go, whatever the end.
// L2. What goes through at once (an answer the kernel takes), or in one turn (turn.ts, T3), is not
//     counted.

export interface LoadLimits {
  connectionsMax: number
  /** How many answers may wait for the log before writes are refused. */
  waitingMax: number
  /** Bodies that come in and answers that wait, together. */
  queueBytesMax: number
  /** In what time a body has to be there. */
  bodySeconds: number
  /** How long a connection may say nothing; uWebSockets.js has a time of its own (uws.ts, U5). */
  idleSeconds: number
}

/** No limits but time: for tests, and where nothing is held. */
export const unlimited: LoadLimits = {
  connectionsMax: Number.POSITIVE_INFINITY,
  waitingMax: Number.POSITIVE_INFINITY,
  queueBytesMax: Number.POSITIVE_INFINITY,
  bodySeconds: 30,
  idleSeconds: 10,
}

export class Load {
  readonly limits: LoadLimits
  /** Of bodies that have come in partly. */
  bodyBytes = 0
  /** Of answers that wait for the log, or for a reader that is slow. */
  answerBytes = 0
  /** Whether the process holds as much as it may (admission.ts). */
  isMemoryLow = false
  /** How often something was refused or cut, by what there was too much of. */
  readonly refused = {
    connections: 0,
    framing: 0,
    slow_bodies: 0,
    bodies: 0,
    answers: 0,
    writes: 0,
    memory: 0,
  }
  /** Open connections; the HTTP server says how to count them. */
  connections: () => number = () => 0

  constructor(limits: LoadLimits = unlimited) {
    this.limits = limits
  }

  /** Whether so many bytes more may be held. */
  hasRoom(bytes: number): boolean {
    return this.bodyBytes + this.answerBytes + bytes <= this.limits.queueBytesMax
  }
}
