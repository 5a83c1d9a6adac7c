// Limits that depend on each other.

import os from 'node:os'
import t from 'tap'
import { parseConfig } from '../../src/config/config.ts'

t.test('config: polls that wait: never all of the connections', async (t) => {
  const waiting = (...args: string[]) => parseConfig(args, {}).nodeLimits.waiting
  t.strictSame(waiting('--connections-max', '100'), { max: 50_000, connectionsMax: 87 })
  const few = waiting('--connections-max', '100', '--waiting-max', '10')
  t.strictSame(few, { max: 10, connectionsMax: 87 })
  t.equal(waiting('--waiting-max', '0').max, 0)
})

t.test('config: more connections than files may be open: says what sets the limit', async (t) => {
  const config = () => parseConfig(['--connections-max', '1000000000'], {})
  t.throws(
    config,
    /--connections-max takes .* from 1 to \d+ with this `ulimit -n`, not "1000000000"$/,
  )
})

t.test('config: readers: a number, auto, or a sentence; memory is for all processes', (t) => {
  const config = (...args: string[]) => parseConfig(args, {})
  t.equal(config().readers, 0)
  t.equal(config('--readers', '3').readers, 3)
  t.equal(config('--readers', 'auto').readers, Math.max(0, os.availableParallelism() - 2))
  for (const wrong of ['257', 'many', '']) {
    t.throws(
      () => config('--readers', wrong),
      /--readers takes a whole number from 0 to 256, or auto/,
    )
  }
  const memory = ['--memory-mb', '400', '--text-memory-mb', '100']
  const { memoryBytesMax, textBytesMax } = config(...memory, '--readers', '3').nodeLimits
  t.same([memoryBytesMax, textBytesMax], [100 * 2 ** 20, 25 * 2 ** 20])
  t.end()
})
