// Where there must be no index: its files are removed, and removed text counts as gone only then.

import fs, { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import pino from 'pino'
import t from 'tap'
import { AbsentIndex } from '../../../src/forum/search/host.ts'

t.test('no search: a file of the index cannot be removed: text is gone once it can', (t) => {
  const dir = t.testdir()
  const file = path.join(dir, 'search', '0000000000-0123abcd.shard')
  mkdirSync(path.dirname(file))
  writeFileSync(file, 'a word')
  const { rmSync } = fs
  const isAllowed = (is: boolean) => {
    fs.rmSync = is
      ? rmSync
      : () => {
          throw Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' })
        }
    syncBuiltinESMExports()
  }
  t.teardown(() => isAllowed(true))
  isAllowed(false)
  const lines: string[] = []
  const log = pino({}, { write: (line) => lines.push(line) })
  const index = new AbsentIndex(dir, log)
  t.match(lines, [/"why":"EPERM[^"]*","msg":"search_left"/])
  t.notOk(index.isGone(), 'what could not be removed is there')
  t.notOk(index.isGone())
  isAllowed(true)
  t.ok(index.isGone())
  t.notOk(existsSync(path.dirname(file)), 'nor is its directory')
  t.equal(lines.length, 1, 'said once')
  t.end()
})
