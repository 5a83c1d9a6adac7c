import t from 'tap'
import { Backoff } from '../../src/base/pauses.ts'

t.test('backoff: attempt after attempt: twice as long up to the limit, short again', async (t) => {
  const backoff = new Backoff(100, 500)
  t.strictSame(
    Array.from({ length: 5 }, () => backoff.next()),
    [100, 200, 400, 500, 500],
  )
  backoff.reset()
  t.equal(backoff.next(), 100)
})
