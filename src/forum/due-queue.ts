// A priority queue of items by due time: a binary heap that knows the index of each item, so that
// an item is in it at most once and can be removed from any place.
//
//   #entries  [ earliest, …, … ]       the children of i are 2i + 1 and 2i + 2
//   #places   item ──▶ its index
//
// Q1. No item is due earlier than the first one.

interface Entry<T> {
  item: T
  at: number
}

export class DueQueue<T> {
  readonly #entries: Entry<T>[] = []
  readonly #places = new Map<T, number>()

  get size(): number {
    return this.#entries.length
  }

  /** When the first item is due; Infinity when there is none. */
  get nextAt(): number {
    return this.#entries.length === 0 ? Number.POSITIVE_INFINITY : this.#entries[0].at
  }

  /** Adds an item, or moves it to another time. */
  set(item: T, at: number): void {
    const place = this.#places.get(item) ?? this.#entries.length
    this.#rise(place, { item, at })
    this.#sink(this.#places.get(item)!, { item, at })
  }

  delete(item: T): void {
    const place = this.#places.get(item)
    if (place === undefined) return
    this.#places.delete(item)
    const last = this.#entries.pop()!
    if (last.item === item) return
    this.#rise(place, last)
    this.#sink(this.#places.get(last.item)!, last)
  }

  /** Removes and returns the first item if it is due at this time; otherwise undefined. */
  take(at: number): T | undefined {
    if (this.nextAt > at) return undefined
    const { item } = this.#entries[0]
    this.delete(item)
    return item
  }

  #put(place: number, entry: Entry<T>): void {
    this.#entries[place] = entry
    this.#places.set(entry.item, place)
  }

  #rise(from: number, entry: Entry<T>): void {
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (this.#entries[parent].at <= entry.at) break
      this.#put(place, this.#entries[parent])
      place = parent
    }
    this.#put(place, entry)
  }

  #sink(from: number, entry: Entry<T>): void {
    const { length } = this.#entries
    let place = from
    for (;;) {
      let child = 2 * place + 1
      if (child >= length) break
      if (child + 1 < length && this.#entries[child + 1].at < this.#entries[child].at) child += 1
      if (this.#entries[child].at >= entry.at) break
      this.#put(place, this.#entries[child])
      place = child
    }
    this.#put(place, entry)
  }
}
