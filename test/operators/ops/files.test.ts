// The scripts of the dashboard: exactly those of the sources, and nothing that an earlier build has
// left in dist/.

import { readdirSync } from 'node:fs'
import t from 'tap'
import { dashboardFiles } from '../../../src/operators/ops/files.ts'

const sources = new URL('../../../../src/people/browser/', import.meta.url)
/** These scripts belong to the pages for people. */
const ofPages = ['/news.ts']

t.test('a build of these sources alone: has each script that the dashboard serves', async (t) => {
  const served = [...dashboardFiles().keys()].filter((path) => {
    return path.endsWith('.js') && path !== '/uplot.js'
  })
  const written = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .map((name) => `/${name}`)
    .filter((name) => name.endsWith('.ts') && !ofPages.includes(name))
    .map((name) => name.replace(/ts$/, 'js'))
  t.same(served.sort(), written.sort())
})
