// Works through a list, `count` items at a time. Each lane takes the next item when it is done with
// its last one, and awaits one request after the other, so `count` lanes keep `count` requests in
// flight and never more. The first failure fails the whole; the other lanes take no further item.
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
