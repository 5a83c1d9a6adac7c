import t from 'tap'
import { startProgress } from '../../src/engine/storage/checkpoints.ts'
import type { Vitals } from '../../src/operators/ops/vitals.ts'

t.test('start: takes long: each step is reported, and logged now and then', async (t) => {
  for (const [everyMs, lines] of [
    [0, 2],
    [3_600_000, 0],
  ] as const) {
    const vitals = { start: { step: 'checkpoint', done: 0, of: 0 } } as Pick<Vitals, 'start'>
    const logged: unknown[] = []
    const log = { info: (...line: unknown[]) => logged.push(line) }
    const note = startProgress(vitals, log, everyMs)
    note('checkpoint', 3, 4)
    t.same(vitals.start, { step: 'checkpoint', done: 3, of: 4 })
    note('indexes', 1, 7)
    t.same(vitals.start, { step: 'indexes', done: 1, of: 7 })
    t.equal(logged.length, lines)
    if (lines > 0) t.same(logged[1], [{ step: 'indexes', done: 1, of: 7 }, 'starting'])
  }
})
