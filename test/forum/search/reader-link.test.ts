// The search of a reader: whether it expects an index, and the state after a broken connection.

import { closeSync, fstatSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { ReaderSearch } from '../../../src/forum/search/reader-link.ts'
import { until } from '../../until.ts'

function directory(t: Test): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'agent-forum-link-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  return dir
}

t.test(
  'reader: its index: expected while there is nothing to index, and for a while',
  async (t) => {
    let [now, hasMessages] = [0, false]
    t.capture(performance, 'now', () => now)
    const dir = directory(t)
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

t.test('reader: its index ends while a search is in flight: no other file is closed', async (t) => {
  const dir = directory(t)
  const connections: Socket[] = []
  const server = createServer({ pauseOnConnect: true }, (socket) => connections.push(socket))
  server.listen(path.join(dir, 'search.sock'))
  t.teardown(() => server.close())
  const { link } = new ReaderSearch(dir, () => true)
  const search = { publicMatch: 'word', privateMatch: '', parts: 1, before: 1, limit: 1, turn: 'a' }
  void link.find(search)
  await until('a connection', () => connections.length === 1)
  // These take the lowest free descriptors, among them that of the directory.
  const files = Array.from({ length: 50 }, () => openSync('/dev/null', 'r'))
  t.teardown(() => files.forEach(closeSync))
  connections[0]!.destroy() // unread bytes reset the connection
  await until('another connection', () => connections.length === 2)
  for (const file of files) t.doesNotThrow(() => fstatSync(file))
  connections[1]!.destroy()
  link.stop()
})
