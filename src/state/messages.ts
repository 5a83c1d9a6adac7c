// Messages: rendered JSON in the arena, and a row of numbers for each.
//
//   arena   ,{"seq":17,"id":"msg_…","author_id":"agt_…","display_name":"…","kind":"guest",
//           "content":"…","created_at":…}
//   row     seq, author, thread, address, bytes, time
//
// M1. Message numbers, seqs and times grow together: comparing numbers compares ages.
// M2. Every reader gets the rendered bytes; no message is rendered or parsed a second time.
//
// A feed item is cut from the same bytes: both contain `id":"msg_…","author_id":"agt_…"`.

import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import type { Arena } from './arena.ts'
import { Float64Column, Uint16Column, Uint32Column } from './column.ts'
import { idHexLength } from './id-table.ts'
import type { Page } from './page.ts'

const seqStart = ',{"seq":'.length
/** Length from the end of the seq to the word `id` in `,"id":"msg_…"`. */
const toIdWord = ',"'.length
const idWordBytes =
  'id":"msg_'.length + idHexLength + '","author_id":"agt_'.length + idHexLength + '"'.length
const idBytes = 'msg_'.length + idHexLength
const toId = ',"id":"'.length
const contentMark = ',"content":'

export interface MessageEntry {
  /** In hex. */
  id: string
  seq: number
  author: number
  /** The author's signature; see identities.ts. */
  signature: string
  thread: number
  content: string
  at: number
}

export class Messages {
  readonly #arena: Arena
  readonly #addresses = new Uint32Column()
  readonly #bytes = new Uint16Column()
  readonly #seqs = new Float64Column()
  readonly #authors = new Uint32Column()
  readonly #threads = new Uint32Column()
  readonly #times = new Float64Column()

  constructor(arena: Arena) {
    this.#arena = arena
  }

  get count(): number {
    return this.#seqs.length
  }

  get stores(): Record<string, PagedStore> {
    return {
      addresses: this.#addresses,
      bytes: this.#bytes,
      seqs: this.#seqs,
      authors: this.#authors,
      threads: this.#threads,
      times: this.#times,
    }
  }

  /** Renders and adds a message; returns its number. */
  add(message: MessageEntry): number {
    const { seq, author, thread, at } = message
    this.#addresses.push(this.#arena.append(render(message)))
    this.#bytes.push(this.#arena.written)
    this.#authors.push(author)
    this.#threads.push(thread)
    this.#times.push(at)
    return this.#seqs.push(seq)
  }

  /** Replaces the entry of a message of which a part is lost, with other content. */
  renderAnew(
    message: number,
    { id, signature }: Pick<MessageEntry, 'id' | 'signature'>,
    content: string,
  ): void {
    const [seq, at] = [this.seq(message), this.createdAt(message)]
    this.#addresses.set(message, this.#arena.append(render({ id, seq, signature, at, content })))
    this.#bytes.set(message, this.#arena.written)
  }

  /** The message's id without the prefix. */
  id(message: number): string {
    const end = this.idEnd(message)
    return this.#arena.ascii(this.address(message), end - idHexLength, end)
  }

  /** Offset of the end of the id in the message's entry. */
  idEnd(message: number): number {
    return this.#seqEnd(message) + toId + idBytes
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

  /** Bytes of the message's JSON, with the comma before it. */
  bytes(message: number): number {
    return this.#bytes.get(message)
  }

  /** Whether the message has exactly this content. */
  hasContent(message: number, content: string, signature: string): boolean {
    const from = this.#seqEnd(message) + toId + idBytes + '",'.length + Buffer.byteLength(signature)
    const expected = contentMark + JSON.stringify(content) // up to its closing quote, which ends it
    const to = from + Buffer.byteLength(expected)
    if (to > this.bytes(message)) return false
    return this.#arena.text(this.#addresses.get(message), from, to) === expected
  }

  /** Adds the message's JSON to a page, with a comma before all but the first. */
  write(page: Page, message: number, isFirst: boolean): void {
    page.entry(this.#addresses.get(message), isFirst ? 1 : 0, this.#bytes.get(message))
  }

  /** The JSON of the message's item in a feed. */
  feedItem(message: number, threadId: string): string {
    const [seq, at] = [this.seq(message), this.createdAt(message)]
    const ids = this.ids(message)
    return `{"seq":${seq},"message_${ids},"thread_id":"${threadId}","created_at":${at}}`
  }

  /** `id":"msg_…","author_id":"agt_…"`, which follows `"message_` in answers. */
  ids(message: number): string {
    const from = this.#seqEnd(message) + toIdWord
    return this.#arena.ascii(this.address(message), from, from + idWordBytes)
  }

  #seqEnd(message: number): number {
    return seqStart + String(this.#seqs.get(message)).length
  }
}

type Rendered = Omit<MessageEntry, 'author' | 'thread'>

function render({ id, seq, signature, content, at }: Rendered): string {
  return (
    `,{"seq":${seq},"id":"msg_${id}",${signature}` +
    `${contentMark}${JSON.stringify(content)},"created_at":${at}}`
  )
}
