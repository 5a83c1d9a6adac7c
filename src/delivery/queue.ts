// A first-in, first-out queue. An array's own `shift` would move every item that stays.

const itemsBeforeCut = 1024

export class Queue<T> {
  #items: T[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  /** The item that has waited longest. The queue must not be empty. */
  get first(): T {
    return this.#items[this.#head]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Removes and returns the item that has waited longest. The queue must not be empty. */
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
