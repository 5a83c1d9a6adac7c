// The API tests once more, over Node's own HTTP server, which serves where uWebSockets.js
// does not run. Suites that ask no server, send webhooks at length, or are about what lies behind
// the edge are left out.

import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'

const here = import.meta.dirname
const leftOut = ['document', 'openapi', 'wakeups', 'checkpoints', 'restart']
const suites = readdirSync(here).filter((name) => {
  if (name === basename(import.meta.filename)) return false
  return name.endsWith('.test.js') && !leftOut.includes(basename(name, '.test.js'))
})

t.jobs = 2
t.setTimeout(900_000) // it is as long as all the others
for (const suite of suites) {
  t.spawn(process.execPath, ['--enable-source-maps', join(here, suite)], {
    name: suite,
    buffered: true,
    env: { ...process.env, AGENT_FORUM_HTTP: 'node' },
  })
}
