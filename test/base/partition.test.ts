// Goal:   the boundary is found wherever it is, with few comparisons, and with even fewer near the
//         end.
// Method: every boundary of every length up to 200, compared with counting.

import t from 'tap'
import { partition } from '../../src/base/partition.ts'

t.test('partition: any length, any border: found, with few looks near the end', async (t) => {
  for (let count = 0; count <= 200; count++) {
    for (let border = 0; border <= count; border++) {
      let looks = 0
      const found = partition(count, (i) => {
        looks += 1
        return i < border
      })
      const looksMax = 2 * Math.ceil(Math.log2(count - border + 1)) + 2
      if (found !== border) t.fail(`${found} was found instead of ${border} of ${count}`)
      if (looks > looksMax) t.fail(`${looks} looks for ${border} of ${count}`)
    }
  }
})
