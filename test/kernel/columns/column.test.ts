import fc from 'fast-check'
import t from 'tap'

import type { Column } from '../../../src/kernel/columns/column.ts'
import {
  chunkRows,
  Float64Column,
  pageRows,
  Uint8Column,
  Uint16Column,
  Uint32Column,
} from '../../../src/kernel/columns/column.ts'

const kinds: [make: () => Column, most: number, entryBytes: number][] = [
  [() => new Uint8Column(), 2 ** 8 - 1, 1],
  [() => new Uint16Column(), 2 ** 16 - 1, 2],
  [() => new Uint32Column(), 2 ** 32 - 1, 4],
  [() => new Float64Column(), 2 ** 53 - 1, 8],
]

for (const [make, most, entryBytes] of kinds) {
  const name = make().constructor.name

  t.test(`${name}: random pushes and sets: read back: the same as an array`, async (t) => {
    const value = fc.oneof(fc.nat(255), fc.constant(most))
    const write = fc.record({ row: fc.nat(40), value })
    const run = fc.property(fc.array(write, { maxLength: 60 }), (writes) => {
      const column = make()
      const model: number[] = []
      for (const { row, value } of writes) {
        if (row < model.length) {
          column.set(row, value)
          model[row] = value
        } else if (column.push(value) !== model.push(value) - 1) return false
      }
      return column.length === model.length && model.every((each, i) => column.get(i) === each)
    })
    t.doesNotThrow(() => fc.assert(run))
  })

  t.test(`N1: ${name}: grown past a chunk: old chunks stay where they are`, async (t) => {
    const column = make()
    for (let i = 0; i < chunkRows; i++) column.push(i % 200)
    const first = column.room(0).buffer
    t.equal(column.push(77), chunkRows)
    t.equal(column.room(0).buffer, first)
    t.not(column.room(chunkRows / pageRows).buffer, first)
    t.equal(first.byteLength, chunkRows * entryBytes)
    t.same([column.get(0), column.get(chunkRows - 1), column.get(chunkRows)], [0, 135, 77])
    column.set(chunkRows, 78)
    t.same([column.get(0), column.get(chunkRows)], [0, 78])
  })

  t.test(`N2: ${name}: a row that does not exist: read or written: throws`, async (t) => {
    const column = make()
    column.push(1)
    for (const row of [-1, 1, chunkRows, Number.NaN]) {
      t.throws(() => column.get(row), RangeError)
      t.throws(() => column.set(row, 0), RangeError)
    }
    t.equal(column.length, 1)
  })
}

t.test('N3: a value the column cannot hold: pushed or set: throws, nothing changes', async (t) => {
  for (const [make, most, entryBytes] of kinds.slice(0, 3)) {
    const column = make()
    column.push(7)
    for (const value of [most + 1, -1, 0.5, Number.NaN]) {
      t.throws(() => column.push(value), { message: `${value} does not fit in a` })
      t.throws(() => column.set(0, value), RangeError)
      const isZero = column
        .room(0)
        .subarray(entryBytes)
        .every((byte) => byte === 0)
      t.same([column.length, column.get(0), isZero], [1, 7, true])
    }
  }
})
