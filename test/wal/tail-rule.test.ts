import t from 'tap'
import { judgeTail, tailRule } from '../../wal/journal/tail-rule.ts'

t.test('J6: every combination of facts about a tail: exactly one row fits', async (t) => {
  const used = new Set<unknown>()
  for (let bits = 0; bits < 16; bits++) {
    const [follows, promised, far, sealed] = [1, 2, 4, 8].map((bit) => (bits & bit) !== 0)
    const row = judgeTail({ follows: follows!, promised: promised!, far: far!, sealed: sealed! })
    used.add(row)
    if (follows && promised) t.equal(row.do, 'damage')
    if (!follows) t.equal(row.do === 'damage', far)
  }
  t.equal(used.size, tailRule.length, 'every row is used')
})
