// A smoke of `npm run soak`: a minute of it, with one kill.

import { execFile } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { timeoutMs } from '../depth.ts'

t.setTimeout(timeoutMs)

t.test('soak: a minute: killed once, nothing grows, and the page has its plots', async (t) => {
  const file = join(tmpdir(), `soak-${process.pid}.html`)
  const ending = new AbortController()
  t.teardown(() => {
    ending.abort()
    rmSync(file, { force: true })
  })
  const args = [join(import.meta.dirname, 'soak.js'), '--minutes', '1', '--html', file]
  const { stdout } = await promisify(execFile)(process.execPath, args, ending)
  t.match(stdout, /killed, and back in life 2/)
  t.match(stdout, /^(ok|too short to judge): descriptors/m)
  t.match(stdout, /^2 lives, [1-9]\d* answers, \d+ lost, [1-9]\d* wakeups/m)
  const page = readFileSync(file, 'utf8')
  t.equal(page.split('<svg').length - 1, 7, 'plots')
  t.match(page, /: resident memory, by life: /)
})
