// A first-in, first-out queue. The `shift` of an array moves all remaining items. This queue moves
// them only when the taken items outnumber them, so `push` and `shift` take amortized constant
// time.
//
//   #items   [ taken … taken │ first … last ]
//                              ▲ #head
//
// Q1. The queue retains no more taken items than waiting ones.

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
    const item = this.first
    this.#head += 1
    if (this.#head > this.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
