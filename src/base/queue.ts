// A first-in, first-out queue. The `shift` of an array moves every item that stays; here a part of
// them is moved now and then, so `push` and `shift` take constant time on average.
//
//   #items   [ taken … taken │ first … last ]
//                              ▲ #head
//
// Q1. The queue holds on to no more taken items than items that wait.

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
