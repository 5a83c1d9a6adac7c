// Pages that name tests: docs/faults.md and docs/track-record.md. What they name must be there.

import { readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../../../', import.meta.url)
const named = /`(test\/[\w./-]+\.ts)` "([^"]+)"/g

/** Rows of the page's tables, without their heads. */
function rowsOf(page: string): string[] {
  const lines = readFileSync(new URL(page, root), 'utf8').split('\n')
  return lines.filter((line, i) => /^\| /.test(line) && !/^\|[-|]+$/.test(lines[i + 1] ?? ''))
}

for (const page of ['docs/faults.md', 'docs/track-record.md']) {
  t.test(`${page}: every row: names tests that there are`, async (t) => {
    for (const row of rowsOf(page)) {
      const tests = [...row.matchAll(named)]
      if (tests.length === 0) t.fail(`names no test: ${row}`)
      for (const [, file, name] of tests) {
        const text = readFileSync(new URL(file, root), 'utf8')
        if (!text.includes(name)) t.fail(`${file} has no test "${name}"`)
      }
    }
    t.ok(rowsOf(page).length > 0, 'it has rows')
  })
}
