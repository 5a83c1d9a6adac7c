// Goal:   after a takeover in place, everything that a node derives from its state and never saves
//         equals that of a node that has just been started on the same log.
// Method: a leader runs a random program of webhooks; a follower receives its records in pieces and
//         answers reads in between, so that what is derived at a request is derived at different
//         times; then it leads. `derived` has a line for every part of a forum that is not given to
//         it: a new part does not compile without one.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Forum, type ForumParts, makeForum } from '../../../src/forum/forum.ts'
import { State } from '../../../src/forum/state.ts'
import { getThreads } from '../../../src/forum/threads/list-routes.ts'
import { getThread } from '../../../src/forum/threads/routes.ts'
import { DueWebhooks } from '../../../src/forum/webhooks/due-webhooks.ts'
import { isSending, type Webhook } from '../../../src/forum/webhooks/webhook.ts'
import { recordHeaderBytes } from '../../../wal/journal/format.ts'
import type { Journal } from '../../../wal/journal/types.ts'
import { sizeOf } from '../../depth.ts'
import { dayMs, outcomeOf, replayed } from '../../forum/doubles.ts'
import { agents, Scene, seen, threads } from '../../forum/webhooks/webhook-scene.ts'
import { run, step } from '../../forum/webhooks/webhook-steps.ts'
import { newRole } from './new-role.ts'

type Derived = Omit<Forum, keyof ForumParts>

/** Work in progress, and what only callers of this process caused: nothing of it is in the log. */
const ofThisProcess = () => null

/** Shows each derived part as its callers see it. */
const derived: { [Part in keyof Derived]: (forum: Forum) => unknown } = {
  dueWebhooks: ({ dueWebhooks }) => {
    const due: [number, number][] = []
    const take = DueWebhooks.prototype.take.bind(dueWebhooks)
    while (dueWebhooks.size > 0) {
      const at = dueWebhooks.nextAt
      due.push([at, (take(at) as Webhook).number])
    }
    return due.toSorted(([atA, a], [atB, b]) => atA - atB || a - b)
  },
  publishers: ({ publishers, state }) => [
    publishers.catchUpWithNames(true),
    Array.from({ length: agents }, (_, n) => [publishers.countOf(n), publishers.newestOf(n)]),
    Array.from({ length: state.messages.count }, (_, message) => publishers.previous(message)),
    publishers.find('', null, agents),
  ],
  listed: ({ listed }) => [listed.catchUp(false), listed.find('', null, agents)],
  activity: (forum) => textOf(forum, getThreads, '', { order: 'activity', limit: 2 }),
  activeThreads: (forum) =>
    textOf(forum, getThreads, '', { order: 'activity', limit: 50, include: 'excerpt' }),
  // Three times, so that the page is composed, cached, and taken from the cache.
  pageCache: (forum) => [1, 2, 3].map(() => pagesOf(forum)),
  page: pagesOf,
  feedItems: ({ feedItems, state }) => {
    const messages = Array.from({ length: state.messages.count }, (_, message) => message)
    const unmarked = { mentions: [], tagged: new Map() }
    return messages.map((message) =>
      Buffer.from(feedItems.write('', { messages: [message], ...unmarked }, '')).toString(),
    )
  },
  contentItems: ({ contentItems, state }) =>
    Array.from({ length: state.messages.count }, (_, message) => contentItems.bytes(message)),
  waiting: ({ waiting }) => waiting.length,
  slicedWork: ({ slicedWork }) => slicedWork.length,
  coldReads: ({ coldReads }) => coldReads.length,
  pageMaking: ({ pageMaking }) => pageMaking.length,
  htmlCache: ofThisProcess, // its keys name the content (people/layout.ts)
  guesses: ofThisProcess,
  refusedCallers: ofThisProcess,
  lastSeen: ofThisProcess,
  registrations: ofThisProcess,
}

function textOf(forum: Forum, route: typeof getThreads, id: string, query: object): string {
  const outcome = outcomeOf(forum, route as never, { id, query })
  return 'body' in outcome ? Buffer.from(outcome.body as Uint8Array).toString() : outcome.rejected
}

function pagesOf(forum: Forum): string[] {
  return Array.from({ length: threads }, (_, n) => {
    const query = { after: 0, limit: 100 }
    return textOf(forum, getThread as never, forum.state.threads.id(n), query)
  })
}

function shown(forum: Forum): Record<string, unknown> {
  const parts = Object.entries(derived).map(([name, show]) => [name, show(forum)])
  return Object.fromEntries(parts)
}

/** A node that has recovered this state. */
function newNode({ world }: Scene, state: State) {
  const forum = makeForum({ ...world.forum, state })
  forum.dueWebhooks.take = () => undefined // nothing is sent before it has been compared
  return { forum, role: newRole(forum) }
}

/** Returns the records after `after`, up to `to`, as in a frame. */
function frame({ world }: Scene, after: number, to: number): Buffer {
  return Buffer.concat(
    world.rows.packed.slice(after, to).flatMap((packed) => {
      const header = Buffer.alloc(recordHeaderBytes)
      header.writeUInt32LE(packed.length)
      return [header, packed]
    }),
  )
}

t.test('takeover: whatever was followed: derived like that of a node just started', async (t) => {
  const standing = { decidesUntilMs: Number.POSITIVE_INFINITY, showsUntilMs: 0 }
  const program = fc.array(step, { minLength: 1, maxLength: 60 })
  let interrupted = 0
  fc.assert(
    fc.property(program, fc.array(fc.nat(), { maxLength: 5 }), (commands, cuts) => {
      const scene = new Scene()
      for (let n = 1; n < agents; n++) scene.woken(n)
      run(scene, { does: 'reply', by: 0, thread: 0 })
      run(scene, { does: 'begin' })
      for (const command of commands) run(scene, command)
      const end = scene.world.rows.position
      const journal = () => ({ durable: end, position: end, failure: null }) as unknown as Journal

      const follower = newNode(scene, new State({ retentionMs: dayMs, seed: 7 }))
      follower.role.follow({ forward: null as never })
      for (const to of [...cuts.map((cut) => cut % end).toSorted((a, b) => a - b), end]) {
        const after = follower.role.position
        follower.role.receive(after + 1, to - after, frame(scene, after, to))
        const { dueWebhooks: _, ...reads } = derived
        if (follower.forum.state.threads.count === threads) {
          for (const read of Object.values(reads)) read(follower.forum)
        }
      }
      follower.role.lead(journal(), standing)

      const started = newNode(scene, replayed(scene.world.rows))
      const { webhooks } = started.forum.state
      interrupted += [...webhooks.all()].filter(isSending).length
      started.role.lead(journal(), standing)
      assert.deepEqual(seen(follower.forum.state), seen(started.forum.state))
      assert.deepEqual(shown(follower.forum), shown(started.forum))
      void follower.role.stop()
      void started.role.stop()
    }),
    { numRuns: sizeOf('WEBHOOK_PROGRAMS') },
  )
  t.ok(interrupted > 0, 'takeovers interrupted attempts')
})
