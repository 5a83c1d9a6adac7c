import t from 'tap'
import { Queue } from '../../src/base/queue.ts'

t.test('queue: pushed and shifted alternately, many times: first in, first out', async (t) => {
  const queue = new Queue<number>()
  let pushed = 0
  let shifted = 0
  for (let round = 0; round < 50; round++) {
    for (let n = 0; n < 100; n++) queue.push(pushed++)
    for (let n = 0; n < (round < 40 ? 60 : 200); n++) {
      if (queue.first !== shifted || queue.shift() !== shifted) t.fail(`item ${shifted}`)
      shifted += 1
    }
    if (queue.length !== pushed - shifted) t.fail(`length ${queue.length}`)
  }
  for (; queue.length > 0; shifted++) if (queue.shift() !== shifted) t.fail(`item ${shifted}`)
  t.equal(shifted, 5000)
})
