// The limits that depend on each other.

import t from 'tap'
import { parseConfig } from '../../src/config/config.ts'

t.test('config: polls that wait: never all of the connections', async (t) => {
  const waiting = (...args: string[]) => parseConfig(args, {}).nodeLimits.waitingPollsMax
  t.equal(waiting('--connections-max', '100'), 87)
  t.equal(waiting('--connections-max', '100', '--waiting-max', '10'), 10)
  t.equal(waiting('--waiting-max', '0'), 0)
})
