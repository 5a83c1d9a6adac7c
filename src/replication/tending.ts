// What a leader keeps beside the stream, and writes again when it is lost.
//
// T1. Its own note `holder` before the note `history`: whoever finds `history` there knows that no
//     term is missing among the notes (holders.ts, H1).
// T2. A checkpoint that has what the stream lacks at its beginning (uploads.ts, U1).

import type { History } from './history.ts'
import { hasHistory, writeHistory } from './history.ts'
import { announce, type Holder } from './holders.ts'
import { type LogStream, StreamUnavailable } from './log-stream.ts'
import type { Uploads } from './uploads.ts'

const everyMs = 5_000
/** Every so often the checkpoint is looked at, too. */
const checkpointEvery = 6

interface Tended {
  stream: LogStream
  /** The id of this node. */
  node: string
  /** What `history` says, but for the store. */
  history: Pick<History, 'epoch' | 'epochBegin' | 'secret'>
  uploads: Pick<Uploads, 'mend'>
}

/** Looks after it until the returned function is called, which resolves when nothing is written. */
export function tend(
  { stream, node, history, uploads }: Tended,
  own: Pick<Holder, 'store' | 'position' | 'term'>,
): () => Promise<void> {
  let tending = Promise.resolve()
  let runs = 0
  const run = async () => {
    try {
      if (!(await hasHistory(stream))) {
        await announce(stream, node, own)
        await writeHistory(stream, { ...history, store: own.store })
      }
      if (runs++ % checkpointEvery === 0) await uploads.mend(own.store)
    } catch (error) {
      if (!(error instanceof StreamUnavailable)) throw error
    }
  }
  const again = () => {
    tending = tending.then(run)
  }
  again()
  const timer = setInterval(again, everyMs).unref()
  return () => {
    clearInterval(timer)
    return tending
  }
}
