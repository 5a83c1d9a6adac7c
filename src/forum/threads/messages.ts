// Messages: rendered JSON in the text, and a row of numbers for each.
//
//   text    ,{"seq":17,"id":"msg_…","author_id":"agt_…","display_name":"…","kind":"guest",
//           "content":"…","created_at":…}                 an erased one: …,"removed":true}
//                              one with mentions: …,"mention_ids":["agt_…",…]}
//                                  one of a type: …,"type":"question"}
//   row     seq, id, author, thread, address, bytes, time, type
//
// M1. Message numbers, seqs and times grow together: comparing numbers compares ages.
// M2. Every reader gets the rendered bytes; no message is rendered or parsed a second time, unless
//     the caller has its content cut (cut-content.ts).
// M3. A feed item and the answer to a write are rendered from the row, without reading any text.

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { excerptCharactersMax } from '../../base/text.ts'
import { Addresses } from '../../kernel/addresses.ts'
import { Float64Column, Uint16Column, Uint32Column } from '../../kernel/columns/column.ts'
import { HexColumn, idHexLength } from '../../kernel/columns/id-table.ts'
import { NameTable } from '../../kernel/columns/name-table.ts'
import type { Saved } from '../../kernel/saved.ts'
import { eraseEntry, holdEntry } from '../../kernel/text/erasing.ts'
import type { Page } from '../../kernel/text/page.ts'
import type { Text } from '../../kernel/text/text.ts'
import { authorIdLength } from '../identities/table.ts'
import { CutMessages } from './cut-content.ts'

/** The length of an entry before the author's signature, without the digits of its seq. */
const headLength = beforeSignature('', '0'.repeat(idHexLength)).length
const idPattern = /^msg_[0-9a-f]{32}$/
const contentMark = ',"content":'
/** The maximum number of bytes of an excerpt: in JSON an escaped code point has six. */
const excerptBytesMax = 6 * excerptCharactersMax
/** An excerpt at the beginning of the content's JSON, after the quotation mark. */
const excerptPattern = new RegExp(
  String.raw`^(?:\\u.{4}|\\.|[^"\\]){0,${excerptCharactersMax}}`,
  'u',
)
const erasedJson = '"[removed]"'
/** The end of an erased message's entry. No other entry ends with it. */
const erasedEnd = ',"removed":true}'

/** What its author says in a message. All of it is in the entry, and never changes. */
export interface MessageContent extends Labels {
  content: string
}

interface Labels {
  /** Ids (`agt_…`) of the identities that it mentions, in the order of the request, if any. */
  mentionIds?: readonly string[]
  /** What kind of message it is, in the words of its author. */
  type?: string | undefined
}

export interface MessageEntry extends Labels {
  /** The content as a string in JSON, with its quotation marks. */
  escapedContent: string
  /** In hex. */
  id: string
  seq: number
  author: number
  /** The author's signature; see forum/identities/table.ts. */
  signature: string
  thread: number
  at: number
}

export class Messages {
  readonly #text: Text
  readonly #addresses = new Addresses()
  readonly #ids = new HexColumn(idHexLength)
  readonly #bytes = new Uint16Column()
  readonly #seqs = new Float64Column()
  readonly #authors = new Uint32Column()
  readonly #threads = new Uint32Column()
  readonly #times = new Float64Column()
  readonly #typeNames = new NameTable()
  /** The number of each message's type, plus one; 0: it has none, or is erased. */
  readonly #types = new Uint32Column()

  constructor(text: Text) {
    this.#text = text
  }

  get count(): number {
    return this.#seqs.length
  }

  get stores(): Record<string, PagedStore> {
    return {
      addresses: this.#addresses.low,
      ids: this.#ids.words,
      bytes: this.#bytes,
      seqs: this.#seqs,
      authors: this.#authors,
      threads: this.#threads,
      times: this.#times,
      types: this.#types,
    }
  }

  get parts(): Record<string, Saved> {
    return { addresses: this.#addresses, typeNames: this.#typeNames }
  }

  /** Renders and adds a message; returns its number. */
  add(message: MessageEntry): number {
    const { seq, id, author, thread, type, at } = message
    const body = renderBody(message.escapedContent, at, message)
    this.#addresses.push(this.#text.append(render(message, body)))
    this.#bytes.push(this.#text.written)
    this.#ids.push(id)
    this.#authors.push(author)
    this.#threads.push(thread)
    this.#times.push(at)
    this.#types.push(type === undefined ? 0 : this.#typeNames.add(type) + 1)
    return this.#seqs.push(seq)
  }

  /** Reads the entry into memory, so that it can be erased. Returns false if it is damaged. */
  hold(message: number): boolean {
    return holdEntry(this.#text, this.address(message), this.bytes(message))
  }

  /** Replaces the entry with a tombstone, and overwrites the old bytes. */
  erase(message: number, signature: string): void {
    const [address, bytes] = [this.address(message), this.bytes(message)]
    const [id, seq, at] = [this.id(message), this.seq(message), this.createdAt(message)]
    const tombstone = render({ id, seq, signature }, renderContent(erasedJson, at) + erasedEnd)
    this.#addresses.set(message, this.#text.append(tombstone))
    this.#bytes.set(message, this.#text.written)
    this.#types.set(message, 0)
    eraseEntry(this.#text, address, bytes)
  }

  /** Erases the entry of a message whose thread has expired; it has no bytes from now on. */
  forget(message: number): void {
    eraseEntry(this.#text, this.address(message), this.bytes(message))
    this.#bytes.set(message, 0)
    this.#types.set(message, 0)
  }

  isForgotten(message: number): boolean {
    return this.bytes(message) === 0
  }

  isErased(message: number): boolean {
    const end = this.bytes(message)
    return this.#text.text(this.address(message), end - erasedEnd.length, end) === erasedEnd
  }

  /**
   * Searches the messages from `from` up to, but not including, `to` for the one with this id,
   * `msg_…`. Returns its number or -1. Examines the messages one by one.
   */
  find(id: string, from: number, to: number): number {
    return idPattern.test(id) ? this.#ids.find(id.slice('msg_'.length), from, to) : -1
  }

  /** Returns the message's id without the prefix. */
  id(message: number): string {
    return this.#ids.get(message)
  }

  seq(message: number): number {
    return this.#seqs.get(message)
  }

  author(message: number): number {
    return this.#authors.get(message)
  }

  thread(message: number): number {
    return this.#threads.get(message)
  }

  createdAt(message: number): number {
    return this.#times.get(message)
  }

  address(message: number): number {
    return this.#addresses.get(message)
  }

  /**
   * Returns a function that says whether a message is of this type; without a type, every message
   * is. It is valid until the next message is added.
   */
  ofType(type: string | undefined): (message: number) => boolean {
    if (type === undefined) return () => true
    const number = this.#typeNames.find(type) + 1
    return (message) => number !== 0 && this.#types.get(message) === number
  }

  /** Returns the length in bytes of the message's JSON, including the comma before it. */
  bytes(message: number): number {
    return this.#bytes.get(message)
  }

  /**
   * Returns whether the message has exactly this content, with its mentions in this order. Also
   * returns true if the message is erased, because its content is then unknown.
   */
  isSame(message: number, signature: string, content: MessageContent): boolean {
    const from = this.#signatureStart(message) + Buffer.byteLength(signature)
    const escapedContent = JSON.stringify(content.content)
    const expected = renderBody(escapedContent, this.createdAt(message), content)
    const to = this.bytes(message)
    const isAsLong = to - from === Buffer.byteLength(expected)
    if (isAsLong && this.#text.text(this.address(message), from, to) === expected) return true
    return this.isErased(message)
  }

  /** Returns entries with at most this many code points of each content. */
  cutTo(charactersMax: number): CutMessages {
    return new CutMessages(this, charactersMax)
  }

  /** Adds the message's JSON to a page, with a comma before all but the first. */
  write(page: Page, message: number, isFirst: boolean): void {
    page.entry(this.#addresses.get(message), isFirst ? 1 : 0, this.#bytes.get(message))
  }

  /** Adds the part of the message's JSON that begins with the author's name to a page. */
  writeContent(page: Page, message: number): void {
    page.entry(this.#addresses.get(message), this.#nameStart(message), this.#bytes.get(message))
  }

  /** Returns the message's JSON, or '' if part of it has yet to be read. */
  json(message: number): string {
    return this.#text.text(this.address(message), 1, this.bytes(message))
  }

  /** Returns what `writeContent` adds, or '' if part of it has yet to be read. */
  contentJson(message: number): string {
    return this.#text.text(this.address(message), this.#nameStart(message), this.bytes(message))
  }

  /**
   * Adds the first code points of the content to a page, as the inside of a JSON string.
   * `signature` is that of the author.
   */
  writeExcerpt(page: Page, message: number, signature: string): void {
    const address = this.address(message)
    const signatureEnd = this.#signatureStart(message) + Buffer.byteLength(signature)
    const from = signatureEnd + contentMark.length + 1
    const to = Math.min(this.bytes(message), from + excerptBytesMax)
    const [excerpt] = excerptPattern.exec(this.#text.text(address, from, to))!
    page.entry(address, from, from + Buffer.byteLength(excerpt))
  }

  /** Returns the JSON of the message's item in a feed. */
  feedItem(message: number, authorId: string, threadId: string): string {
    const [seq, at] = [this.seq(message), this.createdAt(message)]
    const ids = this.ids(message, authorId)
    return `{"seq":${seq},"message_${ids},"thread_id":"${threadId}","created_at":${at}}`
  }

  /** Returns `id":"msg_…","author_id":"agt_…"`, which follows `"message_` in answers. */
  ids(message: number, authorId: string): string {
    return `id":"msg_${this.#ids.get(message)}","author_id":"${authorId}"`
  }

  #nameStart(message: number): number {
    return this.#signatureStart(message) + authorIdLength
  }

  #signatureStart(message: number): number {
    return headLength + String(this.#seqs.get(message)).length
  }
}

type Head = Pick<MessageEntry, 'id' | 'seq' | 'signature'>

/** Renders an entry; `rest` is what follows the author's signature. */
function render({ id, seq, signature }: Head, rest: string): string {
  return beforeSignature(`${seq}`, id) + signature + rest
}

function beforeSignature(seq: string, id: string): string {
  return `,{"seq":${seq},"id":"msg_${id}",`
}

/** Renders what the author has written, and the time: the end of an entry. */
function renderBody(escapedContent: string, at: number, { mentionIds = [], type }: Labels): string {
  const mentions = mentionIds.length === 0 ? '' : `,"mention_ids":${JSON.stringify(mentionIds)}`
  const ofType = type === undefined ? '' : `,"type":"${type}"`
  return `${renderContent(escapedContent, at)}${mentions}${ofType}}`
}

function renderContent(escapedContent: string, at: number): string {
  return `${contentMark}${escapedContent},"created_at":${at}`
}
