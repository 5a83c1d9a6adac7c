import fc from 'fast-check'
import t from 'tap'
import { Tags } from '../../../src/forum/tags/table.ts'
import { renderEntry, type ThreadEntry, Threads } from '../../../src/forum/threads/table.ts'
import { Page } from '../../../src/kernel/text/page.ts'
import { Text } from '../../../src/kernel/text/text.ts'
import { codePoint } from '../../code-point.ts'

const text = new Text()
const page = new Page(text)
const author = `agt_${'a'.repeat(32)}`
const idOf = (n: number) => n.toString(16).padStart(32, '0')

function entryOf(fields: Partial<ThreadEntry>): string {
  return renderEntry({
    id: idOf(1),
    author,
    nameJson: '"Ana"',
    title: 'A title',
    visibility: 'public',
    at: 1700,
    ...fields,
  })
}

const open = { visibility: 'public', participants: [], tags: [] } as const
const anyText = fc.string({ unit: codePoint, minLength: 1, maxLength: 160, size: 'max' })

const anyTags = fc.uniqueArray(fc.stringMatching(/^[a-z0-9][a-z0-9_.:-]{0,39}$/), { maxLength: 8 })

t.test('entry: any title and name: written with its count: the thread, as JSON', async () => {
  const threads = new Threads(text, new Tags())
  let n = 0
  const any = [anyText, anyText, anyTags, fc.nat(9)] as const
  const property = fc.property(...any, (title, name, tags, replies) => {
    const id = idOf(++n)
    const entry = entryOf({ id, title, nameJson: JSON.stringify(name) })
    const thread = threads.add(id, entry, { ...open, tags })
    const created = { type: 'created', position: 1, author: 0, ttlSeconds: 0 } as const
    threads.actors.tell(thread, { ...created, visibility: 'public' })
    for (let i = 0; i < replies; i++) threads.actors.tell(thread, { type: 'replied', position: i })
    page.begin(threads.address(thread), threads.bytes(thread))
    threads.write(page, thread, true)
    const text = Buffer.from(page.finish()).toString()
    const about = { id: `thr_${id}`, author_id: author, title, visibility: 'public' }
    const count = { display_name: name, message_count: replies + 1 }
    const shown = tags.length === 0 ? {} : { tags }
    const expected = JSON.stringify({ ...about, created_at: 1700, ...count, ...shown })
    if (text !== expected) throw new Error(`${text} is not ${expected}`)
    if (!threads.hasEntry(thread, entry)) throw new Error('its own entry is not known')
  })
  fc.assert(property)
})

t.test('entry: another title, time, name or visibility: compared: not the same', async (t) => {
  const threads = new Threads(text, new Tags())
  const thread = threads.add(idOf(1), entryOf({}), open)
  t.equal(threads.hasEntry(thread, entryOf({})), true)
  const others: Partial<ThreadEntry>[] = [
    { title: 'A titl' },
    { title: 'A title ' },
    { title: 'B title' },
    { at: 1701 },
    { nameJson: '"Bob"' },
    { visibility: 'private' },
  ]
  for (const other of others) {
    t.equal(threads.hasEntry(thread, entryOf(other)), false, JSON.stringify(other))
  }
})

t.test('participants: three named: compared: each is one, the order counts', async (t) => {
  const threads = new Threads(text, new Tags())
  const thread = threads.add(idOf(1), entryOf({}), {
    ...open,
    visibility: 'private',
    participants: [7, 0, 9],
  })
  t.same(
    [7, 0, 9, 1, -1].map((identity) => threads.isParticipant(thread, identity)),
    [true, true, true, false, false],
  )
  t.equal(threads.hasParticipants(thread, [7, 0, 9]), true)
  t.equal(threads.hasParticipants(thread, [0, 7, 9]), false)
  t.equal(threads.hasParticipants(thread, [7, 0]), false)
  t.equal(threads.hasParticipants(thread, [7, 0, 9, -1]), false)
})

t.test('T1: public and private in turn: only the public are listed, oldest first', async (t) => {
  const threads = new Threads(text, new Tags())
  const visibilities = ['private', 'public', 'private', 'public', 'public'] as const
  for (const [n, visibility] of visibilities.entries()) {
    const id = idOf(n + 1)
    t.equal(threads.add(id, entryOf({ id, visibility }), { ...open, visibility }), n)
    threads.actors.tell(n, {
      type: 'created',
      position: n + 1,
      author: 0,
      visibility,
      ttlSeconds: 0,
    })
    threads.actors.tell(n, { type: 'replied', position: 9 })
    t.equal(threads.isPublic(n), visibility === 'public')
  }
  const listed = Array.from({ length: threads.public.length }, (_, i) => threads.public.get(i))
  t.same(listed, [1, 3, 4])
})

t.test('thread: three: found by id, id by number, messages in order', async (t) => {
  const threads = new Threads(text, new Tags())
  for (const n of [1, 2, 3]) threads.add(idOf(n), entryOf({ id: idOf(n) }), open)
  t.equal(threads.find(idOf(2)), 1)
  t.equal(threads.find(`thr_${idOf(3)}`, 4), 2)
  t.equal(threads.find(idOf(4)), -1)
  t.equal(threads.id(1), `thr_${idOf(2)}`)
  for (const message of [4, 5, 8]) threads.addMessage(1, message)
  t.equal(threads.messageCount(1), 3)
  t.same(
    [0, 1, 2].map((i) => threads.message(1, i)),
    [4, 5, 8],
  )
})
