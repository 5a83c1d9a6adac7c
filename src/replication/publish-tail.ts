// Publishes the end of a log that the stream does not have yet: its leader ended, or was cut off,
// before the stream had acknowledged it, and no other node has led since.

import { LogCursor, type LogPlaceToRead } from '../../wal/journal/log-cursor.ts'
import type { LogStream, StreamMessage } from './log-stream.ts'
import { Publisher } from './publisher.ts'
import { nonceOf } from './term-name.ts'

/** Frames that are read ahead of the stream's acknowledgements. */
const aheadBytesMax = 8 << 20

/**
 * Publishes what the log holds behind `last`, the newest message, which has the term of the log's
 * end; `position` is the log's last. Returns false if another node leads now, or the stream lost
 * messages; waits while it cannot be reached.
 */
export async function publishTail(
  stream: LogStream,
  log: LogPlaceToRead,
  { last, position }: { last: StreamMessage; position: number },
): Promise<boolean> {
  let hasEnded = false
  const publisher = new Publisher({
    stream,
    term: last.term,
    name: { store: log.storeId, nonce: nonceOf(last.name) },
    sequence: last.sequence,
    position: last.last,
    gatherMs: 0,
    onAcknowledged: () => {},
    onEnded: () => {
      hasEnded = true
    },
  })
  const cursor = new LogCursor(log, last.last)
  try {
    for (let read = cursor.next(); read !== null && !hasEnded; read = cursor.next()) {
      publisher.add(read.first, read.count, read.records)
      const end = read.first + read.count - 1
      if (publisher.bytes > aheadBytesMax) await publisher.whenAcknowledged(end)
    }
    await publisher.whenAcknowledged(position)
    return true
  } catch (error) {
    if (hasEnded) return false
    throw error
  } finally {
    publisher.stop()
    cursor.close()
  }
}
