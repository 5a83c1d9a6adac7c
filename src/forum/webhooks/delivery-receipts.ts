// The receipts of finished deliveries: a ring of rows outside the JS heap, for all webhooks.
//
//   row 0 ──▶ row 1 ──▶ … ──▶ row receiptsMax - 1 ──▶ row 0      the oldest is replaced
//   webhook.receipt ──▶ its newest receipt ──older──▶ … ──▶ `noReceipt`, or replaced
//
// D1. A receipt is identified by its serial number, counted from 1. At most the newest
//     `receiptsMax` of all webhooks are kept. An older serial number refers to nothing.
// D2. Of one webhook, at most the newest `receiptsShownMax` are shown, none older than
//     `retentionMs` by the times of records. What is no longer shown stays in its row until the row
//     is used again; it consists of positions, times and codes.

import {
  type Column,
  Float64Column,
  Uint8Column,
  Uint16Column,
  Uint32Column,
} from '../../kernel/columns/column.ts'
import { delivery as deliveryKind } from './delivery.ts'
import type { Delivery } from './webhook.ts'

/** 12 MB in all. */
export const receiptsMax = 262_144
/** Covers most of a day at one wakeup a minute. A client that reads later misses only receipts. */
export const receiptsShownMax = 1_000
export const retentionMs = 7 * 24 * 3_600_000
export const noReceipt = 0

/**
 * The errors of attempts. Checkpoints contain their indexes: append new ones at the end. The second
 * one stands for `webhook_http_` and the status; a code that is not listed is kept as the third.
 */
export const deliveryErrors = [
  '',
  'webhook_http_',
  'webhook_unreachable',
  'webhook_timeout',
  'webhook_invalid_response',
  'nonpublic_webhook_address',
  'dns_lookup_failed',
] as const

const [http, unlisted] = [1, 2]

/** A page of the deliveries of one webhook. */
export interface ReceiptPage {
  /** Those whose first message has a greater position. */
  after: number
  limit: number
}

const wholePage: ReceiptPage = { after: 0, limit: Number.POSITIVE_INFINITY }

export class DeliveryReceipts {
  readonly stores = {
    states: new Uint8Column(),
    first: new Float64Column(),
    through: new Float64Column(),
    createdAt: new Float64Column(),
    attempts: new Uint32Column(),
    deliveredAt: new Float64Column(),
    lastHttpStatus: new Uint16Column(),
    errors: new Uint8Column(),
    older: new Float64Column(),
  }
  readonly #max: number
  /** The serial number of the newest receipt. */
  #newest = noReceipt

  constructor(max = receiptsMax) {
    this.#max = max
  }

  facts(): number {
    return this.#newest
  }

  restore(facts: unknown): void {
    this.#newest = facts as number
  }

  /** Adds the receipt of a finished delivery; `older` is the one before it of the same webhook. */
  add({ state, context }: Delivery, older: number): number {
    const { first, through, createdAt, attempts, deliveredAt, lastHttpStatus, lastError } = context
    const listed = deliveryErrors.indexOf(lastError as never)
    const isHttp = lastError === `${deliveryErrors[http]}${lastHttpStatus}`
    const errors = isHttp ? http : listed === -1 ? unlisted : listed
    const numbers = { first, through, createdAt, attempts, deliveredAt, lastHttpStatus }
    const row = this.#newest % this.#max
    for (const [name, value] of Object.entries({ ...numbers, states: state, errors, older })) {
      const column: Column = this.stores[name as keyof DeliveryReceipts['stores']]
      if (row < column.length) column.set(row, value)
      else column.push(value)
    }
    this.#newest += 1
    return this.#newest
  }

  /**
   * Returns the receipts from this one back that are shown at the time `now`, oldest first; of
   * these, the page. Making all of them took 1.6 ms, finding and making 50 takes 0.1.
   */
  shown(newest: number, now: number, { after, limit } = wholePage): Delivery[] {
    const { createdAt, first, older } = this.stores
    const rows: number[] = []
    for (let serial = newest; serial > Math.max(noReceipt, this.#newest - this.#max); ) {
      const row = (serial - 1) % this.#max
      if (createdAt.get(row) + retentionMs <= now || rows.length === receiptsShownMax) break
      if (first.get(row) <= after) break // those before it begin earlier
      rows.push(row)
      serial = older.get(row)
    }
    return rows
      .reverse()
      .slice(0, limit)
      .map((row) => this.#delivery(row))
  }

  #delivery(row: number): Delivery {
    const { states, errors, older: _, ...columns } = this.stores
    const numbers = Object.entries(columns).map(([name, column]) => [name, column.get(row)])
    const context = { ...deliveryKind.compiled.initialContext(), ...Object.fromEntries(numbers) }
    const error = errors.get(row)
    const status = error === http ? context.lastHttpStatus : ''
    const lastError = `${deliveryErrors[error]}${status}`
    return { state: states.get(row), context: { ...context, lastError } }
  }
}
