import fc from 'fast-check'
import t from 'tap'
import { Lists } from '../../../src/kernel/columns/lists.ts'
import { PageTable } from '../../../wal/checkpoint/paged-store.ts'

const change = fc.oneof(
  { weight: 1, arbitrary: fc.record({ does: fc.constant('add' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('push' as const),
      list: fc.nat(),
      times: fc.constantFrom(1, 1, 2, 9, 40),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('remove' as const), list: fc.nat(), at: fc.nat() }),
  },
)

t.test('L1, L2: lists grow and shrink in turn: each holds its items, in its order', async () => {
  const property = fc.property(fc.array(change, { maxLength: 80, size: 'max' }), (changes) => {
    const lists = new Lists()
    const model: number[][] = []
    let item = 0xffffff00
    for (const step of changes) {
      if (step.does === 'add' || model.length === 0) {
        if (lists.add() !== model.length) throw new Error('numbers are not assigned in order')
        model.push([])
        continue
      }
      const list = step.list % model.length
      const items = model[list]
      if (step.does === 'push') {
        for (let i = 0; i < step.times; i++) {
          item = (item + 1) >>> 0
          lists.push(list, item)
          items.push(item)
        }
      } else if (items.length > 0) {
        const at = step.at % items.length
        const last = items.pop()!
        const moved = at === items.length ? -1 : last
        if (moved !== -1) items[at] = moved
        if (lists.removeAt(list, at) !== moved) throw new Error('another item was moved')
      }
    }
    for (const [list, items] of model.entries()) compare(lists, list, items)
  })
  fc.assert(property, { numRuns: 300 })
})

function compare(lists: Lists, list: number, items: number[]): void {
  if (lists.length(list) !== items.length) throw new Error(`list ${list} has another length`)
  for (const [i, item] of items.entries()) {
    if (lists.get(list, i) !== item) throw new Error(`list ${list} has another item ${i}`)
    if (!lists.includes(list, item)) throw new Error(`list ${list} does not include item ${i}`)
  }
  const from = items.length >> 1
  const copied = new Uint32Array(items.length)
  lists.copy(list, from, items.length, copied)
  const isCopied = items.slice(from).every((item, i) => copied[i] === item)
  if (!isCopied) throw new Error(`list ${list} has other items when copied`)
  if (lists.includes(list, 0x80000000))
    throw new Error(`list ${list} includes what was never in it`)
}

t.test('L3: a list grows beyond a chunk between small ones: all items stay', async (t) => {
  const lists = new Lists()
  const [before, large, after] = [lists.add(), lists.add(), lists.add()]
  const count = 700_000 // blocks of 2^18 words fill a chunk; this list needs one of 2^20
  lists.push(before, 11)
  for (let i = 0; i < count; i++) {
    lists.push(large, i)
    if (i % 100_000 === 0) lists.push(after, i)
  }
  let wrong = 0
  for (let i = 0; i < count; i++) if (lists.get(large, i) !== i) wrong += 1
  t.equal(wrong, 0)
  t.equal(lists.get(before, 0), 11)
  t.same(
    Array.from({ length: 7 }, (_, i) => lists.get(after, i)),
    [0, 1, 2, 3, 4, 5, 6].map((i) => i * 100_000),
  )
  t.equal(lists.removeAt(large, 3), count - 1, 'the last item crosses chunks')
  t.equal(lists.get(large, 3), count - 1)
  t.equal(lists.length(large), count - 1)
})

t.test('L2: half a million blocks are outgrown: the next lists reuse them', async (t) => {
  const lists = new Lists()
  const count = 500_000
  for (let list = 0; list < 2 * count; list++) lists.add()
  for (let list = 0; list < count; list++) for (let i = 0; i < 4; i++) lists.push(list, i)
  for (let list = 0; list < count; list++) lists.push(list, 4)
  const before = process.memoryUsage().arrayBuffers
  for (let list = count; list < 2 * count; list++) lists.push(list, list)
  const grown = process.memoryUsage().arrayBuffers - before
  t.ok(grown < 2 ** 20, `${grown} bytes: 8,000,000 would be new blocks for all`)
  t.equal(lists.get(0, 4), 4, 'and no list is overwritten')
  t.equal(lists.get(2 * count - 1, 0), 2 * count - 1)
})

t.test('L1: empty list: an item is removed: an assertion says so', async (t) => {
  const lists = new Lists()
  const list = lists.add()
  t.throws(() => lists.removeAt(list, 0), { code: 'ERR_ASSERTION' })
})

t.test('L2: freed blocks are saved and read: the next lists reuse them', async (t) => {
  const lists = new Lists()
  for (let list = 0; list < 60; list++) lists.add()
  for (let i = 0; i < 9; i++) for (let list = 0; list < 30; list++) lists.push(list, i)
  const copy = new Lists()
  for (const [name, store] of Object.entries(lists.stores)) {
    const bytes = store.freeze()
    const table = new PageTable(bytes, store.pageBytes)
    copy.stores[name].fill(bytes, table)
    copy.stores[name].room(0).set(store.room(0).subarray(0, bytes))
    store.thaw(table)
  }
  copy.restore([...lists.facts()])
  const wordBytes = copy.stores.words.freeze()
  copy.stores.words.thaw(null)
  for (let list = 30; list < 60; list++) copy.push(list, list)
  t.equal(copy.stores.words.freeze(), wordBytes, 'no new block was needed')
  for (let list = 0; list < 30; list++) t.equal(copy.get(list, 8), 8)
})
