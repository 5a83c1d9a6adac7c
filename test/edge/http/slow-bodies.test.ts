// Bodies that take too long are aborted, and no others.

import t from 'tap'
import { SlowBodies } from '../../../src/edge/http/slow-bodies.ts'

class Body {
  cuts = 0
  abort(): void {
    this.cuts += 1
  }
}

t.test('slow bodies: past their time: aborted once; others continue', async (t) => {
  const slow = new SlowBodies<Body>(10_000)
  t.teardown(() => slow.stop())
  const [late, ended] = [new Body(), new Body()]
  const begunMs = performance.now()
  slow.add(late)
  slow.add(ended)
  slow.delete(ended)
  slow.abortDue(begunMs + 9_999)
  t.equal(late.cuts, 0)
  slow.abortDue(performance.now() + 10_000)
  slow.abortDue(performance.now() + 20_000)
  t.strictSame([late.cuts, ended.cuts], [1, 0])
})
