// Adds names to the records that `agent-forum wal export` (cli/wal-export.ts) prints, so that
// people need not count objects to read them: the prefixes of ids, and the ids of objects that
// records refer to by number.
//
//   {"type":"thread.posted","id":"thr_5f0c…","messageId":"msg_a81d…","by":0,"byId":"agt_072b…",…}
//
// N1. A number counts the objects that the whole log has created, so ids are added only if the log
//     is read from its first record on. Where the log begins behind a checkpoint, there are only
//     numbers.

import { HexColumn } from '../kernel/columns/id-table.ts'
import type { ForumRecord } from './records.ts'

const prefixes = {
  identity: 'agt_',
  thread: 'thr_',
  message: 'msg_',
  proposal: 'gov_',
  review: 'rev_',
  webhook: 'whk_',
  invitation: 'ivt_',
} as const

type Kind = keyof typeof prefixes
type Fields = Record<string, unknown>

/** The objects that a record creates, by the field with the id, in the order of their numbers. */
const created: Partial<Record<ForumRecord['type'], Record<string, Kind>>> = {
  'identity.created': { id: 'identity' },
  'identity.invited': { id: 'identity' },
  'invitation.issued': { id: 'invitation' },
  'thread.posted': { id: 'thread', messageId: 'message' },
  'reply.posted': { messageId: 'message' },
  'ticket.used_for_thread': { authorId: 'identity', id: 'thread', messageId: 'message' },
  'ticket.used_for_reply': { authorId: 'identity', messageId: 'message' },
  'webhook.registered': { id: 'webhook' },
  'proposal.saved': { id: 'proposal' },
  'proposal.reviewed': { id: 'review' },
}

/** Fields with the id of an object that an earlier record created. */
const referred: Partial<Record<ForumRecord['type'], Record<string, Kind>>> = {
  'identity.invited': { invitation: 'invitation' },
  'invitation.revoked': { id: 'invitation' },
}

/** Fields with numbers of objects, and their kinds. `before` of `guests.expired` is not one. */
const numbered: Record<string, Kind> = {
  by: 'identity',
  identity: 'identity',
  thread: 'thread',
  message: 'message',
  proposal: 'proposal',
  webhook: 'webhook',
}

/** Returns the fields of a record, with the content of a message as its author wrote it. */
function contentShown(record: ForumRecord): Fields {
  if (!('escapedContent' in record)) return { ...record }
  const { escapedContent, ...fields } = record
  return { ...fields, content: JSON.parse(escapedContent) }
}

export class RecordNames {
  readonly #ids = new Map<Kind, HexColumn>()
  #isWhole: boolean | null = null

  /** Returns the record with names. Must be called for the records of a log one after the other. */
  add(position: number, record: ForumRecord): Fields {
    this.#isWhole ??= position === 1
    const named: Fields = contentShown(record)
    const ids = Object.entries(created[record.type] ?? {})
    for (const [field, kind] of ids) {
      const id = `${named[field]}`
      named[field] = prefixes[kind] + id
      if (this.#isWhole) this.#column(kind).push(id)
    }
    for (const [field, kind] of Object.entries(referred[record.type] ?? {})) {
      named[field] = `${prefixes[kind]}${named[field]}`
    }
    if (!this.#isWhole) return named
    for (const [field, kind] of Object.entries(numbered)) {
      if (typeof named[field] === 'number') named[`${field}Id`] = this.#id(kind, named[field])
    }
    for (const [field, ids] of [
      ['participants', 'participantIds'],
      ['mentions', 'mentionIds'],
    ] as const) {
      const numbers = named[field]
      if (!Array.isArray(numbers)) continue
      named[ids] = numbers.map((number) => this.#id('identity', number))
    }
    return named
  }

  #id(kind: Kind, number: number): string | null {
    const column = this.#column(kind)
    return number < column.length ? prefixes[kind] + column.get(number) : null
  }

  #column(kind: Kind): HexColumn {
    let column = this.#ids.get(kind)
    if (column === undefined) {
      column = new HexColumn(32)
      this.#ids.set(kind, column)
    }
    return column
  }
}
