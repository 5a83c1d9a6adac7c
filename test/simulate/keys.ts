// The keys of the node, with which the model predicts tickets, quotas and signing secrets. The node
// creates its secret at its first start; the machine reads it from the disk.

import { deriveKey } from '../../src/engine/storage/node-files.ts'

const none: Buffer = Buffer.alloc(0)

export const keys = { ticket: none, webhook: none, address: none }

export function useSecret(secret: string): void {
  for (const purpose of ['ticket', 'webhook', 'address'] as const) {
    keys[purpose] = deriveKey(secret, purpose)
  }
}
