// Loaded into a node by `--import`: text is on disk as soon as that is possible. Checkpoints follow
// one another as long as something changes; each ends the page that is being filled, so that the
// next one may drop it; and no block stays in memory that nobody waits for.

import type { State } from '../../src/state/state.ts'
import { CheckpointSchedule } from '../../src/storage/checkpoints.ts'
import type { Text } from '../../src/text/text.ts'
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

/** Fills the page, and begins the next. */
function endPage(text: Text): void {
  if (text.bytes === 0) return
  const rest = text.pageBytes - (text.bytes % text.pageBytes)
  text.append('x'.repeat(rest))
  text.append('x')
}
