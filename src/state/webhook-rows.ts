// Webhooks and deliveries as a checkpoint holds them: a row each.

import type { WebhookContext } from '../actors/webhook.ts'
import { type Delivery, isOpen } from './deliveries-by-age.ts'
import type { Webhook } from './webhooks.ts'

type WebhookRow = [
  number: number,
  owner: number,
  id: string,
  endpoint: string,
  sealed: Uint8Array,
  position: number,
  state: number,
  context: WebhookContext,
]
type DeliveryRow = [webhook: number, state: number, context: Delivery['context']]

export function webhookRow({ actor, ...webhook }: Webhook): WebhookRow {
  const { number, owner, id, endpoint, sealed, position } = webhook
  return [number, owner, id, endpoint, sealed, position, actor.state, { ...actor.context }]
}

export function deliveryRow({ state, context }: Delivery, webhook: Webhook): DeliveryRow {
  return [webhook.number, state, { ...context }]
}

/** What rows in any order stand for: webhooks by their numbers, deliveries from the oldest on. */
export function webhooksFrom(webhookRows: unknown[], deliveryRows: unknown[]) {
  const byNumber = new Map<number, Webhook>()
  for (const row of (webhookRows as WebhookRow[]).sort(([a], [b]) => a - b)) {
    const [number, owner, id, endpoint, sealed, position, state, context] = row
    const webhook = { number, owner, id, endpoint, sealed, position, actor: { state, context } }
    byNumber.set(number, { ...webhook, deliveries: [], open: [] })
  }
  const rows = (deliveryRows as DeliveryRow[]).sort(([, , a], [, , b]) => a.first - b.first)
  const deliveries = rows.map(([number, state, context]) => {
    const [delivery, webhook] = [{ state, context }, byNumber.get(number)!]
    webhook.deliveries.push(delivery)
    if (isOpen(delivery)) webhook.open.push(delivery)
    return { delivery, webhook }
  })
  return { webhooks: [...byNumber.values()], deliveries }
}
