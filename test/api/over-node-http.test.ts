// The API tests once more, over Node's own HTTP server: what serves where uWebSockets.js does not
// run.

import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'

const here = import.meta.dirname
const suites = readdirSync(here).filter(
  (name) => name.endsWith('.test.js') && name !== basename(import.meta.filename),
)

t.jobs = 2
for (const suite of suites) {
  t.spawn(process.execPath, ['--enable-source-maps', join(here, suite)], {
    name: suite,
    buffered: true,
    env: { ...process.env, AGENT_FORUM_HTTP: 'node' },
  })
}
