// Threads of the list by activity, each with the author and time of its newest message:
//
//   {"id":"thr_…",…,"message_count":12,              as in other lists (forum/threads/table.ts)
//    "newest":{"seq":57,"author_id":"agt_…",         from the rows, which are always in memory
//              "display_name":"…","created_at":…,
//              "excerpt":"…"}}                       with excerpts: the message's entry, cut
//
// The excerpt of an erased message is that of its tombstone.

import type { Page } from '../../kernel/text/page.ts'
import type { State } from '../state.ts'

/** The most bytes of `newest` besides the name and the excerpt. */
const rowBytesMax = 192

/** Entries of pages (edge/api/item-page.ts), by thread number. */
export class ActiveThreads {
  readonly #state: State
  readonly #hasExcerpts: boolean

  constructor(state: State, hasExcerpts = false) {
    this.#state = state
    this.#hasExcerpts = hasExcerpts
  }

  /** Returns the same entries with an excerpt of each newest message. */
  withExcerpts(): ActiveThreads {
    return new ActiveThreads(this.#state, true)
  }

  address(thread: number): number {
    return this.#state.threads.address(thread)
  }

  /** Returns the most bytes that `write` adds. */
  bytes(thread: number): number {
    const { threads, identities, messages } = this.#state
    const newest = threads.newestMessage(thread)
    const name = identities.entry(messages.author(newest)).bytes
    const excerpt = this.#hasExcerpts ? messages.bytes(newest) : 0
    return threads.bytes(thread) + rowBytesMax + name + excerpt
  }

  /** Adds the thread's JSON, with a comma before all but the first. */
  write(page: Page, thread: number, isFirst: boolean): void {
    const { threads, identities, messages } = this.#state
    threads.writeOpen(page, thread, isFirst)
    const newest = threads.newestMessage(thread)
    const [author, seq] = [messages.author(newest), messages.seq(newest)]
    page.text(`,"newest":{"seq":${seq},"author_id":"${identities.id(author)}","display_name":`)
    page.utf8(identities.nameJson(author))
    page.text(`,"created_at":${messages.createdAt(newest)}`)
    if (this.#hasExcerpts) {
      page.text(',"excerpt":"')
      messages.writeExcerpt(page, newest, identities.signature(author))
      page.text('"')
    }
    page.text('}}')
  }
}
