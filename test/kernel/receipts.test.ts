import t from 'tap'
import { detailsOf, Receipts } from '../../src/kernel/receipts.ts'

const retentionMs = 24 * 3_600_000
const million = 1_000_000
const key = (n: number) => `key-of-a-caller-${n}`

t.test('R1: a key of one identity: looked up by it and by another: only its own', async (t) => {
  const receipts = new Receipts(retentionMs, 1)
  t.equal(receipts.find(3, 'same-key'), -1)
  receipts.add(3, 'same-key', 'thread', 17, 5)
  receipts.add(4, 'same-key', 'reply', 18, 6)
  const [third, fourth] = [receipts.find(3, 'same-key'), receipts.find(4, 'same-key')]
  t.same([receipts.operation(third), receipts.subject(third)], ['thread', 17])
  t.same([receipts.operation(fourth), receipts.subject(fourth)], ['reply', 18])
  t.equal(receipts.find(5, 'same-key'), -1)
  t.equal(receipts.find(3, 'same-kez'), -1)
  t.equal(receipts.count, 2)
})

t.test(
  'R1: a key is evicted in one run and kept in a replay: used again: one receipt',
  async (t) => {
    // The running node evicted the key before its second use; a replay with a longer retention has
    // not.
    const receipts = new Receipts(retentionMs, 1)
    receipts.add(3, 'same-key', 'thread', 17, 5)
    receipts.add(3, 'same-key', 'reply', 99, 7)
    t.equal(receipts.count, 1)
    const receipt = receipts.find(3, 'same-key')
    t.same([receipts.operation(receipt), receipts.subject(receipt)], ['reply', 99])
  },
)

t.test('R2: fewer than a million: years go by: none is evicted', async (t) => {
  const receipts = new Receipts(retentionMs, 1)
  for (let n = 0; n < 100; n++) receipts.add(0, key(n), 'reply', n, n * 365 * retentionMs)
  t.equal(receipts.count, 100)
  t.equal(receipts.subject(receipts.find(0, key(0))), 0)
})

t.test('R2, R3: a million and more: evicted oldest first, only when old', async (t) => {
  const receipts = new Receipts(retentionMs, 0xffffffff)
  const known = (n: number) => receipts.find(n % 7, key(n)) !== -1
  // The newest million are younger than the retention, so more than a million are kept.
  for (let n = 0; n < million + 10; n++) receipts.add(n % 7, key(n), 'reply', n, n)
  t.equal(receipts.count, million + 10)
  let lost = 0
  for (let n = 0; n < million + 10; n++) {
    const receipt = receipts.find(n % 7, key(n))
    if (receipt === -1 || receipts.subject(receipt) !== n) lost += 1
  }
  t.equal(lost, 0, 'R3: a million similar keys, all different')

  let n = million + 10
  const add = (at: number) => receipts.add(n % 7, key(n), 'reply', n++, at)
  add(3 + retentionMs)
  t.same([known(0), known(1), known(2), known(3)], [false, false, false, true], '3 is young enough')
  t.equal(receipts.count, million + 8)

  add(900_000 + retentionMs)
  t.equal(receipts.count, million, 'the newest million stays, however old')
  t.same([known(11), known(12)], [false, true])
  t.ok(known(n - 1))

  // Numbers are reused: the old receipts are gone, and the new ones are correct.
  for (let i = 0; i < 20; i++) add(910_000 + retentionMs)
  t.equal(receipts.count, million)
  t.same([known(30), known(31), known(32)], [false, false, true])
  for (let i = 1; i <= 20; i++)
    t.equal(receipts.subject(receipts.find((n - i) % 7, key(n - i))), n - i)
  receipts.add(0, key(0), 'thread', 5, 920_000 + retentionMs)
  t.equal(receipts.operation(receipts.find(0, key(0))), 'thread', 'a forgotten key is free')
})

t.test('R2: many receipts expire at once: each addition evicts only a few', async (t) => {
  const receipts = new Receipts(retentionMs, 1)
  for (let n = 0; n < million + 100; n++) receipts.add(n % 7, key(n), 'reply', n, n)
  const late = 2 * million + retentionMs
  receipts.add(0, 'late-key-0', 'reply', 0, late)
  t.equal(receipts.count, million + 85, 'no pause: each addition does a little work')
  receipts.add(16 % 7, key(16), 'thread', 5, late) // the oldest one, which is about to be evicted
  const usedAgain = receipts.find(16 % 7, key(16))
  t.ok(usedAgain !== -1 && receipts.operation(usedAgain) === 'thread', 'R1')
  for (let n = 1; n < 8; n++) receipts.add(0, `late-key-${n}`, 'reply', n, late)
  t.equal(receipts.count, million, 'soon all old ones are gone')
})

t.test('R4: details: the same for the same values, 0 for none, others for others', async (t) => {
  const [seen, expected] = [{ seenSeq: 7 }, { expectSeq: 7 }]
  t.equal(detailsOf({}), 0)
  t.equal(detailsOf({ seenSeq: undefined }), 0)
  t.equal(detailsOf({ ...seen, expectSeq: undefined }), detailsOf(seen))
  const all = [{}, seen, expected, { seenSeq: 8 }, { ...expected, ...seen }].map(detailsOf)
  t.equal(new Set(all).size, all.length)
  const receipts = new Receipts(retentionMs, 1)
  receipts.add(3, 'same-key', 'reply', 17, 5, detailsOf(seen))
  receipts.add(3, 'other-key', 'reply', 18, 6)
  t.equal(receipts.details(receipts.find(3, 'same-key')), detailsOf(seen))
  t.equal(receipts.details(receipts.find(3, 'other-key')), 0)
})
