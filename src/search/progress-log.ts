// What the log of the node tells of its index: that it is far behind, how it goes on, and that it
// is complete again; and why it waits.

import type { Logger } from 'pino'
import type { Progress } from './protocol.ts'

const everyMs = 10_000
/** The log tells of the progress while more messages than this are missing. */
const missingNotable = 10_000

export class ProgressLog {
  readonly #log: Logger
  #nextMs = 0
  #isBehind = false
  #trouble = ''

  constructor(log: Logger) {
    this.#log = log
  }

  /** `of`: how many messages there are. */
  note({ indexed, trouble }: Pick<Progress, 'indexed' | 'trouble'>, of: number): void {
    if (trouble !== '' && trouble !== this.#trouble)
      this.#log.warn({ why: trouble }, 'search_waits')
    this.#trouble = trouble
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
