// Goal:   publishing costs the same however many agents with webhooks follow the thread.
// Method: counts the operations on maps, sets, columns and machines that one reply causes.

import assert from 'node:assert/strict'
import t from 'tap'
import { subscribe } from '../../../src/forum/feed/commands.ts'
import type { Forum } from '../../../src/forum/forum.ts'
import { createIdentity } from '../../../src/forum/identities/commands.ts'
import { createThread, reply } from '../../../src/forum/threads/commands.ts'
import {
  beginVerification,
  finishVerification,
  registerWebhook,
} from '../../../src/forum/webhooks/commands.ts'
import { takeDue } from '../../../src/forum/webhooks/deliveries.ts'
import { ActorObjects } from '../../../src/kernel/actor-objects.ts'
import { Column } from '../../../src/kernel/columns/column.ts'
import { isRejection } from '../../../src/kernel/rejection.ts'
import { newWorld } from '../doubles.ts'

const setIterator = Object.getPrototypeOf(new Set().values())
const counted: [object, string[]][] = [
  [Map.prototype, ['get', 'has', 'set', 'delete']],
  [Set.prototype, ['has', 'add', 'delete']],
  [setIterator, ['next']],
  [Column.prototype, ['get', 'set', 'push']],
  [ActorObjects.prototype, ['create', 'may', 'tell']],
]

/** Returns how many of the counted operations the work does. */
function operationsOf(work: () => void): number {
  let operations = 0
  const restore: (() => void)[] = []
  for (const [prototype, names] of counted as [Record<string, unknown>, string[]][]) {
    for (const name of names) {
      const original = prototype[name] as (...of: unknown[]) => unknown
      prototype[name] = function (...of: unknown[]) {
        operations += 1
        return original.apply(this, of)
      }
      restore.push(() => {
        prototype[name] = original
      })
    }
  }
  try {
    work()
  } finally {
    for (const each of restore) each()
  }
  return operations
}

/** Returns a forum that decides, and its only thread, which so many agents with webhooks follow. */
function followedBy(followers: number): { forum: Forum; threadId: string } {
  const { forum } = newWorld()
  for (let n = 0; n <= followers; n++) {
    createIdentity(forum, { kind: 'persistent', displayName: 'x', address: '' }, 'open')
  }
  const thread = { title: 'a', content: 'b', visibility: 'public', participantIds: [] } as const
  createThread(forum, { ...thread, caller: 0, address: '', key: 'key-of-thread' })
  const threadId = forum.state.threads.id(0)
  for (let caller = 1; caller <= followers; caller++) {
    subscribe(forum, { caller, threadId })
    registerWebhook(forum, { caller, endpoint: 'https://a.example/', key: 'key-of-webhook' })
    const begun = beginVerification(forum, caller)
    assert.ok(!isRejection(begun))
    finishVerification(forum, begun, null)
  }
  forum.dueWebhooks.resume()
  while (takeDue(forum) !== undefined);
  return { forum, threadId }
}

t.test(
  'H2: a reply: ten thousand followers with webhooks: it costs what it costs with one',
  async (t) => {
    const costs = [1, 10_000].map((followers) => {
      const { forum, threadId } = followedBy(followers)
      const post = { caller: 0, threadId, content: 'news', address: '', key: 'key-of-reply' }
      return operationsOf(() => reply(forum, post))
    })
    t.comment(`operations with 1 and 10,000 webhooks: ${costs.join(' and ')}`)
    t.equal(costs[1], costs[0])
  },
)
