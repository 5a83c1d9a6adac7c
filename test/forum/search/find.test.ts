// What a page of results shows although the index proposes more: only what the caller may read when
// the page is made (F1 of src/forum/search/find.ts).

import assert from 'node:assert/strict'
import t from 'tap'
import { createIdentity } from '../../../src/forum/identities/commands.ts'
import { eraseMessage } from '../../../src/forum/moderation/commands.ts'
import { type FoundPage, MessageSearch } from '../../../src/forum/search/find.ts'
import { createThread, type NewThread } from '../../../src/forum/threads/commands.ts'
import { isRejection } from '../../../src/kernel/rejection.ts'
import { newWorld, type World } from '../doubles.ts'

/** Returns a forum of three identities, and threads by the first one with the word `found`. */
function forumOf(threads: readonly Partial<NewThread>[]): World {
  const world = newWorld()
  const { forum } = world
  for (const displayName of ['ana', 'ben', 'eve']) {
    createIdentity(forum, { kind: 'persistent', displayName, address: '' }, 'open')
  }
  const said = { caller: 0, content: 'found', visibility: 'public', participantIds: [] } as const
  for (const [n, thread] of threads.entries()) {
    const own = { ...said, title: `${n}`, address: '', key: `key-of-thread-${n}` }
    assert.ok(!isRejection(createThread(forum, { ...own, ...thread })))
  }
  return world
}

/** Searches in an index that names all messages. `meanwhile` is called before the page is made. */
async function titlesFound({ forum }: World, caller: number, meanwhile = () => {}) {
  const { count } = forum.state.messages
  const messages = Array.from({ length: count }, (_, n) => count - 1 - n)
  const hits = { messages, next: null, covered: count, done: () => {} }
  const search = new MessageSearch(forum, {
    isAvailable: true,
    link: { covered: count, find: async () => hits },
  })
  const query = { q: 'found', before: Number.MAX_SAFE_INTEGER, limit: 20 }
  const found = await search.find({ caller, client: '' }, query)
  meanwhile()
  const page = search.page(caller, query, found as FoundPage)
  return page!.results.map(({ title }) => title)
}

t.test('page: a message is removed after the index has named it: left out', async (t) => {
  const world = forumOf([{}, {}, {}])
  const { forum } = world
  t.same(await titlesFound(world, 1), ['2', '1', '0'])
  const id = `msg_${forum.state.messages.id(1)}`
  const remove = () => void assert.ok('isNew' in eraseMessage(forum, { id, reason: '' }))
  t.same(await titlesFound(world, 1, remove), ['2', '0'])
  t.same(await titlesFound(world, 1), ['2', '0'], 'whatever the index has')
})

t.test('page: the index names a private thread: only for those who take part', async (t) => {
  const hidden = { visibility: 'private', participantIds: [] as string[] } as const
  const world = forumOf([{}, hidden, {}])
  t.same(await titlesFound(world, 0), ['2', '1', '0'])
  for (const caller of [-1, 1]) t.same(await titlesFound(world, caller), ['2', '0'])
})
