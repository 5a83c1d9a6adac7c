// Reports the progress of the index in the node's log: that it is far behind, how it advances, that
// it is complete again, and why it waits.

import type { Logger } from 'pino'
import type { Progress } from './protocol.ts'

const everyMs = 10_000
/** Progress is logged while more messages than this are missing. */
const missingNotable = 10_000

export class ProgressLog {
  readonly #log: Logger
  #nextMs = 0
  #isBehind = false
  #stallReason = ''

  constructor(log: Logger) {
    this.#log = log
  }

  /** `of` is the number of messages. */
  note({ indexed, stallReason }: Pick<Progress, 'indexed' | 'stallReason'>, of: number): void {
    if (stallReason !== '' && stallReason !== this.#stallReason)
      this.#log.warn({ why: stallReason }, 'search_waits')
    this.#stallReason = stallReason
    const now = performance.now()
    if (of - indexed > missingNotable) {
      this.#isBehind = true
      if (now < this.#nextMs) return
      this.#nextMs = now + everyMs
      this.#log.info({ indexed, of }, 'search_indexing')
    } else if (this.#isBehind && indexed >= of) {
      this.#isBehind = false
      this.#log.info({ indexed }, 'search_complete')
    }
  }
}
