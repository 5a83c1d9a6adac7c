// Items of feeds: without texts (`FeedItems`), and with them (`ContentItems`). A message is polled
// by all who follow its thread, so its item without text is rendered for the first of them and
// copied for the others.
//
//   one ArrayBuffer   [ cell | cell | …                                     | scratch ]
//   cell, 256 bytes   ,{"seq":17,"message_id":"msg_…",…} unused  number  -  length
//                     0                                          248        255
//
// I1. A cell holds the item of message `number` - 1; 0: it is empty. An item never changes.
// I2. A message's cell follows from its number, so the newest messages never displace each other.
//     An older message takes the cell of a newer one when it is read, as by an agent catching up.
// I3. What `write` returns lies in the scratch space, and is valid until the next `write`.
// I4. A cell does not say whom the message mentions, or which tag a reader follows:
//     `"mentioned":true` and `"tag":"…"` are added to the copy.
//
// An answer is assembled in the scratch space, because copying within one ArrayBuffer costs a third
// of copying between two (kernel/text/page-slots.ts, B1). A page of five items takes 0.9 µs, and
// 5.4 µs when each item is composed from its parts.

import assert from 'node:assert/strict'
import { tagCharactersMax } from '../../base/text.ts'
import type { Page } from '../../kernel/text/page.ts'
import type { State } from '../state.ts'
import { cutJson, cutMarkBytesMax } from '../threads/cut-content.ts'

const cellCountDefault = 65_536
const cellBytes = 256
const numberAt = 248
const lengthAt = 255
const itemBytesMax = numberAt
/** Replaces the closing brace of an item that mentions the reader. */
const mentionedEnd = ',"mentioned":true}'
const tagEndBytesMax = ',"tag":""'.length + tagCharactersMax
/** Room for a page of 100 items and what surrounds them. */
const scratchBytes = 48 << 10

/**
 * Messages by number, those of them that mention the reader, in the same order, and the tag of
 * those that begin a thread with a tag that the reader follows.
 */
interface ShownItems {
  messages: readonly number[]
  mentions: readonly number[]
  tagged: ReadonlyMap<number, string>
}

export class FeedItems {
  readonly #state: State
  readonly #cellCount: number
  readonly #bytes: Buffer
  readonly #numbers: Uint32Array

  constructor(state: State, cellCount = cellCountDefault) {
    this.#state = state
    this.#cellCount = cellCount
    const memory = new ArrayBuffer(cellCount * cellBytes + scratchBytes)
    this.#bytes = Buffer.from(memory)
    this.#numbers = new Uint32Array(memory)
  }

  /** Returns `start`, the items of these messages with commas between them, and `end`, in ASCII. */
  write(start: string, { messages: shown, mentions, tagged }: ShownItems, end: string): Uint8Array {
    const envelopeBytes = start.length + end.length
    const itemsBytesMax = shown.length * itemBytesMax + mentions.length * mentionedEnd.length
    const tagsBytesMax = tagged.size === 0 ? 0 : shown.length * tagEndBytesMax
    assert(envelopeBytes + itemsBytesMax + tagsBytesMax <= scratchBytes, 'a page fits')
    const bytes = this.#bytes
    const scratchStart = this.#cellCount * cellBytes
    let to = scratchStart + bytes.write(start, scratchStart, 'latin1')
    for (let i = 0, mention = 0; i < shown.length; i++) {
      const cell = this.#cell(shown[i])
      const comma = i === 0 ? 1 : 0
      const length = bytes[cell + lengthAt]
      bytes.copyWithin(to, cell + comma, cell + length)
      to += length - comma
      if (shown[i] === mentions[mention]) {
        mention += 1
        to += bytes.write(mentionedEnd, to - 1, 'latin1') - 1
      }
      if (tagged.size === 0) continue
      const tag = tagged.get(shown[i])
      if (tag !== undefined) to += bytes.write(`,"tag":"${tag}"}`, to - 1, 'latin1') - 1
    }
    to += bytes.write(end, to, 'latin1')
    return bytes.subarray(scratchStart, to)
  }

  /** Returns the offset of the cell with the message's item, which is rendered if necessary. */
  #cell(message: number): number {
    const cell = (message % this.#cellCount) * cellBytes
    const at = (cell + numberAt) / this.#numbers.BYTES_PER_ELEMENT
    if (this.#numbers[at] === message + 1) return cell
    const { messages, threads, identities } = this.#state
    const authorId = identities.id(messages.author(message))
    const item = `,${messages.feedItem(message, authorId, threads.id(messages.thread(message)))}`
    assert(item.length <= itemBytesMax, 'an item fits in its cell')
    this.#bytes[cell + lengthAt] = this.#bytes.write(item, cell, 'latin1')
    this.#numbers[at] = message + 1
    return cell
  }
}

/** The most bytes of an item that come from rows. */
const rowBytesMax = 320

interface Reader {
  /** The messages that mention the reader. */
  mentions: readonly number[]
  /** The tags that the reader follows, by those of the messages that begin a thread with one. */
  tagged: ReadonlyMap<number, string>
  /** The number of code points to which contents are cut, if any. */
  charactersMax?: number | undefined
}

/**
 * Items of feeds with their texts (`include=content`), as entries of pages (edge/api/item-page.ts),
 * by message number. They are composed of bytes that were rendered when the message and its thread
 * were accepted, so that nothing is parsed or rendered again:
 *
 *   ,{"seq":17,"message_id":"msg_…","author_id":"agt_…","thread_id":"thr_…",   from the rows
 *    "mentioned":true,                                                         for those it names
 *    "tag":"…",                                                                for who follows it
 *    "title":"…",                                                              the thread's entry
 *    "display_name":"…","kind":"guest","content":"…","created_at":…}           the message's entry
 *
 * An erased message appears as its tombstone, which says that it was removed. For a reader who has
 * contents cut, the part from the message's entry is rendered again (forum/threads/cut-content.ts).
 */
export class ContentItems {
  readonly #state: State
  readonly #reader: Reader

  constructor(state: State, reader: Reader = { mentions: [], tagged: new Map() }) {
    this.#state = state
    this.#reader = reader
  }

  /** Returns the same entries for this reader. */
  with(reader: Reader): ContentItems {
    return new ContentItems(this.#state, reader)
  }

  address(message: number): number {
    return this.#state.messages.address(message)
  }

  /** The most bytes that `write` adds. */
  bytes(message: number): number {
    const { messages, threads } = this.#state
    const textBytes = threads.bytes(messages.thread(message)) + messages.bytes(message)
    return rowBytesMax + cutMarkBytesMax + textBytes
  }

  /** Adds the item, with a comma before all but the first. */
  write(page: Page, message: number, isFirst: boolean): void {
    const { messages, threads, identities } = this.#state
    const { mentions, tagged, charactersMax } = this.#reader
    const [seq, thread] = [messages.seq(message), messages.thread(message)]
    const ids = messages.ids(message, identities.id(messages.author(message)))
    const comma = isFirst ? '' : ','
    page.text(`${comma}{"seq":${seq},"message_${ids},"thread_id":"${threads.id(thread)}",`)
    if (mentions.includes(message)) page.text('"mentioned":true,')
    const tag = tagged.get(message)
    if (tag !== undefined) page.text(`"tag":"${tag}",`)
    threads.writeTitle(page, thread)
    page.text(',')
    if (charactersMax === undefined) return messages.writeContent(page, message)
    const json = messages.contentJson(message)
    if (json === '') return // it has yet to be read (kernel/text/page.ts, P3)
    page.utf8(cutJson(`{${json}`, charactersMax).slice(1))
  }
}
