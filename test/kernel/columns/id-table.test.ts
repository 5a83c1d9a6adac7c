import fc from 'fast-check'
import t from 'tap'
import { IdTable } from '../../../src/kernel/columns/id-table.ts'
import { isLinear } from '../../linear.ts'

/** Ids made of few distinct words, some of them zero, so that many ids differ in one word only. */
const word = fc.constantFrom('00000000', '00000001', '0000000a', 'ffffffff', 'deadbeef')
const id = fc.tuple(word, word, word, word).map((words) => words.join(''))

t.test('ids: any: added: each is found under its number, and nothing else', async () => {
  const property = fc.property(
    fc.uniqueArray(id, { maxLength: 60, size: 'max' }),
    id,
    (ids, other) => {
      const table = new IdTable()
      for (const [number, text] of ids.entries()) {
        if (table.add(text) !== number) throw new Error('numbers are not assigned in order')
      }
      if (table.count !== ids.length) throw new Error('the count is wrong')
      for (const [number, text] of ids.entries()) {
        if (table.find(text) !== number) throw new Error(`${text} is not ${number}`)
        if (table.hex(number) !== text) throw new Error(`${text} became ${table.hex(number)}`)
      }
      if (table.find(other) !== ids.indexOf(other)) throw new Error(`${other} is found wrongly`)
    },
  )
  fc.assert(property)
})

t.test('ids: behind a prefix: read from an offset: the prefix does not matter', async (t) => {
  const table = new IdTable()
  const hex = '0123456789abcdef0123456789abcdef'
  t.equal(table.add(`agt_${hex}`, 4), 0)
  t.equal(table.find(`thr_${hex}`, 4), 0)
  t.equal(table.find(hex), 0)
})

t.test('ids: longer text: the first 128 bits are the id, as for a digest', async (t) => {
  const table = new IdTable()
  const half = 'ab'.repeat(16)
  t.equal(table.find(half + 'cd'.repeat(16)), -1)
  table.add(half + 'cd'.repeat(16))
  t.equal(table.find(half), 0)
})

t.test(
  'ids: successive numbers, as in an archive made by hand: added in linear time',
  async (t) => {
    for (const digits of [32, 8]) {
      const add = (count: number) => {
        const table = new IdTable()
        for (let n = 0; n < count; n++) {
          table.add(n.toString(16).padStart(digits, '0').padEnd(32, '0'))
        }
        Array.from(table.fillIndexes())
      }
      t.ok(isLinear(add, 4_000), `${digits} digits`)
    }
  },
)
