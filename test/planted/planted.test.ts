// Keeps the planted bugs usable (patches.ts): each applies to this tree, its tests exist, and
// docs/faults.md says what has found it.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isFound, outcomesIn, readPage, withOutcomes } from './outcomes.ts'
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

t.test('planted bugs: docs/faults.md: has a row for each, with what found it', async (t) => {
  const page = readPage()
  const outcomes = outcomesIn(page)
  for (const { name } of plantedBugs()) {
    const outcome = outcomes.get(name)
    t.ok(outcome !== undefined && isFound(outcome), `${name}: npm run planted -- ${name}`)
  }
  t.equal(page, withOutcomes(page, plantedBugs(), outcomes), 'npm run planted writes the rows')
})
