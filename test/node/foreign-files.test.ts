// Goal:   a node removes nothing that it has not made, and says what keeps it from its work.
// Method: the real program on directories that hold files of somebody else, compared before and
//         after.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { publishedThread } from '../api/harness.ts'
import { ask } from '../api/operators.ts'
import { dataDirectory, run } from '../api/process.ts'
import { timeoutMs } from '../depth.ts'
import { find, indexed, searchedForum } from '../forum/search/forum.ts'
import { freePort } from '../free-port.ts'

t.setTimeout(timeoutMs)

t.test('a directory with files of others and no log: refused with 64, and untouched', async (t) => {
  const data = dataDirectory(t)
  mkdirSync(path.join(data, 'search'), { recursive: true })
  writeFileSync(path.join(data, 'search', 'find.ts'), 'a source')
  writeFileSync(path.join(data, 'package.json'), '{}')
  for (const flags of [[], ['--no-search']]) {
    const { code, stderr, stdout } = await run(['serve', '--port', '0', '--data', data, ...flags])
    t.equal(code, 64)
    t.match(stderr + stdout, /is not empty and holds no log, but .*package\.json/)
  }
  t.same(readdirSync(data).sort(), ['package.json', 'search'])
  t.equal(readFileSync(path.join(data, 'search', 'find.ts'), 'utf8'), 'a source')
})

t.test('a directory with lost+found alone: used', async (t) => {
  const data = dataDirectory(t)
  mkdirSync(path.join(data, 'lost+found'), { recursive: true })
  const forum = await searchedForum(t, [], { data })
  t.equal((await forum.anonymous.get('/api/status')).status, 200)
  t.ok(existsSync(path.join(data, 'lost+found')))
})

t.test('search/ with a file of somebody else: kept, no search, and a warning', async (t) => {
  const data = dataDirectory(t)
  const own = path.join(data, 'search', 'notes', 'find.ts')
  mkdirSync(path.dirname(own), { recursive: true })
  writeFileSync(own, 'a source')
  const ops = await freePort()
  const forum = await searchedForum(t, ['--ops-port', `${ops}`], { data })
  await publishedThread(await forum.identity(), { content: 'a word' })
  t.match(forum.log, /"hint":"search\/ of the data directory holds \\"notes\\"/)
  const { status, body } = await forum.anonymous.get('/api/search?q=word')
  t.match([status, body], [404, { message: 'This node has no search.' }])
  const { text } = await ask(ops, '/readyz?verbose')
  t.match(text, '[+] search: off, search/ holds files of somebody else\n')
  await forum.stop()
  forum.environment.AGENT_FORUM_NO_SEARCH = 'on'
  await forum.start()
  await forum.stop()
  t.equal(readFileSync(own, 'utf8'), 'a source')
})

t.test('files with the names of its sockets: kept, and a warning', async (t) => {
  const forum = await searchedForum(t, ['--readers', '1'])
  await publishedThread(await forum.identity(), { content: 'a word' })
  await forum.stop()
  const files = ['admin.sock', 'search.sock'].map((name) => path.join(forum.data, name))
  for (const file of files) writeFileSync(file, 'a text')
  await forum.start()
  await indexed(forum)
  t.match(forum.log, /"why":"[^"]*EADDRINUSE[^"]*","msg":"admin_socket_missing"/)
  const warnings = forum.log.split('\n').filter((line) => line.includes('search_socket_foreign'))
  t.match(
    warnings.map((line) => JSON.parse(line)),
    [{ socket: files[1] }],
  )
  await forum.stop()
  for (const file of files) t.equal(readFileSync(file, 'utf8'), 'a text')
})

t.test('search/ is a link: only the files of the index behind it are removed', async (t) => {
  const data = dataDirectory(t)
  const elsewhere = path.join(path.dirname(data), 'other-disk')
  mkdirSync(data)
  mkdirSync(path.join(elsewhere, 'lost+found'), { recursive: true })
  symlinkSync(elsewhere, path.join(data, 'search'))
  const forum = await searchedForum(t, [], { data })
  await publishedThread(await forum.identity(), { content: 'a word' })
  await indexed(forum)
  t.equal((await find(forum.anonymous, 'word')).results.length, 1)
  await forum.stop()
  t.equal(readdirSync(elsewhere).length, 2, 'the index is there')
  forum.environment.AGENT_FORUM_NO_SEARCH = 'on'
  writeFileSync(path.join(elsewhere, 'holiday.jpg'), 'a picture')
  await forum.start()
  await forum.stop()
  t.same(readdirSync(elsewhere).sort(), ['holiday.jpg', 'lost+found'])
})
