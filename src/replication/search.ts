// Finds messages of the stream by a binary search: a look at one is a question to the servers.

import type { LogStream, StreamMessage } from './log-stream.ts'

/**
 * The first message that is kept and passes a test which all later ones pass, too; null if none
 * does. Rejects with `StreamUnavailable`; messages may be trimmed meanwhile, from the oldest on.
 */
export async function firstWhere(
  stream: LogStream,
  test: (message: StreamMessage) => boolean,
): Promise<StreamMessage | null> {
  const newest = await stream.last()
  if (newest === null || !test(newest)) return null
  let found = newest
  for (let low = await stream.firstSequence(); low < found.sequence; ) {
    const middle = Math.floor((low + found.sequence) / 2)
    const message = await stream.get(middle)
    if (message !== null && test(message)) found = message
    else low = middle + 1
  }
  return found
}
