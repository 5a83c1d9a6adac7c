// What a kind of line of an archive is (archive.ts has all of them), and what their readers share.

import * as is from '../edge/api/schema.ts'
import type { IdTable } from '../kernel/columns/id-table.ts'
import type { State } from './state.ts'

/** The forum whose content is written to an archive, or read from one. */
export interface Archived {
  state: State
  /** Returns the text of an entry, which may be on disk. */
  entry(address: number, bytes: number): string
  /** Whether the digests of tokens are written. */
  hasTokens: boolean
  /** Messages that are read as removed, by id, until the act that removed them is read. */
  removed: Map<string, number>
  /** The position, or the fence, of the line that was read before; 0: it is of another kind. */
  newest: number
  /** The ids of lines that were read, of a kind whose table does not find ids. */
  ids: IdTable
}

/** Why a line is not taken in: a sentence without its end. */
export class BadLine extends Error {}

export interface LineKind {
  /** The schema of the line's fields; there are no others. */
  fields: is.Schema
  /** Yields a line, without its end, for each thing of this kind. */
  lines(archived: Archived): Iterable<string>
  /** Adds what a line says. Returns the line that `lines` has for it now. Throws BadLine. */
  add(archived: Archived, fields: never): string
}

/** Declares a kind of line; the type parameter is the shape of its fields. */
export function lineKind<F>(
  declared: LineKind & { add(archived: Archived, fields: F): string },
): LineKind {
  return declared
}

/** Declares a kind whose things are numbered; `add` returns the number. Some may be gone. */
export function numberedKind<F>(declared: {
  fields: is.Schema
  count(state: State): number
  isGone?(state: State, number: number): boolean
  line(archived: Archived, number: number): string
  add(archived: Archived, fields: F): number
}): LineKind {
  const { fields, count, isGone = () => false, line, add } = declared
  return lineKind<F>({
    fields,
    *lines(archived) {
      const { state } = archived
      const end = count(state)
      for (let number = 0; number < end; number++) {
        if (!isGone(state, number)) yield line(archived, number)
      }
    },
    add: (archived, fields) => line(archived, add(archived, fields)),
  })
}

/** A position that the forum has assigned. */
export const position: is.Schema = { type: 'integer', minimum: 1 }
export const identityIds: is.Schema = { type: 'array', uniqueItems: true, items: is.identityId }

export function hexOf(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}

export function unknown(id: string): BadLine {
  return new BadLine(`no line before has ${id}`)
}

export function twice(id: string): BadLine {
  return new BadLine(`${id} is there twice`)
}

/** Notes the id of a line that is read. Throws BadLine if a line before of its kind has it. */
export function refuseTwice({ ids }: Archived, id: string): void {
  if (ids.find(hexOf(id)) !== -1) throw twice(id)
  ids.add(hexOf(id))
}

/** Returns the number of the identity with this id. Throws BadLine. */
export function identityOf({ identities }: State, id: string): number {
  const identity = identities.findNamed(id)
  if (identity === -1) throw unknown(id)
  return identity
}

export function identitiesOf(state: State, ids: readonly string[]): number[] {
  return ids.map((id) => identityOf(state, id))
}

/** Returns the number of the thread with this id. Throws BadLine. */
export function threadOf({ threads }: State, id: string): number {
  const thread = threads.find(hexOf(id))
  if (thread === -1) throw unknown(id)
  return thread
}

/** Returns the last position in a column that grows, or 0 if it is empty. */
export function newestIn(positions: { readonly length: number; get(row: number): number }): number {
  return positions.length === 0 ? 0 : positions.get(positions.length - 1)
}

/** Throws BadLine unless the position is greater than that of the line before. */
export function refuseOlder(seq: number, newest: number, state: State): void {
  if (seq <= newest) throw new BadLine('its position is not greater than that of the line before')
  refuseBeyond(seq, state)
}

export function refuseBeyond(position: number, state: State): void {
  if (position > state.position) throw new BadLine('a position is beyond that of the first line')
}
