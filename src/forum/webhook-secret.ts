// Signing secrets of webhooks: `whsec_` and 64 hex characters, encrypted in the log and in memory.
//
// Sealed:   offset, length
//           0  12  nonce, random
//          12  16  authentication tag
//          28  32  the secret's bytes, AES-256-GCM
//
// The webhook's id is authenticated data: a sealed secret can be opened only for its own webhook.

import assert from 'node:assert/strict'
import { createCipheriv, createDecipheriv } from 'node:crypto'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const secretBytes = 32
/** How many random bytes `sealNew` takes. */
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

/** The secret in the form that its owner receives, or null when it was sealed with another key. */
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
