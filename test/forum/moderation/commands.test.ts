// The effect of an operator's act on writers, wakeups and waiting requests. Random programs of all
// commands are in forum.test.ts, real nodes in test/faults/moderation.test.ts.

import t, { type Test } from 'tap'
import { expireGuests, rejectToken } from '../../../src/forum/identities/commands.ts'
import {
  blockIdentity,
  eraseMessage,
  lockThread,
  type ModerationOutcome,
  moderationCommands,
  unblockIdentity,
  unlockThread,
} from '../../../src/forum/moderation/commands.ts'
import type { State } from '../../../src/forum/state.ts'
import { createThread, reply } from '../../../src/forum/threads/commands.ts'
import { acceptTicket, issueTicket, publishByTicket } from '../../../src/forum/tickets/commands.ts'
import { beginVerification, finishVerification } from '../../../src/forum/webhooks/commands.ts'
import { finishAttempt } from '../../../src/forum/webhooks/deliveries.ts'
import { isRejection } from '../../../src/kernel/rejection.ts'
import { dayMs, hourMs, replayed } from '../doubles.ts'
import { bad, Scene, sent } from '../webhooks/webhook-scene.ts'

const reason = 'spam'
const address = '198.51.100.7'

function idOf({ state }: Scene, identity: number): string {
  return state.identities.id(identity)
}

function newAct(t: Test, outcome: ModerationOutcome | Promise<ModerationOutcome>): void {
  t.match(outcome, { isNew: true })
}

t.test('lock: a key was used before: its replay is answered, a new reply is not', async (t) => {
  const scene = new Scene()
  const [id] = scene.threadIds as [string]
  const again = { caller: 1, threadId: id, content: 'hello', address: '', key: 'again-key' }
  const first = reply(scene.forum, again)
  newAct(t, lockThread(scene.forum, { id, reason }))
  const { position } = scene.state
  t.match(reply(scene.forum, again), { replayed: true, message: 3, position: first.position })
  t.match(reply(scene.forum, { ...again, content: 'other' }), { rejected: 'idempotency_conflict' })
  const other = reply(scene.forum, { ...again, key: 'other-key' })
  t.same(other, { rejected: 'thread_locked', position }, 'it waits for the lock to be durable')
  newAct(t, unlockThread(scene.forum, { id, reason }))
  t.notOk(isRejection(reply(scene.forum, { ...again, key: 'other-key' })))
})

t.test('lock: a ticket was issued before: it is refused then, and not used up', async (t) => {
  const scene = new Scene()
  const [id] = scene.threadIds as [string]
  const issued = issueTicket(scene.forum, address)
  if (isRejection(issued)) throw new Error(issued.rejected)
  const publish = (content = 'hello') => {
    const nonce = acceptTicket(scene.forum, issued.ticket, address) as string
    return publishByTicket(scene.forum, { nonce, post: { content, threadId: id }, address })
  }
  newAct(t, lockThread(scene.forum, { id, reason }))
  t.match(publish(), { rejected: 'thread_locked' })
  newAct(t, unlockThread(scene.forum, { id, reason }))
  t.match(publish(), { replayed: false })
  newAct(t, lockThread(scene.forum, { id, reason }))
  t.match(publish(), { replayed: true })
})

t.test(
  'block: a guest whose time is over: its token has expired, and is not blocked',
  async (t) => {
    const scene = new Scene('guest')
    newAct(t, blockIdentity(scene.forum, { id: idOf(scene, 1), reason }))
    t.same(rejectToken(scene.forum, 1), {
      rejected: 'identity_blocked',
      position: scene.state.position,
    })
    scene.world.clock.now += 8 * dayMs
    t.match(rejectToken(scene.forum, 1), { rejected: 'invalid_token' })
    expireGuests(scene.forum)
    t.same(scene.state.moderation.page(0, 9), [], 'a block that has no effect is not listed')
    const id = idOf(scene, 1)
    t.match(blockIdentity(scene.forum, { id, reason }), {
      rejected: 'not_found',
      detail: /expired/,
    })
    t.match(unblockIdentity(scene.forum, { id, reason }), { isNew: false, act: null })
  },
)

t.test('block: the author of a message by GET: refused, since it has no token', async (t) => {
  const scene = new Scene()
  const issued = issueTicket(scene.forum, address)
  if (isRejection(issued)) throw new Error(issued.rejected)
  const nonce = acceptTicket(scene.forum, issued.ticket, address) as string
  publishByTicket(scene.forum, { nonce, post: { content: 'c', title: 't' }, address })
  const id = idOf(scene, scene.state.identities.count - 1)
  t.match(blockIdentity(scene.forum, { id, reason }), { rejected: 'not_found', detail: /GET/ })
})

t.test('block: named as a participant: refused, which waits for the block', async (t) => {
  const scene = new Scene()
  const post = { caller: 0, title: 't', content: 'c', visibility: 'private', address: '' } as const
  const create = (key: string) =>
    createThread(scene.forum, { ...post, participantIds: [idOf(scene, 1)], key })
  newAct(t, blockIdentity(scene.forum, { id: idOf(scene, 1), reason }))
  const { position } = scene.state
  scene.reply(0, 0)
  t.same(create('one'), { rejected: 'invalid_members', position })
  newAct(t, unblockIdentity(scene.forum, { id: idOf(scene, 1), reason }))
  t.match(create('one'), { replayed: false })
})

t.test('block: a webhook: what waits is not sent, and messages wake nobody', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.woken(2)
  scene.reply(3, 0)
  const states = (identity: number) => scene.deliveries(identity).map(({ state }) => state)
  newAct(t, blockIdentity(scene.forum, { id: idOf(scene, 1), reason }))
  t.match(sent(scene.begin()), { webhook: 1 })
  t.equal(scene.begin(), undefined)
  scene.reply(3, 0)
  t.equal(scene.begin(), undefined)
  t.same([states(1), states(2)], [[], ['sending']])
  scene.restart()
  scene.reply(3, 0)
  t.match(sent(scene.begin()), { webhook: 1 }, 'the one that the restart interrupted')
  t.equal(scene.begin(), undefined)
  t.same([states(1), states(2)], [[], ['sending']], 'after a restart, too')
  newAct(t, unblockIdentity(scene.forum, { id: idOf(scene, 1), reason }))
  const seq = scene.reply(3, 0)
  t.match(sent(scene.begin()), { webhook: 0, first: seq })
  t.match(scene.deliveries(1), [{ state: 'sending', first: seq, through: seq }])
})

t.test('block: an attempt is being sent: it ends, and is not tried again', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.reply(3, 0)
  const attempt = sent(scene.begin())
  newAct(t, blockIdentity(scene.forum, { id: idOf(scene, 1), reason }))
  t.ok(finishAttempt(scene.forum, attempt, bad))
  scene.world.clock.now += hourMs
  t.equal(scene.begin(), null)
  t.same(
    scene.deliveries(1).map(({ state }) => state),
    ['cancelled'],
  )
  t.equal(scene.begin(), undefined)
})

t.test('block: its webhook is being verified: refused, and nothing is verified', async (t) => {
  const scene = new Scene()
  scene.register(1)
  const begun = beginVerification(scene.forum, 1)
  if (isRejection(begun)) throw new Error(begun.rejected)
  newAct(t, blockIdentity(scene.forum, { id: idOf(scene, 1), reason }))
  t.match(finishVerification(scene.forum, begun, null), { rejected: 'identity_blocked' })
  t.notOk(scene.state.webhooks.isActive(scene.state.webhooks.of(1)!))
})

t.test('remove: among very many messages: found in slices, others run between', async (t) => {
  const scene = new Scene()
  const { messages } = scene.state
  const sought: number[] = []
  const { find } = messages
  messages.find = (id, from, to) => {
    sought.push(from)
    return from === 0 ? -1 : find.call(messages, id, 0, to)
  }
  Object.defineProperty(messages, 'count', { value: 2 ** 20 })
  const outcome = eraseMessage(scene.forum, { id: `msg_${messages.id(1)}`, reason })
  t.ok(outcome instanceof Promise)
  t.same(sought, [0], 'one slice at once')
  t.match(await outcome, { isNew: true, act: { kind: 'removed', subject: 1, reason } })
  t.same(sought, [0, 2 ** 18])
})

t.test(
  'every command: an id that is unknown, malformed or of another kind: not found',
  async (t) => {
    const scene = new Scene()
    const msg = `msg_${scene.state.messages.id(0)}`
    const kinds = { thr: scene.threadIds[0]!, agt: idOf(scene, 1), msg }
    const { position } = scene.state
    for (const [name, command] of Object.entries(moderationCommands)) {
      const own = name.endsWith('thread') ? 'thr' : name.endsWith('message') ? 'msg' : 'agt'
      const others = Object.values({ ...kinds, [own]: '' })
      const malformed = [kinds[own].slice(1), kinds[own].toUpperCase()]
      for (const id of [`${own}_${'0'.repeat(32)}`, ...malformed, ...others]) {
        const outcome = await command(scene.forum, { id, reason })
        t.same(outcome, { rejected: 'not_found' }, `${name} ${id}`)
      }
    }
    t.equal(scene.state.position, position)
  },
)

t.test('acts: done, taken back, done again: listed in the order of their records', async (t) => {
  const scene = new Scene()
  const [first, second] = scene.threadIds as [string, string]
  const message = `msg_${scene.state.messages.id(2)}`
  lockThread(scene.forum, { id: first, reason: 'one' })
  lockThread(scene.forum, { id: second, reason: 'two' })
  await eraseMessage(scene.forum, { id: message, reason: 'three' })
  unlockThread(scene.forum, { id: first, reason: '' })
  blockIdentity(scene.forum, { id: idOf(scene, 1), reason: 'four' })
  lockThread(scene.forum, { id: first, reason: 'five' })
  const reasons = ({ moderation }: State, after = 0, limit = 9) =>
    moderation.page(after, limit).map((act) => act.reason)
  const [, removed] = scene.state.moderation.page(0, 9)
  t.same(reasons(scene.state), ['two', 'three', 'four', 'five'])
  t.same(reasons(scene.state, removed!.position, 1), ['four'])
  t.same(reasons(replayed(scene.world.rows)), reasons(scene.state))
})
