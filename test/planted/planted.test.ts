// Keeps the planted bugs usable (patches.ts): each applies to this tree, names tests that exist,
// and has its row in docs/faults.md.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { complaintOf, plantedBugs, top } from './patches.ts'

t.test('planted bugs: each patch: applies, and its predicted tests exist', async (t) => {
  const bugs = plantedBugs()
  t.ok(bugs.length >= 40, `${bugs.length} patches`)
  for (const bug of bugs) {
    t.equal(await complaintOf(bug), null, `${bug.name}: mend it: npm run planted -- ${bug.name}`)
    for (const name of bug.foundBy) {
      t.ok(existsSync(join(top, `test/${name}.test.ts`)), `${bug.name}: test/${name}.test.ts`)
    }
  }
})

t.test('planted bugs: docs/faults.md: has a row for each, and for no other', async (t) => {
  const page = readFileSync(join(top, 'docs/faults.md'), 'utf8')
  const [, section = ''] = page.split('\n## Planted bugs\n')
  const rows = [...section.matchAll(/^\| ([a-z-]+) \| ([^|]+) \|/gm)]
  t.same(
    rows.map(([, name, mistake]) => [name, mistake]),
    [['bug', 'mistake'], ...plantedBugs().map(({ name, mistake }) => [name, mistake])],
    'npm run planted prints the rows',
  )
})
