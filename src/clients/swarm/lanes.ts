// Processes a list with `count` lanes. Each lane takes the next item when it has finished its last
// one, and awaits one request after the other, so that at most `count` requests are in flight. The
// first failure rejects the returned promise; the other lanes take no further items.
export async function inLanes<Item>(
  count: number,
  items: Iterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const remaining = items[Symbol.iterator]()
  let failed = false
  const lane = async () => {
    for (let next = remaining.next(); !next.done && !failed; next = remaining.next()) {
      await work(next.value)
    }
  }
  const guarded = () =>
    lane().catch((error) => {
      failed = true
      throw error
    })
  await Promise.all(Array.from({ length: count }, guarded))
}
