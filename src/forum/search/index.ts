// The index: the slots of all shards, the order in which they are built, and searches in them.
//
//   message   0 ───────── 131,071 ─── 262,143 ── … ──────── newest
//   slot      │ sealed     │ sealed    │         │ being built │
//
// I1. The newest slot is built first, so that new messages are found soon; but while another one
//     has to be built, they take turns.
// I2. A search goes through the slots from the newest on, and through as many parts of each as it
//     says. It can pause after each part (searches.ts).
// I3. Whatever is wrong with a file costs work and nothing else: its slot is built again.

import type { IndexFiles } from './index-files.ts'
import type { Search } from './protocol.ts'
import { marks, matchIn, wordsMax } from './query.ts'
import { type About, type Entry, type SealedName, type Shard, shardMessages } from './shard.ts'
import { ShardStore, type StoreOptions } from './shard-store.ts'
import { type Built, type SealedFile, Slot } from './slot.ts'

export interface IndexOptions extends StoreOptions {
  perShard?: number
  /** Called when a shard has to be built again. */
  onDamaged: (first: number, why: string) => void
}

export interface IndexedRange {
  from: number
  /** The number after that of the last message. */
  to: number
  /** The id of the last one. */
  lastId: string
  entries: Entry[]
}

/** The number of parts whose messages the index can distinguish: no search has more. */
const partsMax = wordsMax

type Wanted = Pick<Search, 'publicMatch' | 'privateMatch' | 'parts' | 'before' | 'limit'>

/** The messages that a search has found in the part that begins with message `first`. */
export interface FoundIn {
  first: number
  messages: number[]
}

export class Index {
  /** The number of messages to index. */
  count = 0
  /** Removals up to this position are known. */
  erased = 0
  readonly #options: IndexOptions
  readonly #store: ShardStore
  readonly #perShard: number
  /** The number of messages in the smallest part of a shard. */
  readonly #partMessages: number
  readonly #slots: Slot[] = []
  /** Whether the newest slot had the last turn (I1). */
  #wasNewest = false

  constructor(options: IndexOptions) {
    this.#options = options
    this.#perShard = options.perShard ?? shardMessages
    this.#partMessages = Math.ceil(this.#perShard / partsMax)
    this.#store = new ShardStore(options)
  }

  get files(): IndexFiles {
    return this.#store.files
  }

  /** Opens the sealed files. Returns the descriptions of the shards that can be used. */
  open(): About[] {
    const found: About[] = []
    for (const sealed of this.files.list()) {
      const about = this.#openFile(sealed)
      if (about !== null) found.push(about)
    }
    return found
  }

  /** Begins with the shards in `kept`, which are of this forum's log. Removes the others. */
  begin(kept: ReadonlySet<number>): void {
    for (const slot of this.#slots) {
      if (slot.searched === null) continue
      if (!kept.has(slot.first)) this.#discard(slot)
      else if (slot.searched.next < slot.limit) this.#resume(slot, slot.searched)
    }
    this.#share()
  }

  /** Applies the removal of a message by the record at this position. */
  remove(message: number, position: number): void {
    this.#slots[Math.floor(message / this.#perShard)]?.remove(message, position)
  }

  /** Whether some text that was removed is still in the index. */
  get isDirty(): boolean {
    return this.#slots.some(({ isDirty }) => isDirty)
  }

  /** All messages before this number are indexed. */
  get covered(): number {
    const incomplete = this.#slots.find((slot) => slot.covered < slot.end(this.count))
    const missing = this.#slots.length * this.#perShard
    return incomplete?.covered ?? Math.min(missing, this.count)
  }

  get indexed(): number {
    return this.#slots.reduce((sum, slot) => sum + slot.covered - slot.first, 0)
  }

  get shards(): number {
    return this.#slots.length
  }

  /** The size of the sealed files, in bytes. */
  get bytes(): number {
    return this.#slots.reduce((sum, { searched }) => sum + (searched?.file?.bytes ?? 0), 0)
  }

  /** Returns the message from which to continue, or -1 if everything is indexed. */
  next(): number {
    this.#addSlots()
    const newest = this.#slots.at(-1)?.next(this.count) ?? -1
    const others = this.#slots.slice(0, -1).map((slot) => slot.next(this.count))
    const other = others.findLast((next) => next !== -1) ?? -1
    const isNewest = newest !== -1 && (other === -1 || !this.#wasNewest)
    this.#wasNewest = isNewest
    return isNewest ? newest : other
  }

  /** Returns how many messages there are from `next` on in the same shard. */
  roomFrom(next: number): number {
    return this.#slotOf(next).end(this.count) - next
  }

  /** Adds messages. Throws if the disk or the directory has no room; indexing can be retried. */
  add({ from, to, lastId, entries }: IndexedRange): void {
    const slot = this.#slotOf(from)
    slot.searched ??= this.#store.begin(slot.first, this.erased)
    if (slot.searched.next !== from && from === slot.first && slot.isDirty) {
      slot.renewed ??= this.#store.begin(slot.first, this.erased)
    }
    const built = slot.searched.next === from ? slot.searched : slot.renewed
    // The shard for which the range was requested was found damaged since then.
    if (built?.next !== from) return
    try {
      built.shard.add(entries.map((entry) => this.#withPart(entry, slot)))
    } catch (error) {
      this.#damaged(slot, error)
      throw error
    }
    built.next = to
    built.lastId = lastId
    if (to < slot.covered) return
    if (to === slot.limit && built.hidden.size === 0) this.#seal(slot, built)
    else if (built === slot.renewed) this.#replace(slot, built)
  }

  #withPart(entry: Entry, slot: Slot): Entry {
    const mark = marks.part(this.#partOf(entry.message, slot))
    return { ...entry, words: `${mark} ${entry.words}` }
  }

  /** Saves the shards that are being built, so that building can continue later. */
  close(): void {
    for (const { first, searched, renewed } of this.#slots) {
      if (searched !== null && searched.file === null && searched.hidden.size === 0) {
        if (searched.next > first) this.#store.seal(first, searched, this.erased)
      }
      searched?.shard.close()
      renewed?.shard.close()
    }
  }

  /**
   * Yields the messages found in each part, the newest part first: at most `limit` messages before
   * `search.before`, the newest first.
   */
  *search(search: Wanted): Generator<FoundIn> {
    const parts = partsMax / search.parts
    let end = Math.min(search.before, this.#slots.length * this.#perShard)
    while (end > 0) {
      const slot = this.#slots[Math.floor((end - 1) / this.#perShard)]
      const part = this.#partOf(end - 1, slot)
      const from = part - (part % parts)
      end = slot.first + from * this.#partMessages
      const some = (match: string) => (search.parts === 1 ? match : matchIn(match, from, parts))
      const messages = slot.covered > end ? this.#searchIn(slot, search, some) : []
      yield { first: end, messages }
    }
  }

  #partOf(message: number, slot: Slot): number {
    return Math.floor((message - slot.first) / this.#partMessages)
  }

  #searchIn(
    slot: Slot,
    { publicMatch, privateMatch, before, limit }: Wanted,
    some: (match: string) => string,
  ): number[] {
    if (slot.searched === null) return []
    const { shard, hidden } = slot.searched
    try {
      const most = limit + hidden.size
      const found = shard.search(true, some(publicMatch), before, most)
      const own = privateMatch === '' ? [] : shard.search(false, some(privateMatch), before, most)
      const all = own.length === 0 ? found : [...found, ...own].sort((a, b) => b - a)
      return all.filter((message) => !hidden.has(message)).slice(0, limit)
    } catch (error) {
      this.#damaged(slot, error)
      return []
    }
  }

  /** Detects files that somebody has changed or removed. */
  watch(): void {
    for (const slot of this.#slots) {
      const file = slot.searched?.file ?? null
      if (file !== null && !this.files.watch(file)) this.#damaged(slot, `${file.name} is gone`)
    }
  }

  checkAll(): void {
    for (const { searched } of this.#slots) {
      if (searched?.file) searched.file.isChecked = false
    }
  }

  /** Checks the files that are not checked yet, one piece in each step. */
  *check(): Generator<void> {
    for (const slot of this.#slots) {
      const file = slot.searched?.file
      if (!file || file.isChecked) continue
      const isRight = yield* this.files.check(file)
      if (!isRight && slot.searched?.file === file) this.#damaged(slot, `${file.name} is damaged`)
    }
  }

  #openFile(sealed: SealedName): About | null {
    const opened = sealed.first < this.count ? this.#store.open(sealed) : null
    if (opened === null) {
      this.files.remove(sealed.name)
      return null
    }
    const { about, built } = opened
    const slot = this.#slotOf(sealed.first)
    const { first, end } = about
    const isMore = end > slot.covered && end <= Math.min(slot.limit, this.count)
    if (first !== slot.first || !isMore) {
      built.shard.close()
      this.files.remove(sealed.name)
      return null
    }
    const old = slot.replace(built)
    if (old !== null) this.files.remove(old.name)
    return about
  }

  /** Continues a shard that was sealed before it was full. */
  #resume(slot: Slot, sealed: Built): void {
    const file = sealed.file!
    try {
      slot.searched = this.#store.resume(sealed, file)
    } catch (error) {
      this.#damaged(slot, error)
    }
    this.files.remove(file.name)
  }

  #seal(slot: Slot, built: Built): void {
    let file: SealedFile | null = null
    let shard: Shard | null = null
    try {
      file = this.#store.seal(slot.first, built, this.erased)
      shard = this.#store.reopen(file)
      this.#replace(slot, { ...built, shard, erased: this.erased, file })
    } catch (error) {
      shard?.close()
      const { searched } = slot
      if (searched === built || searched?.shard === shard) slot.searched = null
      slot.renewed = null
      built.shard.close()
      // No slot knows the file, so an erasure would not reach it.
      if (file !== null) this.files.remove(file.name)
      throw error
    }
    this.#share()
  }

  /** Has another shard searched. Drops the one that was, and its file, unless it is the same. */
  #replace(slot: Slot, newer: Built): void {
    const old = slot.replace(newer)
    if (old !== null && old.name !== newer.file?.name) this.files.forget(old.name)
  }

  #damaged(slot: Slot, why: unknown): void {
    this.#options.onDamaged(slot.first, why instanceof Error ? why.message : `${why}`)
    this.#discard(slot)
  }

  #discard(slot: Slot): void {
    const file = slot.replace(null)
    if (file !== null) this.files.remove(file.name)
  }

  #addSlots(): void {
    while (this.#slots.length * this.#perShard < this.count) this.#addSlot()
  }

  #slotOf(message: number): Slot {
    const index = Math.floor(message / this.#perShard)
    while (this.#slots.length <= index) this.#addSlot()
    return this.#slots[index]
  }

  #addSlot(): void {
    const first = this.#slots.length * this.#perShard
    this.#slots.push(new Slot(first, first + this.#perShard))
  }

  #share(): void {
    this.#store.share(this.#slots.map(({ searched }) => searched?.shard ?? null))
  }
}
