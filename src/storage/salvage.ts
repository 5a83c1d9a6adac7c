// Salvages the state for `wal repair` when pages of a checkpoint are damaged beyond parity and the
// log before it is gone. The result is the newest checkpoint without the contents of those pages,
// healed (state/salvage.ts), and the log after it.

import { type Manifest, unpackFacts } from '../../wal/checkpoint/manifest.ts'
import { fillDamaged, replaceCheckpoint } from '../../wal/checkpoint/salvage.ts'
import { realDisk } from '../../wal/disk.ts'
import { JournalError } from '../../wal/errors.ts'
import type { CheckedCheckpoint } from '../../wal/tools/checkpoint-check.ts'
import {
  BeyondRepair,
  factsWithoutLost,
  type Losses,
  refuseBeyondRepair,
  repairEntries,
} from '../state/salvage.ts'
import { checkpointSource, checkpointTarget, formVersion } from '../state/saved.ts'
import { State } from '../state/state.ts'

const disk = realDisk

export interface Salvage {
  /** The damaged checkpoint. */
  manifest: Manifest
  state: State
  facts: Record<string, unknown>
  losses: Losses
}

/**
 * Reads the newest checkpoint from which something can be salvaged, and heals it in memory.
 * Resolves to null if there is none. Rejects with JournalError 77 when the damage cannot be healed.
 */
export async function salvage(
  dir: string,
  checked: readonly CheckedCheckpoint[],
): Promise<Salvage | null> {
  const manifest = checked.find(({ damaged }) => damaged !== null)?.damaged
  if (manifest?.form !== formVersion) return null // only a start converts older forms
  const state = new State({ retentionMs: 0, seed: 0 })
  const target = checkpointTarget(state)
  const lost = await fillDamaged({ disk, dir }, manifest, target)
  try {
    refuseBeyondRepair(lost)
  } catch (error) {
    if (!(error instanceof BeyondRepair)) throw error
    const { message } = error
    throw new JournalError(77, `${dir} cannot be repaired: ${message}; start from a backup`)
  }
  const saved = unpackFacts(manifest.facts) as Record<string, unknown>
  const { facts, keys } = factsWithoutLost(saved, lost)
  await target.restore(facts)
  return { manifest, state, facts, losses: { ...repairEntries(state, lost), keys } }
}

/** Replaces all checkpoints of the directory with the healed one. */
export async function writeSalvage(dir: string, { manifest, state, facts }: Salvage) {
  const { stores, rows } = checkpointSource(state)
  // The facts are written as they were read, because this state has no quotas or tickets.
  const saved = { stores, rows, facts: () => facts, form: formVersion }
  await replaceCheckpoint({ disk, dir }, manifest, saved)
}

/** Describes the losses in sentences; `lost.txt` in the copy names each item. */
export function describeLosses({ keys, ...lost }: Losses): string[] {
  const what: Record<keyof typeof lost, string> = {
    messages: 'the text of messages',
    threads: 'the title of threads',
    names: 'the display name of identities',
    proposals: 'the text of proposals',
    reviews: 'the text of reviews',
  }
  const lines = Object.entries(lost).flatMap(([kind, ids]) =>
    ids.length === 0 ? [] : [`lost: ${what[kind as keyof typeof lost]}: ${abbreviated(ids)}`],
  )
  if (keys > 0)
    lines.push(`lost: ${keys} idempotency keys: a retry with one of them publishes again`)
  return lines.length === 0 ? ['lost: nothing'] : lines
}

/** Lists all ids, one per line. */
export function listLosses({ keys: _, ...lost }: Losses): string {
  return `${Object.values(lost).flat().join('\n')}\n`
}

const shownMax = 5

function abbreviated(ids: readonly string[]): string {
  const more = ids.length - shownMax
  return ids.slice(0, shownMax).join(', ') + (more > 0 ? ` and ${more} more, see lost.txt` : '')
}
