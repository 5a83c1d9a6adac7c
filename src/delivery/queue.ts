// First in, first out. An array's own `shift` moves every item that stays.

const itemsBeforeCut = 1024

export class Queue<T> {
  #items: T[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  /** The item that has waited longest. Only when there is one. */
  get first(): T {
    return this.#items[this.#head]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Takes out the item that has waited longest. Only when there is one. */
  shift(): T {
    const item = this.#items[this.#head]
    this.#head += 1
    const isMostlyGone = this.#head >= itemsBeforeCut && this.#head * 2 >= this.#items.length
    if (this.length === 0 || isMostlyGone) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
