// A binary heap whose entries know their own index, so that any of them can be moved or deleted.
//
//   #entries   [ least, …, … ]        the children of i are 2i + 1 and 2i + 2
//
// H1. No entry has a smaller key than the first one.
// H2. The `heapIndex` of each entry is its index. Only the heap writes it.

export interface HeapEntry {
  /** The caller must call `moved` after changing it. */
  key: number
  heapIndex: number
}

export class Heap<E extends HeapEntry> {
  readonly #entries: E[] = []

  get size(): number {
    return this.#entries.length
  }

  /** The entry with the smallest key. The heap must not be empty. */
  get first(): E {
    return this.#entries[0]
  }

  add(entry: E): void {
    this.#rise(this.#entries.length, entry)
  }

  /** Restores the order after the key of an entry in the heap has changed. */
  moved(entry: E): void {
    const { heapIndex, key } = entry
    const isLess = heapIndex > 0 && this.#entries[(heapIndex - 1) >> 1].key > key
    if (isLess) this.#rise(heapIndex, entry)
    else this.#sink(heapIndex, entry)
  }

  /** Removes an entry, which must be in the heap. */
  delete(entry: E): void {
    const last = this.#entries.pop()!
    if (last === entry) return
    last.heapIndex = entry.heapIndex
    this.moved(last)
  }

  #rise(from: number, entry: E): void {
    const entries = this.#entries
    let index = from
    while (index > 0) {
      const parent = entries[(index - 1) >> 1]
      if (parent.key <= entry.key) break
      const above = parent.heapIndex
      entries[index] = parent
      parent.heapIndex = index
      index = above
    }
    entries[index] = entry
    entry.heapIndex = index
  }

  #sink(from: number, entry: E): void {
    const entries = this.#entries
    const { length } = entries
    const { key } = entry
    let index = from
    for (;;) {
      const left = 2 * index + 1
      if (left >= length) break
      let child = entries[left]
      if (left + 1 < length && entries[left + 1].key < child.key) child = entries[left + 1]
      if (child.key >= key) break
      const below = child.heapIndex
      entries[index] = child
      child.heapIndex = index
      index = below
    }
    entries[index] = entry
    entry.heapIndex = index
  }
}
