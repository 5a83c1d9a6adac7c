import t from 'tap'

import { measure } from '../../bench/actor-step.ts'

t.test('bench actor-step: 300 steps each way: the contexts read back are the same', async (t) => {
  const results = measure(300)
  t.equal(results.length, 4)
  for (const { way, contexts } of results) t.same(contexts, results[0].contexts, way)
  t.equal(results[0].contexts[0].messageCount, 101)
})
