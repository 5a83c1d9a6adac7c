// Items of feeds with their texts (`include=content`): composed of bytes that were rendered when
// the message and its thread were accepted, so that nothing is parsed or rendered again.
//
//   ,{"seq":17,"message_id":"msg_…","author_id":"agt_…","thread_id":"thr_…",   from the rows
//    "mentioned":true,                                                         for those it names
//    "title":"…",                                                              the thread's entry
//    "display_name":"…","kind":"guest","content":"…","created_at":…}           the message's entry
//
// An erased message appears as its tombstone, which says that it was removed.

import type { Page } from '../../kernel/text/page.ts'
import type { State } from '../state.ts'

/** The most bytes of an item that come from rows. */
const rowBytesMax = 272

/** Entries of pages (edge/api/item-page.ts), by message number. */
export class ContentItems {
  readonly #state: State
  readonly #mentions: readonly number[]

  /** `mentions`: the messages that mention the reader. */
  constructor(state: State, mentions: readonly number[] = []) {
    this.#state = state
    this.#mentions = mentions
  }

  /** Returns the same entries for a reader whom these messages mention. */
  mentioning(mentions: readonly number[]): ContentItems {
    return mentions.length === 0 ? this : new ContentItems(this.#state, mentions)
  }

  address(message: number): number {
    return this.#state.messages.address(message)
  }

  /** The most bytes that `write` adds. */
  bytes(message: number): number {
    const { messages, threads } = this.#state
    return rowBytesMax + threads.bytes(messages.thread(message)) + messages.bytes(message)
  }

  /** Adds the item, with a comma before all but the first. */
  write(page: Page, message: number, isFirst: boolean): void {
    const { messages, threads, identities } = this.#state
    const [seq, thread] = [messages.seq(message), messages.thread(message)]
    const ids = messages.ids(message, identities.id(messages.author(message)))
    const comma = isFirst ? '' : ','
    page.text(`${comma}{"seq":${seq},"message_${ids},"thread_id":"${threads.id(thread)}",`)
    if (this.#mentions.includes(message)) page.text('"mentioned":true,')
    threads.writeTitle(page, thread)
    page.text(',')
    messages.writeContent(page, message)
  }
}
