// Searches narrowed by types, tags, authors and threads, compared with a list of the messages,
// after a random history: threads get and lose tags, messages are removed, the node is killed.

import t from 'tap'
import { publishedThread } from '../../api/harness.ts'
import { run } from '../../api/process.ts'
import { chosenSeed } from '../../depth.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { findAll, indexed, searchedForum } from './forum.ts'

const words = ['fox', 'dog', 'cat']
const types = ['bug', 'bug-report', undefined]
const tags = ['a', 'b', 'c']
const [steps, searches] = [200, 80]

interface Thread {
  id: string
  author: number
  /** Those who may read it; null: everybody. */
  readers: readonly number[] | null
  tags: readonly string[]
}

interface Posted {
  id: string
  content: string
  type: string | undefined
  author: number
  thread: Thread
}

t.test('search: a random history, narrowed at random: what a list of it has', async (t) => {
  t.comment(`TEST_SEED=${chosenSeed}`)
  const random = seededRandom(chosenSeed)
  const below = (count: number) => Math.floor(random() * count)
  const some = <T>(all: readonly T[]) => all[below(all.length)]!
  const forum = await searchedForum(t)
  const agents = [await forum.identity(), await forum.identity(), await forum.identity()]
  const threads: Thread[] = []
  let messages: Posted[] = []
  const newContent = (n: number) => `${some(words)} ${some(words)} ${n}`
  const someTags = () => tags.filter(() => random() < 0.4)

  const open = async (n: number) => {
    const [author, type, content] = [below(3), some(types), newContent(n)]
    const isPrivate = random() < 0.3
    const other = (author + 1) % 3
    const own = isPrivate ? [] : someTags()
    const id = await publishedThread(agents[author]!, {
      ...{ content, type, title: 'A thread', ...(own.length > 0 && { tags: own }) },
      ...(isPrivate && { visibility: 'private', participant_ids: [agents[other]!.id] }),
    })
    const thread = { id, author, readers: isPrivate ? [author, other] : null, tags: own }
    threads.push(thread)
    const { body } = await agents[author]!.get(`/api/threads/${id}`)
    messages.push({ id: body.messages[0]!.id, content, type, author, thread })
  }
  const reply = async (n: number) => {
    const thread = some(threads)
    const author = some(thread.readers ?? [0, 1, 2])
    const [type, content] = [some(types), newContent(n)]
    const key = { 'idempotency-key': `key-of-reply-${n}` }
    const path = `/api/threads/${thread.id}/replies`
    const { status, body } = await agents[author]!.post(path, { content, type }, key)
    t.equal(status, 201)
    messages.push({ id: body.message_id, content, type, author, thread })
  }
  const retag = async () => {
    const thread = some(threads)
    thread.tags = someTags()
    const json = { 'content-type': 'application/json' }
    const body = JSON.stringify({ tags: thread.tags })
    const path = `/api/threads/${thread.id}/tags`
    t.equal((await agents[thread.author]!.send('PUT', path, json, body)).status, 200)
  }
  const remove = async () => {
    const { id } = some(messages)
    const flags = ['--yes', '--no-wait', '--data', forum.data]
    const { code, stderr } = await run(['admin', 'remove-message', id, ...flags])
    t.equal(code, 0, stderr)
    messages = messages.filter((message) => message.id !== id)
  }

  for (let n = 0; n < steps; n++) {
    const drawn = random()
    if (n < 6 || drawn < 0.05) await open(n)
    else if (drawn < 0.2) await retag()
    else if (drawn < 0.22) await remove()
    else await reply(n)
    if (n === steps / 2) {
      await forum.stop('SIGKILL')
      await forum.start()
    }
  }
  await indexed(forum)

  let found = 0
  for (let n = 0; n < searches; n++) {
    const caller = below(4) - 1
    const word = some([...words, null])
    const [type, author] = [some(types), some([0, undefined, undefined])]
    const thread = some([some(threads), undefined, undefined])
    const own = random() < 0.5 ? someTags() : []
    if (word === null && type === undefined && author === undefined && !thread) continue
    const query = [
      `limit=${1 + below(20)}`,
      ...(type === undefined ? [] : [`type=${type}`]),
      ...(author === undefined ? [] : [`author_id=${agents[author]!.id}`]),
      ...(thread === undefined ? [] : [`thread_id=${thread.id}`]),
      ...own.map((tag) => `tag=${tag}`),
    ].join('&')
    const due = messages.filter((message) => {
      const { readers, tags: has } = message.thread
      if (readers !== null && !readers.includes(caller)) return false
      if (word !== null && !message.content.split(' ').includes(word)) return false
      if (type !== undefined && message.type !== type) return false
      if (author !== undefined && message.author !== author) return false
      return (thread ?? message.thread) === message.thread && own.every((tag) => has.includes(tag))
    })
    const client = agents[caller] ?? forum.anonymous
    const contents = due.map(({ content }) => content).reverse()
    found += contents.length
    t.same(await findAll(client, word, query), contents, `${word} ${query} by ${caller}`)
  }
  t.ok(found > 100, `${found} found`)
})
