// Goal:   the text of an expired thread leaves the index, also if it is erased while the node looks
//         for what has expired in the shards of an index process that has just started, and if more
//         messages have expired since a shard was built than a call can have arguments.
// Method: the index in a process of its own, with two shards of a forum in this process.

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import t, { type Test } from 'tap'
import { createIdentity } from '../../../src/forum/identities/commands.ts'
import { moderationCommands } from '../../../src/forum/moderation/commands.ts'
import { SearchHost } from '../../../src/forum/search/host.ts'
import { matchOf } from '../../../src/forum/search/query.ts'
import { shardMessages } from '../../../src/forum/search/shard.ts'
import { wordsOf } from '../../../src/forum/search/words.ts'
import { createThread, reply } from '../../../src/forum/threads/commands.ts'
import { ThreadExpiry } from '../../../src/forum/threads/expiry.ts'
import { isRejection } from '../../../src/kernel/rejection.ts'
import { dataDirectory } from '../../api/process.ts'
import { timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'
import { goOn, newWorld, type World } from '../doubles.ts'

t.setTimeout(timeoutMs)

const word = 'ephemeral'
const said = { caller: 0, address: '', mentionIds: [] }

/** Publishes a thread that expires, and another one. */
function publish({ forum }: World): void {
  const ana = { kind: 'persistent', displayName: 'Ana', address: '' } as const
  assert.ok(!isRejection(createIdentity(forum, ana, 'open')))
  const thread = { ...said, title: 'T', visibility: 'public', participantIds: [] } as const
  createThread(forum, { ...thread, content: word, ttlSeconds: 60, key: 'key-of-mortal' })
  createThread(forum, { ...thread, content: 'stays', key: 'key-of-other' })
}

/** Publishes the same, and replies to the first or second of the threads. */
function fill(world: World, replied: 0 | 1): void {
  const { forum } = world
  publish(world)
  const threadId = forum.state.threads.id(replied)
  for (let n = 0; n < shardMessages; n++) {
    reply(forum, { ...said, content: `${n}`, threadId, key: `key-of-reply-${n}` })
  }
}

function startIndex(t: Test, { forum }: World, dir: string): SearchHost {
  const log = pino({ enabled: false })
  const options = { identity: 'one', memoryBytes: 2 ** 26, hasReaders: false }
  const host = new SearchHost({ forum, log, dir, ...options })
  t.teardown(() => host.stop())
  return host
}

function filesWithWord(dir: string): string[] {
  const files = readdirSync(join(dir, 'search'))
  return files.filter((name) => readFileSync(join(dir, 'search', name)).includes(word))
}

t.test('index: starts while a thread is erased: no file has its text in the end', async (t) => {
  const world = newWorld()
  const { forum, clock } = world
  const { state } = forum
  const dir = dataDirectory(t)
  mkdirSync(dir)
  fill(world, 1)
  const first = startIndex(t, world, dir)
  const isIndexed = () => first.progress.indexed === state.messages.count
  await until('all to be indexed', isIndexed)
  await first.stop()
  t.ok(filesWithWord(dir).length > 0)

  const expiry = new ThreadExpiry(forum)
  const { messages } = state
  const isForgotten = messages.isForgotten.bind(messages)
  messages.isForgotten = (message) => {
    if (message === shardMessages && !state.threads.isExpired(0)) {
      goOn(clock, 60_000) // the second shard is being looked at
      for (let turn = 0; turn < 3; turn++) expiry.turn()
      assert.ok(isForgotten(0))
    }
    return isForgotten(message)
  }
  const second = startIndex(t, world, dir)
  await until('the thread to be erased', () => state.erasedPosition > 0)
  second.onDurable()
  await until('the index to be without it', () => second.isGone(state.erasedPosition))
  t.same(filesWithWord(dir), [])
})

t.test('index: starts after many messages have expired: the node goes on', async (t) => {
  const world = newWorld()
  const { forum, clock } = world
  const { state } = forum
  const dir = dataDirectory(t)
  mkdirSync(dir)
  fill(world, 0)
  const first = startIndex(t, world, dir)
  await until('all to be indexed', () => first.progress.indexed === state.messages.count)
  await first.stop()
  t.ok(filesWithWord(dir).length > 0)

  const expiry = new ThreadExpiry(forum)
  goOn(clock, 60_000)
  while (!state.messages.isForgotten(0)) expiry.turn()
  const second = startIndex(t, world, dir)
  await until('the index to be without them', () => second.isGone(state.erasedPosition))
  t.same(filesWithWord(dir), [])
})

t.test('index: a removal is not durable yet: the message is found until it is', async (t) => {
  const world = newWorld()
  const { forum, rows } = world
  const { state } = forum
  const dir = dataDirectory(t)
  mkdirSync(dir)
  publish(world)
  const host = startIndex(t, world, dir)
  const { messages } = state
  await until('all to be indexed', () => host.progress.indexed === messages.count)
  const query = { all: [wordsOf(word)], none: [] }
  const search = { publicMatch: matchOf(query, []), privateMatch: '', parts: 1 }
  const found = async () => {
    const hits = await host.link.find({ ...search, before: messages.count, limit: 2, turn: 'ana' })
    hits?.done()
    return hits?.messages
  }
  t.same(await found(), [0])

  let { durable } = rows
  Object.defineProperty(rows, 'durable', { get: () => durable })
  const command = { id: `msg_${messages.id(0)}`, reason: '' }
  assert.ok(!isRejection(await moderationCommands['remove-message'](forum, command)))
  host.onDurable() // an earlier record is
  t.same(await found(), [0], 'a power failure would take the removal back')
  durable = rows.position
  host.onDurable()
  t.same(await found(), [])
  await until('the index to be without it', () => host.isGone(state.erasedPosition))
})
