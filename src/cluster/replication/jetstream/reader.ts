// Reads the stream with an ordered consumer of the client. This file checks the order: a missing
// message ends the reading.
//
// The consumer lives on one server. When that server is killed, the client requests the consumer in
// vain, for 5 s each time, until the server is back. So the reading ends when the server has been
// silent or the connection is lost, and the caller starts again with a consumer on another server.

import type { ConsumerMessages, JetStreamClient, JsMsg } from '@nats-io/jetstream'
import { DeliverPolicy } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { type StreamMessage, StreamUnavailable } from '../log-stream.ts'
import { lostConnection, type ServerLink } from './link.ts'

/**
 * The number of messages that the servers may send ahead. With a limit in bytes instead, the
 * reading stalled for half a minute after some 10 MB of messages of different lengths (nats-server
 * 2.9.10).
 */
const aheadMax = 128
/** The interval of heartbeats. A consumer's server that misses two counts as silent. */
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
  const { link, client, name, from } = reading
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
  let next = from
  let isTaking = false
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
    // The servers remove a consumer that was created but is not used.
    const consumer = await link.availableRepeated(() =>
      client.consumers.get(name, {
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: from,
      }),
    )
    if (isStopped) return
    const messages = await link.available(() => consumer.consume(requests))
    let why = 'the reading ended'
    const lose = (reason: string) => {
      why = reason
      messages.stop() // ends the loop below after the message in progress
    }
    const stopListening = link.onLost(() => lose(lostConnection))
    stopReading = () => {
      stopListening()
      messages.stop()
    }
    if (isStopped) return stopReading()
    void onSilence(messages, () => {
      // While a message is being processed, nothing more is requested, and nothing arrives.
      if (!isTaking && messages.getPending() === 0) lose('the server that is read from is silent')
    })
    for await (const message of messages) {
      if (isStopped) return
      isTaking = true
      await take(message)
      isTaking = false
    }
    end(new StreamUnavailable(`the stream: ${why}`))
  }
  run().catch(end)
  return { stop }
}

/** Calls `run` whenever the consumer's server has been silent for too long. */
async function onSilence(messages: ConsumerMessages, run: () => void): Promise<void> {
  for await (const { type } of messages.status()) if (type === 'heartbeats_missed') run()
}
