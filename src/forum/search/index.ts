// The index: ranges of messages, the order in which their shards are built, and searches in them.
//
//   message   0 ───────── 131,071 ─── 262,143 ── … ──────── newest
//   shard     │ sealed     │ sealed    │         │ being built │
//
// I1. The newest range is built first, so that new messages are found soon; but while another one
//     has to be built, they take turns.
// I2. A search goes through the ranges from the newest on, and through as many parts of each as it
//     says. It can pause after each part (searches.ts).
// I3. Whatever is wrong with a file costs work and nothing else: its shard is built again.

import type { IndexFiles } from './index-files.ts'
import { type Built, MessageRange, type SealedFile } from './message-range.ts'
import type { Search } from './protocol.ts'
import { marks, matchIn, wordsMax } from './query.ts'
import { type About, type Entry, type SealedName, type Shard, shardMessages } from './shard.ts'
import { ShardStore, type StoreOptions } from './shard-store.ts'

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
  readonly #ranges: MessageRange[] = []
  /** Whether the newest range had the last turn (I1). */
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
    for (const range of this.#ranges) {
      if (range.searched === null) continue
      if (!kept.has(range.first)) this.#discard(range)
      else if (range.searched.next < range.limit) this.#resume(range, range.searched)
    }
    this.#share()
  }

  /** Applies the removal of a message by the record at this position. */
  remove(message: number, position: number): void {
    this.#ranges[Math.floor(message / this.#perShard)]?.remove(message, position)
  }

  /** Whether some text that was removed is still in the index. */
  get isDirty(): boolean {
    return this.#ranges.some(({ isDirty }) => isDirty)
  }

  /** All messages before this number are indexed. */
  get covered(): number {
    const incomplete = this.#ranges.find((range) => range.covered < range.end(this.count))
    const missing = this.#ranges.length * this.#perShard
    return incomplete?.covered ?? Math.min(missing, this.count)
  }

  get indexed(): number {
    return this.#ranges.reduce((sum, range) => sum + range.covered - range.first, 0)
  }

  get shards(): number {
    return this.#ranges.length
  }

  /** The size of the sealed files, in bytes. */
  get bytes(): number {
    return this.#ranges.reduce((sum, { searched }) => sum + (searched?.file?.bytes ?? 0), 0)
  }

  /** Returns the message from which to continue, or -1 if everything is indexed. */
  next(): number {
    this.#addRanges()
    const newest = this.#ranges.at(-1)?.next(this.count) ?? -1
    const others = this.#ranges.slice(0, -1).map((range) => range.next(this.count))
    const other = others.findLast((next) => next !== -1) ?? -1
    const isNewest = newest !== -1 && (other === -1 || !this.#wasNewest)
    this.#wasNewest = isNewest
    return isNewest ? newest : other
  }

  /** Returns how many messages there are from `next` on in the same shard. */
  roomFrom(next: number): number {
    return this.#rangeOf(next).end(this.count) - next
  }

  /** Adds messages. Throws if the disk or the directory has no room; indexing can be retried. */
  add({ from, to, lastId, entries }: IndexedRange): void {
    const range = this.#rangeOf(from)
    range.searched ??= this.#store.begin(range.first, this.erased)
    if (range.searched.next !== from && from === range.first && range.isDirty) {
      range.renewed ??= this.#store.begin(range.first, this.erased)
    }
    const built = range.searched.next === from ? range.searched : range.renewed
    // The shard for which the messages were requested was found damaged since then.
    if (built?.next !== from) return
    try {
      built.shard.add(entries.map((entry) => this.#withPart(entry, range)))
    } catch (error) {
      this.#damaged(range, error)
      throw error
    }
    built.next = to
    built.lastId = lastId
    if (to < range.covered) return
    if (to === range.limit && built.hidden.size === 0) this.#seal(range, built)
    else if (built === range.renewed) this.#replace(range, built)
  }

  #withPart(entry: Entry, range: MessageRange): Entry {
    const mark = marks.part(this.#partOf(entry.message, range))
    return { ...entry, words: `${mark} ${entry.words}` }
  }

  /** Saves the shards that are being built, so that building can continue later. */
  close(): void {
    for (const { first, searched, renewed } of this.#ranges) {
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
    let end = Math.min(search.before, this.#ranges.length * this.#perShard)
    while (end > 0) {
      const range = this.#ranges[Math.floor((end - 1) / this.#perShard)]
      const part = this.#partOf(end - 1, range)
      const from = part - (part % parts)
      end = range.first + from * this.#partMessages
      const some = (match: string) => (search.parts === 1 ? match : matchIn(match, from, parts))
      const messages = range.covered > end ? this.#searchIn(range, search, some) : []
      yield { first: end, messages }
    }
  }

  #partOf(message: number, range: MessageRange): number {
    return Math.floor((message - range.first) / this.#partMessages)
  }

  #searchIn(
    range: MessageRange,
    { publicMatch, privateMatch, before, limit }: Wanted,
    some: (match: string) => string,
  ): number[] {
    if (range.searched === null) return []
    const { shard, hidden } = range.searched
    try {
      const most = limit + hidden.size
      const found = shard.search(true, some(publicMatch), before, most)
      const own = privateMatch === '' ? [] : shard.search(false, some(privateMatch), before, most)
      const all = own.length === 0 ? found : [...found, ...own].sort((a, b) => b - a)
      return all.filter((message) => !hidden.has(message)).slice(0, limit)
    } catch (error) {
      this.#damaged(range, error)
      return []
    }
  }

  /** Detects files that somebody has changed or removed. */
  watch(): void {
    for (const range of this.#ranges) {
      const file = range.searched?.file ?? null
      if (file !== null && !this.files.watch(file)) this.#damaged(range, `${file.name} is gone`)
    }
  }

  checkAll(): void {
    for (const { searched } of this.#ranges) {
      if (searched?.file) searched.file.isChecked = false
    }
  }

  /** Checks the files that are not checked yet, one piece in each step. */
  *check(): Generator<void> {
    for (const range of this.#ranges) {
      const file = range.searched?.file
      if (!file || file.isChecked) continue
      const isRight = yield* this.files.check(file)
      if (!isRight && range.searched?.file === file) this.#damaged(range, `${file.name} is damaged`)
    }
  }

  #openFile(sealed: SealedName): About | null {
    const opened = sealed.first < this.count ? this.#store.open(sealed) : null
    if (opened === null) {
      this.files.remove(sealed.name)
      return null
    }
    const { about, built } = opened
    const range = this.#rangeOf(sealed.first)
    const { first, end } = about
    const isMore = end > range.covered && end <= Math.min(range.limit, this.count)
    if (first !== range.first || !isMore) {
      built.shard.close()
      this.files.remove(sealed.name)
      return null
    }
    const old = range.replace(built)
    if (old !== null) this.files.remove(old.name)
    return about
  }

  /** Continues a shard that was sealed before it was full. */
  #resume(range: MessageRange, sealed: Built): void {
    const file = sealed.file!
    try {
      range.searched = this.#store.resume(sealed, file)
    } catch (error) {
      this.#damaged(range, error)
    }
    this.files.remove(file.name)
  }

  #seal(range: MessageRange, built: Built): void {
    let file: SealedFile | null = null
    let shard: Shard | null = null
    try {
      file = this.#store.seal(range.first, built, this.erased)
      shard = this.#store.reopen(file)
      this.#replace(range, { ...built, shard, erased: this.erased, file })
    } catch (error) {
      shard?.close()
      const { searched } = range
      if (searched === built || searched?.shard === shard) range.searched = null
      range.renewed = null
      built.shard.close()
      // No range has the file, so an erasure would not reach it.
      if (file !== null) this.files.remove(file.name)
      throw error
    }
    this.#share()
  }

  /** Makes searches use another shard. Drops the previous one, and its file if it is another. */
  #replace(range: MessageRange, newer: Built): void {
    const old = range.replace(newer)
    if (old !== null && old.name !== newer.file?.name) this.files.forget(old.name)
  }

  #damaged(range: MessageRange, why: unknown): void {
    this.#options.onDamaged(range.first, why instanceof Error ? why.message : `${why}`)
    this.#discard(range)
  }

  #discard(range: MessageRange): void {
    const file = range.replace(null)
    if (file !== null) this.files.remove(file.name)
  }

  #addRanges(): void {
    while (this.#ranges.length * this.#perShard < this.count) this.#addRange()
  }

  #rangeOf(message: number): MessageRange {
    const index = Math.floor(message / this.#perShard)
    while (this.#ranges.length <= index) this.#addRange()
    return this.#ranges[index]
  }

  #addRange(): void {
    const first = this.#ranges.length * this.#perShard
    this.#ranges.push(new MessageRange(first, first + this.#perShard))
  }

  #share(): void {
    this.#store.share(this.#ranges.map(({ searched }) => searched?.shard ?? null))
  }
}
