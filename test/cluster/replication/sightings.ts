// The answers and pages that callers of several nodes have received, and the check that all of them
// belong to one history. A place is where callers connect: one node, through all of its lives.
//
// S1. In the end every node has the same messages in the same threads at the same positions.
// S2. A write that was answered is there once, as it was answered, wherever it was sent and however
//     often it was repeated.
// S3. A write with an unknown outcome is there at most once.
// S4. A page of a thread or a feed is a part of the one history without a gap: the messages after
//     the given position, in order, up to the newest message that the page shows.
// S5. No position belongs to two messages.
// S6. A place never goes back: whatever one of its pages showed, every later page of it shows.
// S7. A caller reads its own writes where it wrote them.

/** The compared parts of a message or of an item of a feed. */
export interface Shown {
  seq: number
  id: string
  /** The whole item as JSON, which must be the same at all nodes. */
  json: string
}

/** One page: the part of `list` after a position, as a place showed it. */
export interface Page {
  place: string
  /** The thread or the feed, by its path. */
  list: string
  after: number
  items: readonly Shown[]
  /** Whether the page ends before the list does. */
  hasMore: boolean
  /** The newest position of the list that this place was known to show before the request. */
  atLeast: number
  /** The messages of the list that had been acknowledged at this place before the request. */
  acknowledged: readonly Own[]
}

/** A message that a caller published and must see from then on. */
interface Own {
  id: string
  /** A position before the message's: the newest one anywhere before the message was sent. */
  behind: number
}

/** The number of a place's newest writes to a list that its pages are searched for. */
const ownMax = 100

export interface Acknowledged {
  key: string
  place: string
  list: string
  id: string
  content: string
  behind: number
}

/** The lists of one place in the end. */
export type Final = ReadonlyMap<string, readonly Shown[]>

export class Sightings {
  readonly pages: Page[] = []
  readonly acknowledged = new Map<string, Acknowledged>()
  /** The contradictions that were detected as soon as they were seen. */
  readonly found: string[] = []
  readonly #idAt = new Map<number, string>()
  readonly #newest = new Map<string, number>()
  readonly #ownAt = new Map<string, Own[]>()

  /** Returns what a page must show that is requested now. */
  expectation(place: string, list: string): Pick<Page, 'atLeast' | 'acknowledged'> {
    const at = `${place} ${list}`
    const acknowledged = [...(this.#ownAt.get(at) ?? [])]
    return { atLeast: this.#newest.get(at) ?? 0, acknowledged }
  }

  /** The newest position that any place has shown. */
  get newest(): number {
    return Math.max(0, ...this.#newest.values())
  }

  /** Remembers an answer to a write. */
  acknowledge(write: Acknowledged): void {
    const earlier = this.acknowledged.get(write.key)
    if (earlier !== undefined && earlier.id !== write.id) {
      this.found.push(`S2: ${write.key} is ${earlier.id} at ${earlier.place}, ${write.id} later`)
    }
    this.acknowledged.set(write.key, write)
    const at = `${write.place} ${write.list}`
    const { id, behind } = write
    const own = this.#ownAt.get(at) ?? []
    this.#ownAt.set(at, [...own.slice(1 - ownMax), { id, behind }])
  }

  /** Remembers a page. */
  see(page: Page): void {
    const { place, list, items, hasMore } = page
    let last = page.after
    for (const { seq, id } of items) {
      if (seq <= last) this.found.push(`S4: ${list} at ${place}: ${seq} follows ${last}`)
      last = seq
      this.#sawAt(seq, id, place)
    }
    if (!hasMore && page.after < page.atLeast && last < page.atLeast) {
      this.found.push(`S6: ${list} at ${place} ends at ${last}, and showed ${page.atLeast} before`)
    }
    if (!hasMore) this.#compareOwn(page)
    const at = `${place} ${list}`
    this.#newest.set(at, Math.max(last, this.#newest.get(at) ?? 0))
    this.pages.push(page)
  }

  #compareOwn({ place, list, after, items, acknowledged }: Page): void {
    const ids = new Set(items.map(({ id }) => id))
    for (const { id, behind } of acknowledged) {
      if (behind >= after && !ids.has(id))
        this.found.push(`S7: ${list} at ${place} lacks ${id}, written there`)
    }
  }

  #sawAt(seq: number, id: string, place: string): void {
    const known = this.#idAt.get(seq)
    if (known === undefined) this.#idAt.set(seq, id)
    else if (known !== id) this.found.push(`S5: ${seq} is ${known} and, at ${place}, ${id}`)
  }

  /** Returns everything that contradicts one history, which the places show in the end. */
  differences(finals: ReadonlyMap<string, Final>): string[] {
    const [[firstPlace, final], ...others] = [...finals] as [[string, Final], ...[string, Final][]]
    for (const [list, items] of final) {
      for (const { seq, id } of items) this.#sawAt(seq, id, `${firstPlace}, ${list}, in the end`)
    }
    const found = [...this.found]
    for (const [place, other] of others)
      found.push(...compareFinals(firstPlace, final, place, other))
    found.push(...this.#compareWrites(final))
    for (const page of this.pages) {
      const difference = comparePage(page, final.get(page.list) ?? [])
      if (difference !== null) found.push(difference)
    }
    return found
  }

  #compareWrites(final: Final): string[] {
    const found: string[] = []
    const listOf = new Map<string, string>()
    const contents = new Map<string, string>()
    for (const [list, items] of final) {
      if (!list.startsWith('/api/threads/')) continue // a feed contains only references to messages
      for (const { id, json } of items) {
        if (listOf.has(id)) found.push(`S2: ${id} is there twice`)
        listOf.set(id, list)
        const { content } = JSON.parse(json) as { content: string }
        const earlier = contents.get(content)
        if (earlier !== undefined) found.push(`S3: ${earlier} and ${id} are one write: ${content}`)
        contents.set(content, id)
      }
    }
    for (const { key, id, list, content, place } of this.acknowledged.values()) {
      if (contents.get(content) !== id || listOf.get(id) !== list) {
        found.push(`S2: ${key}, acknowledged at ${place} as ${id}, is not there`)
      }
    }
    return found
  }
}

function compareFinals(firstPlace: string, first: Final, place: string, other: Final): string[] {
  const found: string[] = []
  for (const list of new Set([...first.keys(), ...other.keys()])) {
    const [one, two] = [first.get(list) ?? [], other.get(list) ?? []]
    const at = one.findIndex(({ json }, n) => json !== two[n]?.json)
    if (at === -1 && one.length === two.length) continue
    const n = at === -1 ? one.length : at
    const [here, there] = [one[n]?.json ?? 'nothing', two[n]?.json ?? 'nothing']
    found.push(`S1: ${list}: item ${n} at ${firstPlace} is ${here}; at ${place}: ${there}`)
  }
  return found
}

/** Returns the first difference between a page and the same part of the whole list, or null. */
function comparePage({ place, list, after, items }: Page, all: readonly Shown[]): string | null {
  const last = items.at(-1)?.seq ?? after
  const expected = all.filter(({ seq }) => seq > after && seq <= last)
  const at = items.findIndex(({ json }, n) => json !== expected[n]?.json)
  if (at === -1 && items.length === expected.length) return null
  const n = at === -1 ? items.length : at
  const [seen, is] = [items[n]?.json ?? 'nothing', expected[n]?.json ?? 'nothing']
  return `S4: ${list} after ${after} at ${place}: item ${n} was ${seen}; it is ${is}`
}
