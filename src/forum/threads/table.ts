// Threads: ids, titles, visibility, their messages, and their actors (forum/threads/machine.ts).
//
// A thread's *entry* is rendered once, up to the only number in it that changes:
//
//   {"id":"thr_…","author_id":"agt_…","title":"…","visibility":"public","created_at":…,
//    "display_name":"…","message_count":                                  then `12}` at each read,
//                               or `12,"locked":true,"claim":{"holder_id":…},"tags":["bug"],
//                                                      "expires_at":…}`,
//                                                      in the list by activity with more before `}`
//
// E1. A thread that has expired is not found by its id. Its row stays, with its position and
//     without its entry: messages, receipts and lists name threads by their numbers.

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { ActorTable } from '../../kernel/actor-table.ts'
import { Addresses } from '../../kernel/addresses.ts'
import { Uint16Column, Uint32Column } from '../../kernel/columns/column.ts'
import { IdTable, idHexLength } from '../../kernel/columns/id-table.ts'
import { Lists } from '../../kernel/columns/lists.ts'
import type { Saved } from '../../kernel/saved.ts'
import { eraseEntry } from '../../kernel/text/erasing.ts'
import type { Page } from '../../kernel/text/page.ts'
import type { Text } from '../../kernel/text/text.ts'
import { type Tags, tagsBytesMax } from '../tags/table.ts'
import { thread, type Visibility, visibilities } from './machine.ts'

const publicCode = visibilities.indexOf('public')
/** The event for `may`, whose result does not depend on the position. */
const replied = { type: 'replied', position: 0 } as const
const { locked: lockedCode, expired: expiredCode } = thread.codes
const anyHex = '0'.repeat(idHexLength)
/** The length of an entry before its title, which is the same in all entries. */
const titleStart = beforeTitle(anyHex, `agt_${anyHex}`).length
/** Follows the title. It cannot occur in a title, where quotation marks are escaped. */
const titleEnd = ',"visibility":"'
const lockedMark = ',"locked":true'
const expiresMark = ',"expires_at":'
/** Longer than the claim of any thread. */
const longestClaim = { holder_id: `agt_${anyHex}`, expires_at: 2 ** 53, fence: 2 ** 53 }
/** The maximum number of bytes that follow an entry: numbers, marks, a brace and a comma. */
const tailBytesMax =
  40 + lockedMark.length + claimMark(longestClaim).length + tagsBytesMax + expiresMark.length

/** A claim, as the thread shows it while it is held. */
export interface ShownClaim {
  holder_id: string
  /** Milliseconds since the epoch. */
  expires_at: number
  fence: number
}

/** What a thread has besides its entry. */
interface ThreadFields {
  visibility: Visibility
  participants: readonly number[]
  tags: readonly string[]
}

/** Returns the time at which a thread expires if it has no newer message; null: it has no end. */
type EndOf = (thread: number) => number | null

export class Threads {
  readonly #text: Text
  readonly #claimOf: (thread: number) => ShownClaim | null
  readonly #endOf: EndOf
  readonly #tags: Tags
  readonly #ids = new IdTable()
  readonly #entries = new Addresses()
  readonly #entryBytes = new Uint16Column()
  readonly #messages = new Lists()
  /** The identities named at creation, in the order of the request. */
  readonly #participants = new Lists()
  readonly #public = new Uint32Column()
  /** The index in `#public` before which all threads have expired. */
  #publicBegin = 0
  /** The number of threads that have expired, since this process has the state. */
  expired = 0
  readonly actors = new ActorTable(thread)

  constructor(
    text: Text,
    tags: Tags,
    claimOf: (thread: number) => ShownClaim | null = () => null,
    endOf: EndOf = () => null,
  ) {
    this.#text = text
    this.#tags = tags
    this.#claimOf = claimOf
    this.#endOf = endOf
  }

  get count(): number {
    return this.#ids.count
  }

  get stores(): Record<string, PagedStore> {
    return { entries: this.#entries.low, entryBytes: this.#entryBytes, public: this.#public }
  }

  get parts(): Record<string, Saved> {
    const participants = this.#participants
    const [ids, messages, entries] = [this.#ids, this.#messages, this.#entries]
    return { ids, messages, participants, actors: this.actors, entries }
  }

  restore(): void {
    this.#skipExpired()
  }

  /** Numbers of the public threads, oldest first; those between them that have expired as well. */
  get public(): { readonly length: number; get(index: number): number } {
    const begin = this.#publicBegin
    if (begin === 0) return this.#public
    const length = this.#public.length - begin
    return { length, get: (index) => this.#public.get(begin + index) }
  }

  /** Adds a thread and returns its number. `id` is in hex; `renderEntry` has rendered `entry`. */
  add(id: string, entry: string, { visibility, participants, tags }: ThreadFields): number {
    this.#tags.add(tags, visibility === 'public')
    this.#entries.push(this.#text.append(entry))
    this.#entryBytes.push(this.#text.written)
    this.#messages.add()
    const list = this.#participants.add()
    for (const participant of participants) this.#participants.push(list, participant)
    if (visibility === 'public') this.#public.push(this.count)
    this.actors.add()
    return this.#ids.add(id)
  }

  addMessage(thread: number, message: number): void {
    this.#messages.push(thread, message)
  }

  /** Ends the thread; `forgetMessage` removes its messages and its entry afterwards. */
  expire(thread: number, position: number): void {
    this.actors.tell(thread, { type: 'expired', position })
    this.#participants.clear(thread)
    this.#skipExpired()
    this.expired += 1
  }

  /**
   * Removes the newest message of a thread that has expired, and returns its number. After the last
   * one, it erases the thread's entry.
   */
  forgetMessage(thread: number): number {
    const index = this.messageCount(thread) - 1
    const message = this.message(thread, index)
    if (index > 0) {
      this.#messages.removeAt(thread, index)
      return message
    }
    this.#messages.clear(thread)
    eraseEntry(this.#text, this.#entries.get(thread), this.#entryBytes.get(thread))
    this.#entryBytes.set(thread, 0)
    return message
  }

  isExpired(thread: number): boolean {
    return this.actors.states.get(thread) === expiredCode
  }

  #skipExpired(): void {
    while (
      this.#publicBegin < this.#public.length &&
      this.isExpired(this.#public.get(this.#publicBegin))
    ) {
      this.#publicBegin += 1
    }
  }

  /** Returns the number of the thread with this id (in hex, beginning at `from`), or -1 (E1). */
  find(id: string, from = 0): number {
    const thread = this.#ids.find(id, from)
    return thread !== -1 && this.isExpired(thread) ? -1 : thread
  }

  /** Returns the place of the thread's entry in the text. */
  entry(thread: number): { address: number; bytes: number } {
    return { address: this.#entries.get(thread), bytes: this.#entryBytes.get(thread) }
  }

  /** Returns the thread's id without the prefix. */
  hex(thread: number): string {
    return this.#ids.hex(thread)
  }

  id(thread: number): string {
    return `thr_${this.#ids.hex(thread)}`
  }

  isPublic(thread: number): boolean {
    return this.actors.columns.visibility.get(thread) === publicCode
  }

  mayReply(thread: number): boolean {
    return this.actors.may(thread, replied)
  }

  isLocked(thread: number): boolean {
    return this.actors.states.get(thread) === lockedCode
  }

  isParticipant(thread: number, identity: number): boolean {
    return this.#participants.includes(thread, identity)
  }

  /** Returns the identities that were named at creation. */
  participants(thread: number): number[] {
    const length = this.#participants.length(thread)
    return Array.from({ length }, (_, i) => this.#participants.get(thread, i))
  }

  /** Returns whether exactly these participants were named at creation, in this order. */
  hasParticipants(thread: number, participants: readonly number[]): boolean {
    return (
      this.#participants.length(thread) === participants.length &&
      participants.every((identity, i) => this.#participants.get(thread, i) === identity)
    )
  }

  messageCount(thread: number): number {
    return this.#messages.length(thread)
  }

  /** Returns the number of the thread's `index`-th message. */
  message(thread: number, index: number): number {
    return this.#messages.get(thread, index)
  }

  /** Returns the number of the thread's newest message; -1: it has expired. */
  newestMessage(thread: number): number {
    if (this.isExpired(thread)) return -1
    return this.#messages.get(thread, this.#messages.length(thread) - 1)
  }

  /** Copies the numbers of the messages with index `first` … `end` - 1 to the start of `into`. */
  copyMessages(thread: number, first: number, end: number, into: Uint32Array): void {
    this.#messages.copy(thread, first, end, into)
  }

  /** Returns whether the thread was created with this rendered entry. */
  hasEntry(thread: number, entry: string): boolean {
    return this.#text.text(this.#entries.get(thread), 0, this.#entryBytes.get(thread)) === entry
  }

  /** Returns the entry's address. Entries in the same slab are cheap to assemble on one page. */
  address(thread: number): number {
    return this.#entries.get(thread)
  }

  /** Returns the maximum number of bytes that `write` adds. */
  bytes(thread: number): number {
    return this.#entryBytes.get(thread) + tailBytesMax
  }

  /** Adds the thread's JSON to a page, with a comma before all but the first. */
  write(page: Page, thread: number, isFirst: boolean): void {
    this.writeOpen(page, thread, isFirst)
    page.text('}')
  }

  /** Does the same without the closing brace, so that further fields may follow. */
  writeOpen(page: Page, thread: number, isFirst: boolean): void {
    if (!isFirst) page.text(',')
    page.entry(this.#entries.get(thread), 0, this.#entryBytes.get(thread))
    const mark = this.isLocked(thread) ? lockedMark : ''
    const { messageCount, ttlSeconds } = this.actors.columns
    const count = messageCount.get(thread)
    const expires = ttlSeconds.get(thread) === 0 ? '' : `${expiresMark}${this.#endOf(thread)}`
    const claim = claimMark(this.#claimOf(thread))
    page.text(`${count}${mark}${claim}${this.#tags.json(thread)}${expires}`)
  }

  /** Adds the thread's title to a page: `"title":"…"`. */
  writeTitle(page: Page, thread: number): void {
    const [address, bytes] = [this.#entries.get(thread), this.#entryBytes.get(thread)]
    const rest = this.#text.text(address, titleStart, bytes)
    const title = rest.slice(0, rest.indexOf(titleEnd)) // '' if the entry has yet to be read
    page.entry(address, titleStart, titleStart + Buffer.byteLength(title))
  }
}

/**
 * The fields of a thread's entry. `id` is in hex; `author` and `nameJson` as in
 * forum/identities/table.ts.
 */
export interface ThreadEntry {
  id: string
  author: string
  nameJson: string
  title: string
  visibility: Visibility
  at: number
}

export function renderEntry({ id, author, nameJson, title, visibility, at }: ThreadEntry): string {
  return (
    `${beforeTitle(id, author)}"title":${JSON.stringify(title)}${titleEnd}${visibility}",` +
    `"created_at":${at},"display_name":${nameJson},"message_count":`
  )
}

function claimMark(claim: ShownClaim | null): string {
  return claim === null ? '' : `,"claim":${JSON.stringify(claim)}`
}

function beforeTitle(id: string, author: string): string {
  return `{"id":"thr_${id}","author_id":"${author}",`
}
