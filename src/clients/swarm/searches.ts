// Searches: a share of the requests while the swarm publishes, and a sample of all messages
// afterwards.
//
// S1. While the swarm publishes, every hit must be right: newest first, in its thread, by its
//     author, with the words that were searched for. Missing hits cannot be detected then, because
//     the index lags.
// S2. Afterwards, a search for words of a message in its thread must find exactly the messages that
//     have them. Only ASCII words are searched for. A text with other letters may have further
//     words, which Unicode defines.

import { setTimeout as sleep } from 'node:timers/promises'
import type { SearchHit } from '../../client/types.ts'
import { search } from './calls.ts'
import type { Client } from './client.ts'
import type { Differences } from './differences.ts'
import { WrongAnswer } from './failures.ts'
import type { PlannedThread } from './plan.ts'
import { type Place, placeOf } from './verify-items.ts'

const wordsMax = 2
const indexPatienceMs = 60_000
const indexPauseMs = 100
/** Spreads searches over the published messages; a prime. */
const stride = 7919

const beyondAscii = /\P{ASCII}/u
const words = /(?<![a-z0-9]|\P{ASCII})[a-z0-9]+(?![a-z0-9]|\P{ASCII})/gu

/** Returns the words that a text has for certain: those of ASCII, with nothing else beside them. */
function sureWords(text: string): string[] {
  return text.toLowerCase().match(words) ?? []
}

/** Returns the text by which a message is found. A thread's first one has also its title and id. */
function foundBy({ thread, index }: Place): string {
  const { text } = thread.messages[index]
  return index === 0 ? `${thread.id} ${thread.title} ${text}` : text
}

/** Returns a few words of a message, others for another `nth`, or null if none are certain. */
export function queryFor({ thread, index }: Place, nth: number): string[] | null {
  const known = sureWords(thread.messages[index].text)
  if (known.length === 0) return null
  const count = 1 + (nth % wordsMax)
  return Array.from({ length: count }, (_, i) => known[(nth * stride + i) % known.length])
}

/** The searches while the swarm publishes (S1). */
export class Searches {
  readonly #client: Client
  /** The number of searches for each other request. */
  readonly #perRequest: number
  readonly #places = new Map<string, Place>()
  readonly #published: Place[] = []
  #due = 0
  #count = 0

  /** `percent` of all requests are searches. */
  constructor(client: Client, percent: number) {
    this.#client = client
    this.#perRequest = percent / (100 - percent)
  }

  published(thread: PlannedThread, index: number): void {
    const place = { thread, index }
    this.#published.push(place)
    this.#places.set(thread.messages[index].id, place)
  }

  /** Searches if a search is due. Call it after each request. Throws WrongAnswer. */
  async sometimes(): Promise<void> {
    for (this.#due += this.#perRequest; this.#due >= 1; this.#due--) await this.search()
  }

  /** Searches once. Throws WrongAnswer. */
  async search(): Promise<void> {
    const nth = this.#count++
    const place = this.#published[(nth * stride) % this.#published.length]
    const words = queryFor(place, nth) ?? ['agent']
    const { thread, index } = place
    const narrow = [{}, { thread_id: thread.id }, { author_id: thread.messages[index].author.id }]
    const page = await search(this.#client, {
      q: words.join(' '),
      ...narrow[nth % narrow.length],
      limit: 20,
    })
    for (const hit of page.results) this.#check(hit, words)
  }

  #check(hit: SearchHit, words: readonly string[]): void {
    const place = this.#places.get(hit.message_id)
    if (place === undefined) return // from another run, or not answered yet
    const { thread, index } = place
    const { author, text } = thread.messages[index]
    const whole = foundBy(place)
    const has = beyondAscii.test(whole) ? null : sureWords(whole)
    const isRight =
      hit.thread_id === thread.id &&
      hit.title === thread.title &&
      hit.author_id === author.id &&
      hit.display_name === author.name &&
      text.includes(hit.excerpt) &&
      (has === null || words.every((word) => has.includes(word)))
    if (isRight) return
    const found = JSON.stringify(hit)
    throw new WrongAnswer(
      `a search for "${words.join(' ')}" found ${placeOf(thread, index)}, as ${found}`,
    )
  }
}

/** Waits until everything up to this position is indexed. Returns whether it is. */
export async function indexHas(
  client: Client,
  differences: Differences,
  seq: number,
): Promise<boolean> {
  const giveUpAt = performance.now() + indexPatienceMs
  for (;;) {
    const page = await search(client, { q: 'agent', limit: 1 })
    if (page.indexed_through >= seq) return true
    if (performance.now() > giveUpAt) {
      differences.add(`the index has everything up to ${page.indexed_through}, due: ${seq}`)
      return false
    }
    await sleep(indexPauseMs)
  }
}

/** Searches a thread for words of one of its messages, and compares (S2). Throws WrongAnswer. */
export async function verifySearch(
  client: Client,
  differences: Differences,
  { thread }: Place,
  query: readonly string[],
): Promise<boolean> {
  const [due, mayBe] = [[] as string[], new Set<string>()]
  for (const [index, { id }] of thread.messages.entries()) {
    const text = foundBy({ thread, index })
    const has = sureWords(text)
    if (query.every((word) => has.includes(word))) due.unshift(id)
    else if (beyondAscii.test(text)) mayBe.add(id)
  }
  const q = query.join(' ')
  const found: string[] = []
  for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
    const page = await search(client, { q, thread_id: thread.id, limit: 100, before })
    found.push(...page.results.map(({ message_id }) => message_id))
    before = page.next_before
  }
  const exact = found.filter((id) => !mayBe.has(id))
  const length = Math.max(due.length, exact.length)
  for (let i = 0; i < length; i++) {
    if (exact[i] === due[i]) continue
    differences.add(
      `thread ${thread.label}, a search for "${q}": hit ${i + 1} is ${exact[i] ?? 'missing'}, ` +
        `due: ${due[i] ?? 'nothing'}`,
    )
    return false
  }
  return true
}
