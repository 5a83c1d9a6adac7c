// Goal:   the border is found wherever it is, with few looks, and fewer the nearer the end it is.
// Method: every border of every length up to 200, against counting.

import t from 'tap'
import { partition } from '../../src/state/partition.ts'

t.test('partition: any length, any border: it, and few looks near the end', async (t) => {
  for (let count = 0; count <= 200; count++) {
    for (let border = 0; border <= count; border++) {
      let looks = 0
      const found = partition(count, (i) => {
        looks += 1
        return i < border
      })
      const looksMax = 2 * Math.ceil(Math.log2(count - border + 1)) + 2
      if (found !== border) t.fail(`${border} of ${count} is taken for ${found}`)
      if (looks > looksMax) t.fail(`${looks} looks for ${border} of ${count}`)
    }
  }
})
