// A forum of random messages and an index of them, which is used in the same way as by the index
// process. Shards are small, so that there are many.

import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { type Engine, findEngine } from '../../../src/forum/search/engine.ts'
import { Index } from '../../../src/forum/search/index.ts'
import { marks, matchOf, type Query } from '../../../src/forum/search/query.ts'
import type { Entry } from '../../../src/forum/search/shard.ts'
import { spacedWords, wordsOf } from '../../../src/forum/search/words.ts'
import { type Message, type ModelSearch, naiveSearch, randomText, typeable } from './index-model.ts'

export const perShard = 40
const batchMax = 16

export class Scene {
  readonly dir: string
  readonly messages: Message[] = []
  /** The positions of the newest record and of the last removal. */
  position = 0
  erased = 0
  readonly removals: [message: number, position: number][] = []
  damaged = 0
  index: Index
  readonly random: () => number
  readonly #engine: Engine

  constructor(t: Test, random: () => number, engine = findEngine()!) {
    this.random = random
    this.#engine = engine
    const parent = mkdtempSync(path.join(tmpdir(), 'agent-forum-index-'))
    t.teardown(() => rmSync(parent, { recursive: true, force: true }))
    this.dir = path.join(parent, 'search')
    this.index = this.#open()
  }

  /** Opens the index as the index process does, with the answers of the node. */
  #open(identity = 'a forum'): Index {
    const index = new Index({
      engine: this.#engine,
      dir: this.dir,
      identity,
      memoryBytes: 1 << 20,
      perShard,
      onDamaged: () => {
        this.damaged += 1
      },
    })
    index.count = this.messages.length
    const kept = index
      .open()
      .filter(({ end, lastId }) => end <= this.messages.length && lastId === idOf(end - 1))
    index.begin(new Set(kept.map(({ first }) => first)))
    for (const [message, position] of this.removals) index.remove(message, position)
    index.erased = this.erased
    return index
  }

  publish(count: number): void {
    for (let i = 0; i < count; i++) {
      const number = this.messages.length
      const { random } = this
      const members = random() < 0.3 ? [Math.floor(random() * 4), Math.floor(random() * 4)] : null
      this.messages.push({
        number,
        texts:
          random() < 0.2
            ? [randomText(random, number), randomText(random, number)]
            : [randomText(random, number)],
        author: Math.floor(random() * 5),
        thread: Math.floor(random() * 7),
        members,
        isRemoved: false,
      })
      this.position += 1
    }
    this.index.count = this.messages.length
  }

  remove(): void {
    if (this.messages.length === 0) return
    const message = this.messages[Math.floor(this.random() * this.messages.length)]!
    if (message.isRemoved) return
    message.isRemoved = true
    this.position += 1
    this.erased = this.position
    this.removals.push([message.number, this.position])
    this.index.remove(message.number, this.position)
    this.index.erased = this.position
  }

  /** Indexes one batch. Returns false if there is nothing to index. */
  work(): boolean {
    const from = this.index.next()
    if (from === -1) return false
    const to = from + Math.min(this.index.roomFrom(from), 1 + Math.floor(this.random() * batchMax))
    const entries = this.messages.slice(from, to).flatMap((message) => entryOf(message))
    this.index.add({ from, to, lastId: idOf(to - 1), entries })
    return true
  }

  finish(): void {
    while (this.work());
  }

  restart(): void {
    this.index.close()
    this.index = this.#open()
  }

  /** Reopens the index without saving anything. */
  crash(identity?: string): void {
    this.index = this.#open(identity)
  }

  get files(): string[] {
    return readdirSync(this.dir).filter((name) => name.endsWith('.shard'))
  }

  /** Sealed files that were removed and are still open. */
  get removedFilesInUse(): string[] {
    return readdirSync('/proc/self/fd').flatMap((descriptor) => {
      try {
        const file = readlinkSync(`/proc/self/fd/${descriptor}`)
        return file.startsWith(this.dir) && file.endsWith('.shard (deleted)') ? [file] : []
      } catch {
        return [] // the descriptor of the directory that is being read
      }
    })
  }

  find({ all, none, author, thread, caller, before, limit }: ModelSearch): number[] {
    const query: Query = { all: all.map(wordsOf), none: none.map(wordsOf) }
    const required = [
      ...(author === undefined ? [] : [marks.author(author)]),
      ...(thread === undefined ? [] : [marks.thread(thread)]),
    ]
    const search = {
      publicMatch: matchOf(query, required),
      privateMatch: caller === -1 ? '' : matchOf(query, [marks.member(caller), ...required]),
      parts: 2 ** Math.floor(6 * this.random()),
      before,
      limit,
    }
    const found = [...this.index.search(search)].flatMap(({ messages }) => messages)
    return found.slice(0, limit)
  }

  randomSearch(): ModelSearch {
    const { random } = this
    const words = () => {
      const text = random() < 0.15 ? `only${Math.floor(random() * this.messages.length)}` : pick()
      return random() < 0.2 ? `${text} ${pick()}` : text
    }
    const pick = () => typeable[Math.floor(random() ** 2 * typeable.length)]!
    const some = (most: number) => Array.from({ length: Math.floor(random() * most) }, words)
    const all = some(4)
    const author = all.length === 0 || random() < 0.2 ? Math.floor(random() * 5) : undefined
    return {
      all,
      none: some(1.5),
      ...(author !== undefined && { author }),
      ...(random() < 0.2 && { thread: Math.floor(random() * 7) }),
      caller: Math.floor(random() * 5) - 1,
      before: random() < 0.5 ? this.messages.length : Math.floor(random() * this.messages.length),
      limit: 1 + Math.floor(random() * 30),
    }
  }

  /** Compares the results of the index with those of the naive search. */
  compare(t: Test, searches: number): void {
    for (let i = 0; i < searches; i++) {
      const search = this.randomSearch()
      const found = this.find(search)
      const expected = naiveSearch(this.messages, search)
      if (`${found}` !== `${expected}`) t.same(found, expected, JSON.stringify(search))
    }
  }
}

function idOf(message: number): string {
  return `id-${message}`
}

function entryOf(message: Message): Entry[] {
  const { number, texts, author, thread, members, isRemoved } = message
  if (isRemoved) return []
  const words = [
    marks.author(author),
    marks.thread(thread),
    ...(members ?? []).map(marks.member),
    texts.map(spacedWords).join(` ${marks.border} `),
  ]
  return [{ message: number, isPublic: members === null, words: words.join(' ') }]
}
