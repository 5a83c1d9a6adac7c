import t from 'tap'
import { Meter, timedEvery } from '../../../src/edge/http/meter.ts'

t.test('meter: many requests: counted: every answer, one in sixteen timed', async (t) => {
  const meter = new Meter()
  const route = meter.add('reply')
  for (let i = 0; i < 10 * timedEvery; i++) route.count(i % 2 === 0 ? 201 : 404, meter.start())
  t.strictSame([...route.answers], [0, 0, 5 * timedEvery, 0, 5 * timedEvery, 0])
  t.equal(route.times.count, 10)
})

t.test('meter: an answer slower than every bound: counted: in the last bucket', async (t) => {
  const route = new Meter().add('reply')
  const hourMs = 3_600_000
  route.count(200, performance.now() - hourMs)
  t.equal(route.times.counts.at(-1), 1)
  t.ok(route.times.sum >= hourMs / 1000)
})
