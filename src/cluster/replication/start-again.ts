// The lives of a replicated node within one process. When its place in the common history changes,
// the node is stopped, and started again on the data that it has then.

/** The node must start again at once, on the data that it has now. */
export class StartAgain extends Error {
  override readonly name = 'StartAgain'
}

/** The operator stopped the node before it served. */
export class StoppedEarly extends Error {
  override readonly name = 'StoppedEarly'
}

/** The state that all lives of a node share. */
export class Lives {
  takeovers = 0
  /** The number of takeovers by other nodes from this one. */
  fenced = 0
  isStopped = false
  /** Rejects with `StoppedEarly` when the operator stops the node. */
  readonly untilStopped: Promise<never>

  constructor(stopped: Promise<unknown>) {
    this.untilStopped = stopped.then(() => {
      this.isStopped = true
      throw new StoppedEarly('stopped')
    })
    this.untilStopped.catch(() => {}) // some lives never await it
  }
}
