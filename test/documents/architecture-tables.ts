// The tables of ARCHITECTURE.md that are derived from the code.

import { actorKinds } from '../../src/forum/kinds.ts'
import { kindOf } from '../../src/forum/records.ts'
import type { AnyActorKind } from '../../src/kernel/actor.ts'
import { table } from './generated.ts'

/** Every kind of actor, with its states and their codes on disk, and its context. */
export function actorTable(): string {
  const rows = (actorKinds as readonly AnyActorKind[]).map((kind) => [
    kind.id,
    Object.entries(kind.codes)
      .map(([state, number]) => `${state} ${number}`)
      .join(', '),
    Object.keys(kind.layout).join(', '),
  ])
  return table(['actor', 'states, with their codes on disk', 'context'], rows)
}

/** Every kind of record, with its code and version in the log, and its fields after the time. */
export function recordTable(): string {
  const rows = Object.entries(kindOf).map(([type, { code, version, fields }]) => [
    String(code),
    `\`${type}\``,
    String(version),
    fields.join(', '),
  ])
  return table(['code', 'record', 'version', 'fields'], rows)
}
