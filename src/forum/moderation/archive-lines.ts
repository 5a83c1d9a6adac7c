// The acts of operators that are in effect, in an archive (forum/archive.ts).

import * as is from '../../edge/api/schema.ts'
import {
  BadLine,
  identityOf,
  lineKind,
  position,
  refuseOlder,
  threadOf,
  twice,
} from '../archive-line.ts'
import type { State } from '../state.ts'
import { type ActKind, actKinds } from './table.ts'

interface ActFields {
  kind: ActKind
  id: string
  position: number
  at: number
  reason: string
}

export const actLine = lineKind<ActFields>({
  fields: is.object('act', {
    kind: { enum: actKinds },
    id: is.text,
    position,
    at: is.time,
    reason: is.text,
  }),
  *lines({ state }) {
    const { moderation, messages, threads, identities } = state
    const idOf = {
      locked: (subject: number) => threads.id(subject),
      removed: (subject: number) => `msg_${messages.id(subject)}`,
      blocked: (subject: number) => identities.id(subject),
    }
    for (const { kind, subject, position, at, reason } of moderation.page(0, moderation.count)) {
      if (kind === 'removed' && state.isGone(subject)) continue
      yield renderAct({ kind, id: idOf[kind](subject), position, at, reason })
    }
  },
  add(archived, fields) {
    const { state, removed } = archived
    const { kind, position, at, reason } = fields
    refuseOlder(position, archived.newest, state)
    archived.newest = position
    const subject = subjectOf[kind](state, fields, removed)
    state.moderation.add({ kind, subject, position, at, reason })
    return renderAct(fields)
  },
})

function renderAct({ kind, id, position, at, reason }: ActFields): string {
  return `{"act":${JSON.stringify({ kind, id, position, at, reason })}}`
}

/** Carries out an act; returns the number of its subject. */
const subjectOf: Record<
  ActKind,
  (state: State, act: ActFields, removed: Map<string, number>) => number
> = {
  locked(state, { id, position }) {
    const thread = threadOf(state, id)
    const locked = { type: 'locked', position } as const
    if (!state.threads.actors.may(thread, locked)) throw twice(id)
    state.threads.actors.tell(thread, locked)
    return thread
  },
  removed(_, { id }, removed) {
    const message = removed.get(id)
    if (message === undefined) throw new BadLine(`no line has ${id} as a removed message`)
    removed.delete(id)
    return message
  },
  blocked(state, { id }) {
    const identity = identityOf(state, id)
    if (!state.identities.actors.may(identity, { type: 'blocked' })) throw twice(id)
    state.identities.actors.tell(identity, { type: 'blocked' })
    return identity
  },
}
