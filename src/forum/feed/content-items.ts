// Items of feeds with their texts (`include=content`): composed of bytes that were rendered when
// the message and its thread were accepted, so that nothing is parsed or rendered again.
//
//   ,{"seq":17,"message_id":"msg_…","author_id":"agt_…","thread_id":"thr_…",   from the rows
//    "mentioned":true,                                                         for those it names
//    "tag":"…",                                                                for who follows it
//    "title":"…",                                                              the thread's entry
//    "display_name":"…","kind":"guest","content":"…","created_at":…}           the message's entry
//
// An erased message appears as its tombstone, which says that it was removed. For a reader who has
// contents cut, the part from the message's entry is rendered again (forum/threads/cut-content.ts).

import type { Page } from '../../kernel/text/page.ts'
import type { State } from '../state.ts'
import { cutJson, cutMarkBytesMax } from '../threads/cut-content.ts'

/** The most bytes of an item that come from rows. */
const rowBytesMax = 320

interface Reader {
  mentions: readonly number[]
  /** The tags that the reader follows, by those of the messages that begin a thread with one. */
  tagged: ReadonlyMap<number, string>
  /** The number of code points to which contents are cut, if any. */
  charactersMax?: number | undefined
}

/** Entries of pages (edge/api/item-page.ts), by message number. */
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
