// Webhooks and deliveries as rows of a checkpoint. A row ends with the code and the context of the
// actor, in the order of its layout (actor-objects.ts).

import { type Delivery, deliveryActors, isOpen } from './deliveries-by-age.ts'
import { type Webhook, webhookActors } from './webhook.ts'

export type WebhookRow = [
  number: number,
  owner: number,
  id: string,
  endpoint: string,
  sealed: Uint8Array,
  position: number,
  ...actor: unknown[],
]
export type DeliveryRow = [webhook: number, ...actor: unknown[]]

export function webhookRow({ actor, ...webhook }: Webhook): WebhookRow {
  const { number, owner, id, endpoint, sealed, position } = webhook
  return [number, owner, id, endpoint, sealed, position, ...webhookActors.rowOf(actor)]
}

export function deliveryRow(delivery: Delivery, webhook: Webhook): DeliveryRow {
  return [webhook.number, ...deliveryActors.rowOf(delivery)]
}

/** Restores webhooks, by number, and deliveries, oldest first, from rows in any order. */
export function webhooksFrom(webhookRows: unknown[], deliveryRows: unknown[]) {
  const byNumber = new Map<number, Webhook>()
  for (const row of (webhookRows as WebhookRow[]).sort(([a], [b]) => a - b)) {
    const [number, owner, id, endpoint, sealed, position, ...actor] = row
    const fields = { number, owner, id, endpoint, sealed, position }
    const empty = { deliveries: [], open: [] }
    byNumber.set(number, { ...fields, ...empty, actor: webhookActors.ofRow(actor) })
  }
  const deliveries = (deliveryRows as DeliveryRow[]).map(([number, ...actor]) => {
    return { delivery: deliveryActors.ofRow(actor), webhook: byNumber.get(number)! }
  })
  deliveries.sort((a, b) => a.delivery.context.first - b.delivery.context.first)
  for (const { delivery, webhook } of deliveries) {
    webhook.deliveries.push(delivery)
    if (isOpen(delivery)) webhook.open.push(delivery)
  }
  return { webhooks: [...byNumber.values()], deliveries }
}
