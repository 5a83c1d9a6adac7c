// Loaded into a node by `--import`, this module evicts text from memory as soon as possible.
// Checkpoints follow one another as long as something changes. Before each, the page that is being
// filled is completed, so that the next checkpoint may drop it; and no block stays in memory unless
// a request waits for it.

import { CheckpointSchedule } from '../../src/engine/storage/checkpoints.ts'
import type { State } from '../../src/forum/state.ts'
import type { Text } from '../../src/kernel/text/text.ts'
import type { Journal } from '../../wal/journal/journal.ts'

const pauseMs = 5

const { begin, stop } = CheckpointSchedule.prototype
let isStopped = false
CheckpointSchedule.prototype.stop = function (): Promise<void> {
  isStopped = true
  return stop.call(this)
}
CheckpointSchedule.prototype.begin = function (journal: Journal, state: State): void {
  begin.call(this, journal, state)
  const { text } = state
  text.blocks.cachedBytesMax = 0
  let position = 0
  const take = () => {
    if (isStopped) return
    if (journal.position === position || journal.health !== 'ok') return again()
    position = journal.position
    endPage(text)
    void this.take().then(again)
  }
  const again = () => void setTimeout(take, pauseMs).unref()
  again()
}

/** Fills up the current page, and begins the next. */
function endPage(text: Text): void {
  if (text.bytes === 0) return
  const rest = text.pageBytes - (text.bytes % text.pageBytes)
  text.append('x'.repeat(rest))
  text.append('x')
}
