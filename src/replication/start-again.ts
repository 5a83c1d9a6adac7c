// The lives of a replicated node within one process: when its place in the common history changes,
// it is stopped and started again on the data that it has then.

/** The node is to be started again, at once, on the data that it has now. */
export class StartAgain extends Error {
  override readonly name = 'StartAgain'
}

/** The operator has stopped the node before it served. */
export class StoppedEarly extends Error {
  override readonly name = 'StoppedEarly'
}

/** The common state of all lives. */
export class Lives {
  /** Takeovers by this node. */
  takeovers = 0
  /** Takeovers by others from this node. */
  fenced = 0
  isStopped = false
  /** Rejects with `StoppedEarly` when the operator stops the node. */
  readonly untilStopped: Promise<never>

  constructor(stopped: Promise<unknown>) {
    this.untilStopped = stopped.then(() => {
      this.isStopped = true
      throw new StoppedEarly('stopped')
    })
    this.untilStopped.catch(() => {}) // not everybody listens
  }
}
