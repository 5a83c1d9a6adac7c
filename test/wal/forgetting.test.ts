// The calculation of which page files may hold old copies of a page, compared with a list of all
// copies that were ever written, while pages fill, change, and move out of files that are emptied.

import fc from 'fast-check'
import t from 'tap'
import { filesWithCopies, withOlderCopies } from '../../wal/checkpoint/forgetting.ts'
import { PageTable } from '../../wal/checkpoint/paged-store.ts'

const pageBytes = 10

type Step =
  | { do: 'append'; bytes: number }
  | { do: 'erase'; page: number }
  | { do: 'empty'; file: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('append' as const), bytes: fc.nat(9) }),
  fc.record({ do: fc.constant('erase' as const), page: fc.nat(40) }),
  fc.record({ do: fc.constant('empty' as const), file: fc.nat(40) }),
)

/** Simulates the checkpoints of one store; one is taken after each step. */
function run(steps: readonly Step[]): void {
  let table = new PageTable(0, pageBytes)
  /** For each file, the pages of which it has copies. */
  const copies = new Map<number, Set<number>>()
  let number = 0
  for (const each of steps) {
    number += 1
    const files = [...copies.keys()]
    const dirty = new Set<number>()
    let bytes = table.bytes
    let emptied = new Set<number>()
    let erased = -1
    if (each.do === 'append') bytes += each.bytes
    else if (each.do === 'empty') {
      if (files.length > 0) emptied.add(files[each.file % files.length]!)
    } else if (table.pages > 0) {
      erased = each.page % table.pages
      dirty.add(erased)
      emptied = filesWithCopies(table, files, [erased])
    }
    emptied = withOlderCopies(table, files, emptied)
    const next = new PageTable(bytes, pageBytes)
    const written = new Set<number>()
    for (let page = 0; page < next.pages; page++) {
      const hasGrown = page >= table.pages || next.lengthOf(page) !== table.lengthOf(page)
      if (hasGrown || dirty.has(page) || emptied.has(table.files[page]!)) {
        next.set(page, number, 0, 0)
        written.add(page)
      } else next.copy(page, table)
    }
    table = next
    if (written.size > 0) copies.set(number, written)
    const named = new Set(table.files)
    for (const file of files) if (!named.has(file)) copies.delete(file)
    const old = [...copies].filter(([file, pages]) => file !== number && pages.has(erased))
    if (old.length > 0) throw new Error(`page ${erased}: old copies in files ${old}`)
  }
}

t.test('an erased page: no file that is left has an older copy', async () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 40, size: 'max' }), run), { numRuns: 2000 })
})

t.test('files in order: none is emptied with another', async (t) => {
  const table = new PageTable(60, pageBytes)
  for (const [page, file] of [2, 2, 4, 4, 6, 6].entries()) table.set(page, file, 0, 0)
  t.same([...withOlderCopies(table, [2, 4, 6], new Set([2]))], [2])
  t.same([...withOlderCopies(table, [2, 4, 6], new Set([4]))], [4])
})
