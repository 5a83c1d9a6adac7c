// Webhooks: registering, verifying and removing an endpoint. docs/interface.md, "Webhooks". A
// verification takes two commands; the endpoint responds between them, so the second one checks the
// webhook again.

import assert from 'node:assert/strict'
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { timeOf } from '../../kernel/clock.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { rejectToken } from '../identities/commands.ts'
import { admit, admitOwn, commit, usedAt } from '../write.ts'
import type { Webhook } from './webhook.ts'

export interface WebhookRead extends Positioned {
  webhook: Webhook | null
}

export interface NewRegistration {
  caller: number
  /** An endpoint that has passed the rules of forum/webhooks/address.ts. */
  endpoint: string
  key: string
}

export interface Registration extends Positioned {
  webhook: Webhook
  secret: string
  replayed: boolean
}

export function registerWebhook(forum: Forum, command: NewRegistration): Registration | Rejection {
  const { state, stamps, webhookKey } = forum
  const { caller, endpoint, key } = command

  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) return replayRegistration(forum, receipt, command)

  const permit = admit(forum, 'webhooks', { caller, address: '' })
  if (isRejection(permit)) return permit
  const id = stamps.id()
  const sealed = sealNew(webhookKey, id, stamps.bytes(seedBytes))
  const position = commit(forum, permit, {
    type: 'webhook.registered',
    at: permit.at,
    by: caller,
    id,
    endpoint,
    sealed,
    key,
  })
  const webhook = state.webhooks.of(caller)!
  return { position, webhook, secret: secretOf(forum, webhook), replayed: false }
}

/**
 * Answers a retry. A registration that has been replaced or removed has no secret left, so the
 * retry is a conflict.
 */
function replayRegistration(
  forum: Forum,
  receipt: number,
  command: NewRegistration,
): Registration | Rejection {
  const { receipts, webhooks } = forum.state
  const isWebhook = receipts.operation(receipt) === 'webhook'
  const webhook = isWebhook ? webhooks.get(receipts.subject(receipt)) : undefined
  if (webhook === undefined || webhook.endpoint !== command.endpoint) {
    return { rejected: 'idempotency_conflict', position: usedAt(forum.state, receipt) }
  }
  const secret = secretOf(forum, webhook)
  return { position: webhooks.changedAt(command.caller), webhook, secret, replayed: true }
}

/** Returns the signing secret. `hasRightKey` has checked at the start that the key opens it. */
export function secretOf({ webhookKey }: Forum, { id, sealed }: Webhook): string {
  return open(webhookKey, id, sealed)!
}

/** Returns whether this node's key opens the secrets in the log. */
export function hasRightKey({ state, webhookKey }: Forum): boolean {
  // Checking one is enough, because a node starts only if its key opens the secrets that are there.
  for (const { id, sealed } of state.webhooks.all()) return open(webhookKey, id, sealed) !== null
  return true
}

export function readWebhook({ state }: Forum, caller: number): WebhookRead {
  return {
    webhook: state.webhooks.of(caller) ?? null,
    position: state.webhooks.changedAt(caller),
  }
}

/** Removes the caller's webhook, if there is one. */
export function removeWebhook(forum: Forum, caller: number): Positioned | Rejection {
  const { state } = forum
  const webhook = state.webhooks.of(caller)
  if (webhook === undefined) return { position: state.webhooks.changedAt(caller) }
  const permit = admit(forum, null, { caller, address: '' })
  if (isRejection(permit)) return permit
  const record = { type: 'webhook.removed', at: permit.at, webhook: webhook.number } as const
  return { position: commit(forum, permit, record) }
}

/** A challenge for an endpoint. By echoing it, the endpoint proves that it is listening. */
export interface Verification {
  webhook: number
  endpoint: string
  secret: string
  /** `evt_…`. */
  eventId: string
  /** 48 hex characters. */
  challenge: string
}

const challengeBytes = 24
const tooEarly = 'The registration is not on disk yet. Request the verification again.'

export function beginVerification(forum: Forum, caller: number): Verification | Rejection {
  const { state, stamps } = forum
  const webhook = state.webhooks.of(caller)
  const position = state.webhooks.changedAt(caller)
  if (webhook === undefined) return { rejected: 'webhook_not_registered', position }
  // Nothing is sent for a webhook before it is durable; it will be when this rejection leaves.
  if (webhook.position > forum.journal.durable) {
    return { rejected: 'overloaded', position: webhook.position, detail: tooEarly }
  }
  const permit = admit(forum, 'verifications', { caller, address: '' })
  if (isRejection(permit)) return permit
  return {
    webhook: webhook.number,
    endpoint: webhook.endpoint,
    secret: secretOf(forum, webhook),
    eventId: `evt_${stamps.id()}`,
    challenge: stamps.bytes(challengeBytes).toString('hex'),
  }
}

/** Records a verification's outcome; `error` is null when the endpoint responded correctly. */
export function finishVerification(
  forum: Forum,
  { webhook: number }: Verification,
  error: string | null,
): (Positioned & { webhook: Webhook }) | Rejection {
  const webhook = forum.state.webhooks.get(number)
  if (webhook === undefined) {
    // Removed meanwhile, by a record that may not be durable yet.
    return { rejected: 'webhook_not_registered', position: forum.state.position }
  }
  const { owner } = webhook
  if (forum.state.identities.isBlocked(owner)) return rejectToken(forum, owner)
  const permit = admitOwn(forum)
  if (isRejection(permit)) return permit
  const { at } = permit
  const position = commit(
    forum,
    permit,
    error === null
      ? { type: 'webhook.verified', at, webhook: number }
      : { type: 'webhook.verify_failed', at, webhook: number, error },
  )
  return { position, webhook }
}

/** The limit of webhooks that one sweep removes. */
export const sweptAtOnce = 1_000

/** Records which webhooks have lapsed; called by a timer. Returns true when there are more. */
export function sweepWebhooks(forum: Forum): boolean {
  const { webhooks } = forum.state
  const at = timeOf(forum)
  if (!webhooks.hasLapsed(at)) return false
  const permit = admitOwn(forum)
  if (isRejection(permit)) return false
  commit(forum, permit, { type: 'webhooks.lapsed', at: permit.at, most: sweptAtOnce })
  return webhooks.hasLapsed(at)
}

// Signing secrets of webhooks: `whsec_` and 64 hex characters, encrypted in the log and in memory.
//
// Sealed:   offset, length
//           0  12  nonce, random
//          12  16  authentication tag
//          28  32  the secret's bytes, AES-256-GCM
//
// The webhook's id is authenticated data: a sealed secret can be opened only for its own webhook.

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const secretBytes = 32
/** The number of random bytes that `sealNew` takes. */
export const seedBytes = nonceBytes + secretBytes

/** Makes and seals a secret from random bytes. `key` has 32 bytes; `id` is the webhook's. */
export function sealNew(key: Buffer, id: string, random: Buffer): Buffer {
  assert(random.length === seedBytes, 'a nonce and a secret')
  const nonce = random.subarray(0, nonceBytes)
  const sealing = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(id))
  const sealed = sealing.update(random.subarray(nonceBytes))
  sealing.final()
  return Buffer.concat([nonce, sealing.getAuthTag(), sealed])
}

/** Returns the secret as its owner receives it, or null if it was sealed with another key. */
export function open(key: Buffer, id: string, sealed: Uint8Array): string | null {
  const bytes = Buffer.from(sealed)
  const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes))
  opening.setAAD(Buffer.from(id)).setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  const secret = opening.update(bytes.subarray(nonceBytes + tagBytes))
  try {
    opening.final()
  } catch {
    return null
  }
  return `whsec_${secret.toString('hex')}`
}
