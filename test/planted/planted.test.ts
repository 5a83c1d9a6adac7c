// Keeps the planted bugs usable (patches.ts): each applies to this tree, and its tests exist.

import { existsSync } from 'node:fs'
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
