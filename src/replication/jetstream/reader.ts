// Reads the stream by an ordered consumer of the client, which is made again when a server fails.
// What arrives is checked here: a message that is missing ends the reading.

import type { JetStreamClient, JsMsg } from '@nats-io/jetstream'
import { DeliverPolicy } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { type StreamMessage, StreamUnavailable } from '../log-stream.ts'
import type { ServerLink } from './link.ts'

/**
 * How many messages the servers may send ahead. With a limit in bytes in its place, the reading
 * stopped for half a minute after some 10 MB of messages of different lengths (nats-server 2.9.10).
 */
const aheadMax = 128
/** The servers show that often that they are there; what they have lost is requested again. */
const heartbeatMs = 1_000
const requestMs = 5_000

interface Reading {
  link: ServerLink
  client: JetStreamClient
  name: string
  from: number
  decode(sequence: number, headers: MsgHdrs | undefined, bytes: Uint8Array): StreamMessage
  onMessage(message: StreamMessage): void | Promise<void>
  onError(error: Error): void
}

const requests = { max_messages: aheadMax, expires: requestMs, idle_heartbeat: heartbeatMs }

/** Delivers the messages from `from` on (log-stream.ts, `read`). */
export function readStream(reading: Reading): { stop(): void } {
  let isStopped = false
  let stopReading: () => void = () => {}
  const stop = () => {
    isStopped = true
    stopReading()
  }
  const end = (error: Error) => {
    if (isStopped) return
    stop()
    reading.onError(error)
  }
  let next = reading.from
  const take = async ({ seq, headers, data }: JsMsg) => {
    if (seq < next) return
    if (seq > next) {
      throw new StreamUnavailable(`the stream: message ${next} is not there any more`)
    }
    next += 1
    const taking = reading.onMessage(reading.decode(seq, headers, data))
    if (taking !== undefined) await taking
  }
  const run = async () => {
    const consumer = await reading.link.available(() =>
      reading.client.consumers.get(reading.name, {
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: reading.from,
      }),
    )
    if (isStopped) return
    const messages = await reading.link.available(() => consumer.consume(requests))
    stopReading = () => messages.stop()
    if (isStopped) return stopReading()
    for await (const message of messages) {
      if (isStopped) return
      await take(message)
    }
    end(new StreamUnavailable('the stream: the reading ended'))
  }
  run().catch(end)
  return { stop }
}
