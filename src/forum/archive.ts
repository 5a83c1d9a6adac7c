// An archive: the file that `agent-forum export` writes and `agent-forum import` reads. One line of
// JSON for each thing that the forum holds, as the interface shows it, with the fields that its
// place in an answer implies there:
//
//   {"archive":{"format":1,"position":2068}}
//   {"identity":{"id":"agt_…","kind":"guest",…}}
//   …
//   {"message":{"thread_id":"thr_…","seq":17,"id":"msg_…","author_id":"agt_…",…}}
//   …
//   {"end":{"lines":512,"sha256":"…"}}       the number of lines before it, and their digest
//
// A1. The kinds follow each other in the order of `lineKinds`, and the lines of a kind in the order
//     in which the forum numbers them. So a line names only what a line before it has brought.
// A2. A line is taken in only if the forum that holds it now would write the same bytes. Hence what
//     is exported, imported and exported again is the same file, and a field that a kind does not
//     take in is refused instead of lost.
// A3. Ids, positions and times are those of the file. The log of the imported forum begins after
//     the `position` of the first line, so that every cursor keeps its meaning. Positions without
//     a line belong to records that have no effect any more, or that are not in an archive.
// A4. A file without its last line, or with other bytes than were written, is refused whole.
//
// Not in an archive, because they concern one node or a short time: receipts of idempotency keys,
// webhooks, tickets, invitations, the counts of rate limits, replaced tokens in their grace period.
// The epoch is not in it either: an import begins another one.
//
// Neighbours: archive-line.ts says what a kind is; slices have theirs in `archive-lines.ts`;
// docs/operating.md, "Export and import".

import { createHash } from 'node:crypto'
import { validator } from '../edge/api/validator.ts'
import { IdTable } from '../kernel/columns/id-table.ts'
import { type Archived, BadLine, type LineKind } from './archive-line.ts'
import { claimLine } from './claims/archive-lines.ts'
import { readLine, subscriptionLine, tagSubscriptionLine } from './feed/archive-lines.ts'
import { proposalLine, reviewLine } from './governance/archive-lines.ts'
import { identityLine } from './identities/archive-lines.ts'
import { actLine } from './moderation/archive-lines.ts'
import type { State } from './state.ts'
import { messageLine, threadLine } from './threads/archive-lines.ts'

/** All kinds of lines, in the order in which they follow each other (A1). */
export const lineKinds: Readonly<Record<string, LineKind>> = {
  identity: identityLine,
  thread: threadLine,
  message: messageLine,
  subscription: subscriptionLine,
  tag_subscription: tagSubscriptionLine,
  read: readLine,
  proposal: proposalLine,
  review: reviewLine,
  act: actLine,
  claim: claimLine,
}

/** Raised when older programs could no longer read what is written. */
const format = 1

/** Writes the lines of an archive, and their frame. */
export class ArchiveWriter {
  /** The number of lines so far. */
  lines = 0
  readonly #write: (text: string) => void
  readonly #hash = createHash('sha256')

  /** `position` is that of the forum's newest record. */
  constructor(position: number, write: (text: string) => void) {
    this.#write = write
    this.add(`{"archive":{"format":${format},"position":${position}}}`)
  }

  add(line: string): void {
    this.lines += 1
    this.#hash.update(`${line}\n`)
    this.#write(`${line}\n`)
  }

  end(): void {
    const sha256 = this.#hash.digest('hex')
    this.#write(`${JSON.stringify({ end: { lines: this.lines, sha256 } })}\n`)
  }
}

/** Yields all lines between the first and the last one. */
export function* linesOf(written: Omit<Archived, 'removed' | 'newest' | 'ids'>): Iterable<string> {
  const archived = { ...written, removed: new Map(), newest: 0, ids: new IdTable() }
  for (const { lines } of Object.values(lineKinds)) yield* lines(archived)
}

/** Why a file is refused: it is no archive, one of a newer program, damaged, or contradictory. */
export class BadArchive extends Error {
  readonly why: 'foreign' | 'newer' | 'damaged' | 'contradictory'

  constructor(why: BadArchive['why'], sentence: string) {
    super(sentence)
    this.why = why
  }
}

/** Half of the fences that there can be. No log has had as many claims. */
const fenceMax = 2 ** 31
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads an archive into an empty state, line by line. The state must be thrown away unless `end`
 * returns: before the last line, nobody knows whether the file is whole.
 */
export class ArchiveReader {
  readonly #archived: Archived
  readonly #hash = createHash('sha256')
  readonly #validators = new Map<string, ReturnType<typeof validator>>()
  #lines = 0
  /** The kind of the newest line, as an index in `lineKinds`. */
  #kind = 0
  #hasEnded = false
  /** Why the first line that cannot be taken in is refused; the file may be damaged, though. */
  #bad: string | null = null

  constructor(state: State) {
    const entry = (address: number, bytes: number) => state.text.text(address, 0, bytes)
    const read = { removed: new Map(), newest: 0, ids: new IdTable() }
    this.#archived = { state, entry, hasTokens: true, ...read }
    for (const [name, { fields }] of Object.entries(lineKinds)) {
      this.#validators.set(name, validator({ ...fields, additionalProperties: false }))
    }
  }

  /** Takes in a line, without its end. Throws BadArchive. */
  add(line: Uint8Array): void {
    if (this.#hasEnded) throw new BadArchive('damaged', 'something follows its last line')
    this.#lines += 1
    const text = decoded(line)
    if (this.#lines === 1) this.#begin(text)
    else if (text?.startsWith('{"end":')) return this.#end(text)
    else if (this.#bad === null) this.#take(text)
    this.#hash.update(line).update('\n')
  }

  /** Throws BadArchive unless the whole archive has been taken in. */
  end(): void {
    if (this.#lines === 0) throw new BadArchive('foreign', 'it is empty')
    if (!this.#hasEnded) throw new BadArchive('damaged', 'it has no last line')
    if (this.#bad !== null) throw new BadArchive('contradictory', this.#bad)
    const { state, removed } = this.#archived
    for (let thread = 0; thread < state.threads.count; thread++) {
      if (state.threads.messageCount(thread) > 0) continue
      throw new BadArchive('contradictory', `${state.threads.id(thread)} has no messages`)
    }
    for (const id of removed.keys()) {
      throw new BadArchive('contradictory', `no act has removed ${id}`)
    }
  }

  #begin(text: string | null): void {
    const [name, fields] = parsed(text)
    const { format: version, position } = fields as Record<string, unknown>
    if (name !== 'archive' || !Number.isSafeInteger(version)) {
      throw new BadArchive('foreign', 'its first line is not that of an archive')
    }
    if (version !== format) {
      throw new BadArchive('newer', `its format is ${version}, and this program knows ${format}`)
    }
    if (Number.isSafeInteger(position) && (position as number) >= 0) {
      const { state } = this.#archived
      state.position = position as number
      state.claims.skipFences(Math.min(state.position, fenceMax))
    } else {
      this.#bad = 'line 1: position must be a whole number'
    }
  }

  #take(text: string | null): void {
    try {
      const [name, fields] = parsed(text)
      const kind = Object.keys(lineKinds).indexOf(name)
      if (kind === -1) throw new BadLine('it is of no known kind')
      if (kind < this.#kind) throw new BadLine(`it belongs before the lines of another kind`)
      if (kind > this.#kind) Object.assign(this.#archived, { newest: 0, ids: new IdTable() })
      this.#kind = kind
      const violation = this.#validators.get(name)!(fields)
      if (violation !== null) throw new BadLine(violation.detail.replace(/\.$/, ''))
      const { state } = this.#archived
      const again = lineKinds[name].add(this.#archived, fields as never)
      if (again !== text) throw new BadLine(`an export would write ${again}`)
      const { created_at, at } = fields as { created_at?: number; at?: number }
      state.now = Math.max(state.now, created_at ?? at ?? 0)
    } catch (error) {
      if (!(error instanceof BadLine)) throw error
      this.#bad = `line ${this.#lines}: ${error.message}`
    }
  }

  #end(text: string): void {
    const sha256 = this.#hash.digest('hex')
    if (text !== JSON.stringify({ end: { lines: this.#lines - 1, sha256 } })) {
      throw new BadArchive('damaged', 'it is not as it was written')
    }
    this.#hasEnded = true
  }
}

function decoded(line: Uint8Array): string | null {
  try {
    return utf8.decode(line)
  } catch {
    return null
  }
}

/** Returns the name and the fields of a line, or '' and no fields if it has another form. */
function parsed(text: string | null): [name: string, fields: object] {
  let value: unknown
  try {
    value = JSON.parse(text ?? '')
  } catch {
    return ['', {}]
  }
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const [[name, fields] = ['', null]] = entries
  const isLine = entries.length === 1 && typeof fields === 'object' && fields !== null
  return isLine ? [name, fields as object] : ['', {}]
}
