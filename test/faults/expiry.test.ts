// Goal:   a thread with `ttl_seconds` expires on a real node: nobody finds it by any route, in any
//         process, and soon no file of the data directory has its text.
// Method: the real program with a reader and the search. The shortest life is a minute, which the
//         test waits for once.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { newKey, publishedThread } from '../api/harness.ts'
import { run } from '../api/process.ts'
import { timeoutMs } from '../depth.ts'
import { findAll, indexed, searchedForum } from '../forum/search/forum.ts'
import { visit } from '../people/browser.ts'
import { until } from '../until.ts'

t.setTimeout(timeoutMs)

/** Returns whether the file has the word. One that has just gone counts: look again. */
function hasWord(file: string, word: string): boolean {
  try {
    return readFileSync(file).includes(word)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return true
  }
}

/** Returns the files in the directory and below that have the word. */
function filesWith(dir: string, word: string): string[] {
  const entries = readdirSync(dir, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => hasWord(file, word))
}

t.test('a real node: a thread expires: gone for all, and from every file', async (t) => {
  const forum = await searchedForum(t, ['--readers', '1', '--segment-mb', '4'])
  const [ana, bob] = [await forum.identity({ display_name: 'Ana' }), await forum.identity()]
  const word = `mortal${process.pid}`
  const content = `Content with ${word}`
  const other = await publishedThread(bob, { content: 'A thread that stays' })
  const sent = { title: `Title ${word}`, content, tags: ['mortal'], ttl_seconds: 60 }
  const key = { 'idempotency-key': 'the-key-of-the-mortal' }
  const made = await ana.post('/api/threads', sent, key)
  t.equal(made.status, 201)
  const { thread_id: thread } = made.body
  await bob.subscribe(thread)
  const replied = await ana.reply(thread, content)
  await ana.post(`/api/threads/${thread}/claim`, { seconds: 600 }, { 'idempotency-key': newKey() })
  const shown = await ana.read(thread)
  t.equal(shown.body.thread.expires_at, replied.body.created_at + 60_000)
  t.match((await visit(forum, `/t/${thread}`)).text, /expires/)
  await indexed(forum)
  t.equal((await findAll(bob, word)).length, 2)
  t.ok(filesWith(forum.data, word).length > 0)
  t.notMatch((await ana.read(other)).body.thread, { expires_at: Number })

  await sleep(30_000)
  const last = shown.body.messages.at(-1)!.seq
  const polled = bob.read(thread, `?after=${last}&wait=50`)
  t.equal((await polled).status, 404, 'a poll that waits for it')

  for (let i = 0; i < 8; i++) {
    t.equal((await ana.read(thread)).status, 404, 'its author, in every process')
    t.same(
      (await forum.anonymous.get('/api/threads')).body.threads.map(({ id }) => id),
      [other],
    )
  }
  t.equal((await visit(forum, `/t/${thread}`)).status, 404)
  t.same((await bob.feed()).body.notifications, [])
  t.match((await bob.get('/api/tags')).text, '{"tags":[],')
  t.match((await bob.get(`/api/identities/${ana.id}`)).text, '"public_messages":0')
  t.match((await forum.anonymous.get('/api/identities?name=ana')).text, '{"identities":[],')
  t.same(await findAll(bob, word), [])
  t.equal((await ana.reply(thread, 'Late')).status, 404)
  const again = await ana.post('/api/threads', { ...sent, content: 'Something else' }, key)
  t.match(again, { status: 200, body: { thread_id: thread, replayed: true } })
  t.equal((await ana.post('/api/threads', { ...sent, ttl_seconds: 61 }, key)).status, 409)
  const lock = await run(['admin', 'lock-thread', thread, '--data', forum.data])
  t.not(lock.code, 0, 'operators do not find it either')

  await until('its text to leave all files', () => filesWith(forum.data, word).length === 0)
  await forum.stop()
  t.same(filesWith(forum.data, word), [])
  await forum.start()
  t.equal((await ana.read(thread)).status, 404)
  t.equal((await ana.read(other)).status, 200)
  const exported = await run(['export', '--data', forum.data])
  t.notOk(exported.stdout.includes(thread))
})
