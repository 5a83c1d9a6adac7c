// Finds messages of the stream by a binary search: a look at one is a question to the servers.
//
// F1. A server may answer late, as if newer messages were not there yet. So a message that was seen
//     bounds the search, and one before it is taken for trimmed only where the stream begins behind
//     it. Anything else is asked again.

import { type LogStream, type StreamMessage, StreamUnavailable } from './log-stream.ts'

/**
 * The first message that is kept and passes a test which all later ones pass, too: `newest`, which
 * passes it, or one before. Rejects with `StreamUnavailable`; messages may be trimmed meanwhile,
 * from the oldest on.
 */
export async function firstWhere(
  stream: LogStream,
  newest: StreamMessage,
  test: (message: StreamMessage) => boolean,
): Promise<StreamMessage> {
  let found = newest
  for (let low = await stream.firstSequence(); low < found.sequence; ) {
    const middle = Math.floor((low + found.sequence) / 2)
    const message = await keptMessage(stream, middle)
    if (message !== null && test(message)) found = message
    else low = middle + 1
  }
  return found
}

/** A message before one that was seen; null: it is trimmed. Rejects with `StreamUnavailable`. */
export async function keptMessage(
  stream: LogStream,
  sequence: number,
): Promise<StreamMessage | null> {
  const message = await stream.get(sequence)
  if (message !== null || sequence < (await stream.firstSequence())) return message
  throw new StreamUnavailable(`the stream: a server does not have message ${sequence} yet`)
}
