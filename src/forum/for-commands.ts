// The parts of a state that only commands read: the receipts of idempotency keys, publishing
// tickets, the windows of rate limits, and invitations.
//
// A node may lead, and has them. A reader never does, and they are left out of its state.
//
// O1. `apply` is the same for both: a part that is left out accepts every record and keeps nothing.
// O2. A part that is left out is not loaded from checkpoints, and a state without it is never saved
//     (kernel/saved.ts, V3).
// O3. Commands run only where the parts are present. To read a part that is left out is a bug,
//     which an assertion reports.
//
// Without receipts, a reader takes 6.6 us instead of 8.8 to apply a reply and, with a million keys,
// 46 bytes less to hold it (columns 29, index 17). The other data that only commands read, such as
// the position at which an identity began to follow a thread, are a few columns of tables that
// reads need, and stay.

import assert from 'node:assert/strict'
import { type QuotaLimits, Quotas } from '../kernel/quotas.ts'
import { Receipts } from '../kernel/receipts.ts'
import { Invitations } from './invitations/table.ts'
import { Tickets } from './tickets/table.ts'

export interface ForCommands {
  receipts: Receipts
  tickets: Tickets
  quotas: Quotas
  invitations: Invitations
}

export interface ForCommandsOptions {
  retentionMs: number
  seed: number
  limits: QuotaLimits
}

export function forCommands({ retentionMs, seed, limits }: ForCommandsOptions): ForCommands {
  const receipts = new Receipts(retentionMs, seed)
  const [tickets, quotas] = [new Tickets(), new Quotas(limits)]
  return { receipts, tickets, quotas, invitations: new Invitations() }
}

/** Returns the parts of a state that is only read: they accept records and keep nothing (O1). */
export function leftOut(): ForCommands {
  const [tickets, quotas, invitations] = [new Tickets(), new Quotas({}), new Invitations()]
  return {
    receipts: emptied(new Receipts(0, 0), 'receipts', ['add'], ['find']),
    tickets: emptied(tickets, 'tickets', ['issue', 'use'], ['has', 'mayPublish', 'message']),
    quotas: emptied(quotas, 'quotas', ['count'], ['needsClient', 'waitMs']),
    invitations: emptied(
      invitations,
      'invitations',
      ['issue', 'use', 'revoke', 'expire'],
      ['idOf', 'all'],
    ),
  }
}

/** Replaces the methods that write a part, and those that read it (O3). */
function emptied<T extends object>(
  part: T,
  name: string,
  writing: readonly (keyof T)[],
  reading: readonly (keyof T)[],
): T {
  const ignore = () => {}
  const fail = () => assert.fail(`O3: a state that is only read has no ${name}`)
  const ignored = writing.map((method) => [method, ignore])
  const failing = reading.map((method) => [method, fail])
  return Object.assign(part, Object.fromEntries([...ignored, ...failing]))
}
