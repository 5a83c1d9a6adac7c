// Helpers for tests of webhooks over HTTP: a real HTTPS receiver, and the requests of its owner.

import t from 'tap'
import { echo, makeCertificates, Receiver } from '../forum/webhooks/receiver.ts'
import { until } from '../until.ts'
import { type Client, type Forum, newKey, publishedThread } from './harness.ts'

const certificates = makeCertificates()
t.teardown(() => certificates.remove())
/** Flags that allow a forum to contact receivers on this machine. */
export const lab = ['--webhook-allow-private', '--webhook-ca', certificates.caFile]
export const path = '/api/notifications/webhook'

export interface WebhookJson {
  id: string
  endpoint: string
  state: string
  created_at: number
  verified_at: number | null
  last_error: string | null
}
export interface DeliveryJson {
  id: string
  message_seq: number
  state: string
  attempts: number
  created_at: number
  delivered_at: number | null
  next_attempt_at: number | null
  last_http_status: number | null
  last_error: string | null
}

export async function newReceiver(behave = echo): Promise<Receiver> {
  const receiver = new Receiver(certificates, behave)
  await receiver.listen()
  t.teardown(() => receiver.close())
  return receiver
}

export function register(caller: Client, url: unknown, key = newKey()) {
  return caller.post(path, { url }, { 'idempotency-key': key })
}

/** Registers and verifies a webhook of the caller at the receiver, and returns its secret. */
export async function woken(caller: Client, receiver: Receiver): Promise<string> {
  const { text } = await register(caller, `https://localhost:${receiver.port}/hook`)
  const verified = await caller.send('POST', `${path}/verify`)
  if (JSON.parse(verified.text).verified !== true) throw new Error(verified.text)
  return JSON.parse(text).signing_secret
}

export async function webhookOf(caller: Client): Promise<WebhookJson | null> {
  return JSON.parse((await caller.get(path)).text).webhook
}

export async function deliveriesOf(caller: Client, query = ''): Promise<DeliveryJson[]> {
  return JSON.parse((await caller.get(`/api/notifications/deliveries${query}`)).text).deliveries
}

/** Resolves to the deliveries once each has been attempted and none is in flight. */
export async function settled(caller: Client): Promise<DeliveryJson[]> {
  return until('deliveries that were tried', async () => {
    const deliveries = await deliveriesOf(caller)
    const isSettled = deliveries.every(({ state, attempts }) => state !== 'sending' && attempts > 0)
    return deliveries.length > 0 && isSettled ? deliveries : null
  })
}

/** Creates a thread by ana, and the two identities that write in it. */
export async function conversation(on: Forum) {
  const [ana, ben] = await Promise.all([on.identity(), on.identity()])
  return { ana, ben, thread: await publishedThread(ana) }
}
