// Tags of threads: short names that authors give them. A thread has at most eight.
//
//   names     #0 bug   #1 infra   #2 urgent …            kernel/columns/name-table.ts
//   sets      set 0: #1 #0    set 1: #2 …                in the order of the request
//   threads   thread 0: set 1    thread 1: none …
//   public    #0: threads 0, 4, 9 …                      the public threads with each tag
//
// T1. A thread gets a set with its first tags, which is then changed in place: changes do not
//     accumulate. Names are never removed.
// T2. The list of a tag has the public threads that have it now, oldest first. A thread that gets a
//     tag later is inserted: with 100,000 newer ones in the list, that takes 1 ms.
// T3. `sorted` has the names of the tags of public threads, in the order of their bytes.

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { partition } from '../../base/partition.ts'
import { tagCharactersMax, tagsMax } from '../../base/text.ts'
import { Uint32Column } from '../../kernel/columns/column.ts'
import { Lists } from '../../kernel/columns/lists.ts'
import { NameTable } from '../../kernel/columns/name-table.ts'
import type { Saved } from '../../kernel/saved.ts'

/** The maximum number of bytes that `json` returns: the characters of tags are ASCII. */
export const tagsBytesMax = ',"tags":[]'.length + tagsMax * (tagCharactersMax + '"",'.length)

/** Numbers in ascending order. */
export interface Ordered {
  readonly length: number
  get(index: number): number
}

/** Selects threads by their tags. */
export interface TagFilter {
  /** Public threads, oldest first, among them all that have the tags. */
  readonly publics: Ordered
  has(thread: number): boolean
}

const noThreads: TagFilter = { publics: { length: 0, get: () => -1 }, has: () => false }

export class Tags {
  readonly #names = new NameTable()
  readonly #sets = new Lists()
  /** By thread: the number of its set, plus one; 0: it has none. */
  readonly #threads = new Uint32Column()
  readonly #public = new Lists()
  #sorted: string[] = []
  /** The position of the newest record by which an author changed the tags of a thread, or 0. */
  changedPosition = 0

  get stores(): Record<string, PagedStore> {
    return { threads: this.#threads }
  }

  get parts(): Record<string, Saved> {
    return { names: this.#names, sets: this.#sets, public: this.#public }
  }

  facts(): number {
    return this.changedPosition
  }

  restore(facts: unknown): void {
    this.changedPosition = facts as number
  }

  *fillIndexes(): Iterable<void> {
    for (let tag = 0; tag < this.#names.count; tag++) {
      if (this.#public.length(tag) > 0) this.#sorted.push(this.#names.name(tag))
    }
    this.#sorted.sort()
    yield
  }

  /** Adds the next thread, with the tags of its creation. */
  add(names: readonly string[], isPublic: boolean): void {
    this.#fill(this.#threads.push(0), names, isPublic)
  }

  /** Replaces the tags of a thread. */
  change(thread: number, names: readonly string[], isPublic: boolean): void {
    const set = this.#threads.get(thread)
    const before = this.#numbers(set)
    if (isPublic) for (const tag of before) this.#unlist(tag, thread)
    for (const _ of before) this.#sets.removeAt(set - 1, 0)
    this.#fill(thread, names, isPublic)
  }

  /** Returns the number of the tag, or -1 if it was never used. */
  find(name: string): number {
    return this.#names.find(name)
  }

  /** Returns the number of the tag, which is a new one if it was never used. */
  number(name: string): number {
    const { count } = this.#names
    const tag = this.#names.add(name)
    if (tag === count) this.#public.add()
    return tag
  }

  name(tag: number): string {
    return this.#names.name(tag)
  }

  /** Returns the numbers of the tags that the thread has now. */
  numbersOf(thread: number): number[] {
    return this.#numbers(this.#threads.get(thread))
  }

  of(thread: number): string[] {
    return this.numbersOf(thread).map((tag) => this.name(tag))
  }

  /** Returns the public threads that have the tag now, oldest first. */
  publicThreads(tag: number): Ordered {
    const threads = this.#public
    return {
      get length() {
        return threads.length(tag)
      },
      get: (index) => threads.get(tag, index),
    }
  }

  /** Returns the property that shows the tags, after a comma; '' if there are none. */
  json(thread: number): string {
    if (this.#threads.get(thread) === 0) return ''
    const names = this.of(thread)
    return names.length === 0 ? '' : `,"tags":${JSON.stringify(names)}`
  }

  /** Returns a filter for threads with all of these tags, of which there must be one. */
  filter(names: readonly string[]): TagFilter {
    const tags = names.map((name) => this.#names.find(name))
    if (tags.includes(-1)) return noThreads
    const shortest = tags.reduce((a, b) =>
      this.#public.length(a) <= this.#public.length(b) ? a : b,
    )
    return {
      publics: this.publicThreads(shortest),
      has: (thread) => {
        const set = this.#threads.get(thread)
        return set !== 0 && tags.every((tag) => this.#sets.includes(set - 1, tag))
      },
    }
  }

  publicCount(name: string): number {
    const tag = this.#names.find(name)
    return tag === -1 ? 0 : this.#public.length(tag)
  }

  /** Returns the first `count` tags of public threads with this prefix that follow `after`. */
  publicNames(prefix: string, after: string, count: number): string[] {
    const { length } = this.#sorted
    const first = partition(length, (i) => this.#sorted[i] < prefix || this.#sorted[i] <= after)
    const found = this.#sorted.slice(first, first + count)
    return found.filter((name) => name.startsWith(prefix))
  }

  #numbers(set: number): number[] {
    if (set === 0) return []
    return Array.from({ length: this.#sets.length(set - 1) }, (_, i) => this.#sets.get(set - 1, i))
  }

  /** Adds the tags to the thread's set, which is empty or does not exist yet. */
  #fill(thread: number, names: readonly string[], isPublic: boolean): void {
    if (names.length > 0 && this.#threads.get(thread) === 0) {
      this.#threads.set(thread, this.#sets.add() + 1)
    }
    const set = this.#threads.get(thread)
    for (const name of names) {
      const tag = this.number(name)
      this.#sets.push(set - 1, tag)
      if (isPublic) this.#list(tag, thread)
    }
  }

  #list(tag: number, thread: number): void {
    const length = this.#public.length(tag)
    this.#public.insertAt(tag, this.#threadIndex(tag, thread), thread)
    if (length > 0) return
    const name = this.#names.name(tag)
    this.#sorted.splice(this.#nameIndex(name), 0, name)
  }

  #unlist(tag: number, thread: number): void {
    this.#public.deleteAt(tag, this.#threadIndex(tag, thread))
    if (this.#public.length(tag) > 0) return
    this.#sorted.splice(this.#nameIndex(this.#names.name(tag)), 1)
  }

  /** Returns the index of the thread among those that have the tag. */
  #threadIndex(tag: number, thread: number): number {
    return partition(this.#public.length(tag), (i) => this.#public.get(tag, i) < thread)
  }

  #nameIndex(name: string): number {
    return partition(this.#sorted.length, (i) => this.#sorted[i] < name)
  }
}
