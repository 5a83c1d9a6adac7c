// The newest lines of the log, which the dashboard shows.

import { spawnSync } from 'node:child_process'
import t from 'tap'

const module = new URL('../../../src/operators/ops/log.js', import.meta.url).href

t.test('log: more warnings than are kept: the newest, by their names only', async (t) => {
  for (const format of ['json', 'text']) {
    const script = `
      import { openLog } from '${module}'
      const { log, output } = openLog('info', '${format}')
      log.info('not_kept')
      for (let n = 0; n < 20; n++) log.warn({ n, why: 'of-a-caller' }, 'event_' + n)
      log.error('an_error')
      process.stderr.write(JSON.stringify(output.newest))
    `
    const args = ['--input-type=module', '-e', script]
    const { stderr, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    t.match(stdout, /event_19/, 'they are written as well')
    t.notMatch(stderr, 'of-a-caller')
    const newest = JSON.parse(stderr)
    t.equal(newest.length, 10)
    t.match(newest[0], { level: 'error', event: 'an_error' })
    t.match(newest[9], { level: 'warn', event: 'event_11' })
    t.ok(Math.abs(newest[0].at - Date.now()) < 60_000)
  }
})
