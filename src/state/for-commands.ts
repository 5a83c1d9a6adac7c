// The parts of a state that only commands read: the receipts of idempotency keys, publishing
// tickets, the windows of rate limits, and invitations.
//
//   for a node, which may lead      Receipts       Tickets       Quotas       Invitations
//   for a reader, which never does  NoReceipts     NoTickets     NoQuotas     NoInvitations
//
// O1. `apply` is the same for both: a part that is left out accepts every record and keeps nothing.
// O2. A part that is left out is not loaded from checkpoints, and a state without it is never saved
//     (saved.ts, V3).
// O3. Commands run only where the parts are present. To read a part that is left out is a bug,
//     which an assertion reports.
//
// Without receipts, a reader takes 6.6 us instead of 8.8 to apply a reply and, with a million keys,
// 46 bytes less to hold it (columns 29, index 17). The other data that only commands read, such as
// the position at which an identity began to follow a thread, are a few columns of tables that
// reads need, and stay.

import assert from 'node:assert/strict'
import { Invitations } from './invitations.ts'
import { type QuotaLimits, Quotas } from './quotas.ts'
import { Receipts } from './receipts.ts'
import { Tickets } from './tickets.ts'

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
  const [tickets, quotas] = [new NoTickets(), new NoQuotas({})]
  return { receipts: new NoReceipts(0, 0), tickets, quotas, invitations: new NoInvitations() }
}

class NoReceipts extends Receipts {
  override add(): void {}

  override find(): never {
    return isLeftOut('receipts')
  }
}

class NoTickets extends Tickets {
  override issue(): void {}
  override use(): void {}

  override has(): never {
    return isLeftOut('tickets')
  }

  override mayPublish(): never {
    return isLeftOut('tickets')
  }

  override message(): never {
    return isLeftOut('tickets')
  }
}

class NoQuotas extends Quotas {
  override count(): void {}

  override needsClient(): never {
    return isLeftOut('quotas')
  }

  override waitMs(): never {
    return isLeftOut('quotas')
  }
}

class NoInvitations extends Invitations {
  override issue(): void {}
  override use(): void {}
  override revoke(): void {}
  override expire(): void {}

  override idOf(): never {
    return isLeftOut('invitations')
  }

  override all(): never {
    return isLeftOut('invitations')
  }
}

function isLeftOut(part: string): never {
  assert.fail(`O3: a state that is only read has no ${part}`)
}
