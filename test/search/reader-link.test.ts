// The search of a reader: whether it expects an index.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { ReaderSearch } from '../../src/search/reader-link.ts'
import { until } from '../until.ts'

t.test(
  'reader: its index: expected while there is nothing to index, and for a while',
  async (t) => {
    let [now, hasMessages] = [0, false]
    t.capture(performance, 'now', () => now)
    const dir = mkdtempSync(path.join(tmpdir(), 'agent-forum-link-'))
    t.teardown(() => rmSync(dir, { recursive: true }))
    const search = new ReaderSearch(dir, () => hasMessages)
    now = 3_600_000
    t.ok(search.isAvailable, 'a forum without messages needs no index')
    hasMessages = true
    t.ok(search.isAvailable)
    now += 9_999
    t.ok(search.isAvailable, 'its process is being started')
    now += 1
    t.notOk(search.isAvailable, 'no engine loads')
    const server = createServer((socket) => socket.destroy()).listen(path.join(dir, 'search.sock'))
    t.teardown(() => server.close())
    await until('a connection', () => search.isAvailable)
  },
)
