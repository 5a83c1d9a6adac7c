// Reads the stream by an ordered consumer of the client. The order is checked here: a missing
// message ends the reading.
//
// The consumer lives on one server. When that is killed, the client asks for it in vain, each time
// for 5 s, until the server is back; so the reading ends when the server has been silent, or the
// connection is lost, and the caller begins again, with a consumer on another server.

import type { ConsumerMessages, JetStreamClient, JsMsg } from '@nats-io/jetstream'
import { DeliverPolicy } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { type StreamMessage, StreamUnavailable } from '../log-stream.ts'
import { lostConnection, type ServerLink } from './link.ts'

/**
 * The messages that the servers may send ahead. With a limit in bytes in its place, the reading
 * stopped for half a minute after some 10 MB of messages of different lengths (nats-server 2.9.10).
 */
const aheadMax = 128
/** The server with the consumer shows that often that it is there; it is silent when two miss. */
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
    // A consumer that is made and not used is removed by the servers.
    const consumer = await link.asked(() =>
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
      messages.stop() // ends the loop below, when the message that is being taken has been
    }
    const stopListening = link.onLost(() => lose(lostConnection))
    stopReading = () => {
      stopListening()
      messages.stop()
    }
    if (isStopped) return stopReading()
    void onSilence(messages, () => {
      // A slow consumer requests nothing more, and receives nothing.
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

/** Runs a function whenever the server with the consumer has been silent for too long. */
async function onSilence(messages: ConsumerMessages, run: () => void): Promise<void> {
  for await (const { type } of messages.status()) if (type === 'heartbeats_missed') run()
}
