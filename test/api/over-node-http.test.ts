// API tests once more, over Node's own HTTP server, which serves where uWebSockets.js does not run.
// `npm test` takes the suites that exercise the wire: what an adapter does by itself with heads,
// bodies, connections and answers. `npm run test:deep` takes all, without those that ask no server,
// send webhooks at length, or are about what lies behind the edge. So does `npm run test:node -- 24`,
// where this server is the only one.

import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { isDeep, timeoutMs } from '../depth.ts'

const here = import.meta.dirname
const wire = ['bodies', 'connections', 'hostile', 'limits', 'methods', 'slow-clients', 'threads']
const leftOut = ['document', 'openapi', 'wakeups', 'checkpoints', 'restart']
const suites = readdirSync(here).filter((name) => {
  if (name === basename(import.meta.filename)) return false
  const suite = basename(name, '.test.js')
  return name.endsWith('.test.js') && (isDeep ? !leftOut.includes(suite) : wire.includes(suite))
})

t.jobs = 2
t.setTimeout(timeoutMs)
t.ok(suites.length >= wire.length, `${suites.length} suites`)
for (const suite of suites) {
  t.spawn(process.execPath, ['--enable-source-maps', join(here, suite)], {
    name: suite,
    buffered: true,
    env: { ...process.env, AGENT_FORUM_HTTP: 'node' },
  })
}
