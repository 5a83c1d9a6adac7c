// Which pages of a store changed since they were saved; and, while a checkpoint is being written,
// copies of the pages that changed before it came to them.
//
//   generation    1 ──freeze──▶ 2 ──freeze──▶ 3      every checkpoint begins one
//   changed[7]    the generation in which page 7 changed last; 0: it is as it was read
//
// C1. Before a page changes, `changed[page]` is `now`: who changes it compares, and calls `touch`.
// C2. A page that is frozen, not saved and about to change is copied first, once.
//
// A failed checkpoint needs no undoing: its generation just does not count as saved.

import assert from 'node:assert/strict'

const pagesAtFirst = 16

export class PageMarks {
  /** The generation of each page's last change. */
  changed = new Uint32Array(pagesAtFirst)
  /** The generation of changes made now. */
  now = 1
  readonly #bytesOf: (page: number) => Uint8Array
  /** Changes of generations up to this one are saved. */
  #saved = 0
  /** How many pages are frozen, and which of them is the next to be taken. */
  #frozen = 0
  #next = 0
  readonly #copies = new Map<number, Uint8Array>()

  /** `bytesOf` shows a whole page as it is. */
  constructor(bytesOf: (page: number) => Uint8Array) {
    this.#bytesOf = bytesOf
  }

  /** Makes room for so many pages. */
  reserve(pages: number): void {
    if (pages <= this.changed.length) return
    const longer = new Uint32Array(Math.max(pages, 2 * this.changed.length))
    longer.set(this.changed)
    this.changed = longer
  }

  /** The page is about to change. */
  touch(page: number): void {
    const before = this.changed[page]
    if (before === this.now) return
    const isAwaited = page >= this.#next && page < this.#frozen && before > this.#saved
    if (isAwaited) this.#copies.set(page, this.#bytesOf(page).slice())
    this.changed[page] = this.now
  }

  /** Fixes the first `pages` pages as they are now. */
  freeze(pages: number): void {
    assert(this.#frozen === 0, 'one checkpoint at a time')
    this.#frozen = pages
    this.#next = 0
    this.now += 1
  }

  /** The page as it was when frozen; null when it is as it was saved last. */
  take(page: number): Uint8Array | null {
    assert(page >= this.#next && page < this.#frozen, 'pages are taken in order')
    this.#next = page + 1
    const copy = this.#copies.get(page)
    if (copy !== undefined) {
      this.#copies.delete(page)
      return copy
    }
    // Changed since it was frozen and not copied: it had been saved before.
    const changed = this.changed[page]
    return changed === this.now || changed <= this.#saved ? null : this.#bytesOf(page)
  }

  thaw(isSaved: boolean): void {
    if (isSaved) this.#saved = this.now - 1
    this.#frozen = 0
    this.#copies.clear()
  }

  /** The page counts as changed. */
  markDirty(page: number): void {
    assert(this.#frozen === 0, 'what is frozen is decided')
    this.changed[page] = this.now
  }
}
