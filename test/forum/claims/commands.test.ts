// Claims as commands: what they do when time passes, when operators act, and after a restart.

import assert from 'node:assert/strict'
import t from 'tap'
import { claimThread, recordDueClaims, releaseClaim } from '../../../src/forum/claims/commands.ts'
import { claimsMax } from '../../../src/forum/claims/table.ts'
import type { Forum } from '../../../src/forum/forum.ts'
import { createIdentity } from '../../../src/forum/identities/commands.ts'
import { blockIdentity, lockThread, unlockThread } from '../../../src/forum/moderation/commands.ts'
import { createThread, reply } from '../../../src/forum/threads/commands.ts'
import { isRejection, type Rejection } from '../../../src/kernel/rejection.ts'
import { dayMs, goOn, newWorld, replayed, restart } from '../doubles.ts'

function demanded<T extends object>(outcome: T | Rejection): T {
  assert.ok(!isRejection(outcome), JSON.stringify(outcome))
  return outcome
}

let keys = 0
const newKey = () => `claims-key-${keys++}`

/** Returns the number of a new identity. */
function identity(forum: Forum, kind: 'persistent' | 'guest' = 'persistent'): number {
  demanded(createIdentity(forum, { kind, displayName: 'A', address: '' }, 'open'))
  return forum.state.identities.count - 1
}

/** Returns the id of a new thread. */
function thread(forum: Forum, caller: number): string {
  const said = { title: 'T', content: 'C', participantIds: [], address: '' }
  demanded(createThread(forum, { caller, ...said, visibility: 'public', key: newKey() }))
  return forum.state.threads.id(forum.state.threads.count - 1)
}

function claim(forum: Forum, caller: number, threadId: string, seconds = 60, fence?: number) {
  return claimThread(forum, { caller, threadId, seconds, fence, key: newKey() })
}

/** Returns a forum with two identities and a thread. */
function scene() {
  const world = newWorld()
  const [ana, ben] = [identity(world.forum), identity(world.forum)]
  return { ...world, ana, ben, id: thread(world.forum, ana) }
}

const mark = (forum: Forum) => forum.state.claims.of(0)

t.test('claim: at its last millisecond: held; at the next: free, with one record', async (t) => {
  const { forum, clock, rows, ana, ben, id } = scene()
  const first = demanded(claim(forum, ana, id, 60))
  goOn(clock, 59_999)
  t.match(claim(forum, ben, id), { rejected: 'claimed', fields: { expires_at: first.expiresAt } })
  goOn(clock, 1)
  const second = demanded(claim(forum, ben, id))
  t.equal(second.fence, first.fence + 1)
  t.equal(rows.records().at(-1)!.type, 'thread.claimed')
  t.match(forum.state.claims.ended, { expired: 1, released: 0 })
})

t.test('renewal: its time is over: another claim; with its fence: claim_lost', async (t) => {
  const { forum, clock, rows, ana, id } = scene()
  const first = demanded(claim(forum, ana, id, 60))
  const renewed = demanded(claim(forum, ana, id, 90, first.fence))
  t.equal(renewed.fence, first.fence)
  goOn(clock, 90_000)
  t.match(claim(forum, ana, id, 60, first.fence), { rejected: 'claim_lost' })
  t.equal(rows.records().at(-1)!.type, 'guests.expired', 'H1: a record says so')
  t.equal(mark(forum), null)
  t.equal(demanded(claim(forum, ana, id)).fence, first.fence + 1)
})

t.test(
  'H1: reported as lost, and the clock is set back: stays lost, after a restart',
  async (t) => {
    const { forum, clock, rows, ana, id } = scene()
    const { fence } = demanded(claim(forum, ana, id, 60))
    goOn(clock, 60_000)
    const said = { caller: ana, threadId: id, content: 'C', address: '' }
    const lost = () => reply(forum, { ...said, fence, key: newKey() })
    t.match(lost(), { rejected: 'claim_lost', position: forum.state.position })
    clock.now -= dayMs
    t.match(lost(), { rejected: 'claim_lost' })
    restart(forum, replayed(rows))
    t.match(lost(), { rejected: 'claim_lost' })
  },
)

t.test('H1: over, and other records are later: reported as lost: no read shows it', async (t) => {
  const { forum, clock, ana, ben, id } = scene()
  const { fence } = demanded(claim(forum, ana, id, 60))
  goOn(clock, 60_000)
  thread(forum, ben)
  t.match(mark(forum), { fence }, 'no record has ended it')
  t.match(claim(forum, ana, id, 60, fence), { rejected: 'claim_lost' })
  t.equal(mark(forum), null)
})

t.test('H1: over, and the log is full: neither lost nor free until it has room', async (t) => {
  const { forum, rows, clock, ana, ben, id } = scene()
  const { fence } = demanded(claim(forum, ana, id, 60))
  goOn(clock, 60_000)
  rows.health = 'storage_full'
  t.match(claim(forum, ana, id, 60, fence), { rejected: 'storage_full' })
  t.match(releaseClaim(forum, { caller: ben, threadId: id }), { rejected: 'storage_full' })
  t.match(mark(forum), { fence })
  rows.health = 'ok'
  demanded(releaseClaim(forum, { caller: ben, threadId: id }))
  t.equal(mark(forum), null)
})

t.test('release: of one whose time is over: recorded as expired', async (t) => {
  const { forum, clock, ana, ben, id } = scene()
  demanded(claim(forum, ana, id, 60))
  goOn(clock, 60_000)
  const { position } = demanded(releaseClaim(forum, { caller: ben, threadId: id }))
  t.equal(position, forum.state.position)
  t.match(forum.state.claims.ended, { expired: 1, released: 0 })
})

t.test('recordDueClaims: says when the next one expires, and records all in one', async (t) => {
  const { forum, clock, rows, ana, ben, id } = scene()
  const other = thread(forum, ana)
  t.equal(recordDueClaims(forum), 1000, 'no claim')
  demanded(claim(forum, ana, id, 2))
  demanded(claim(forum, ben, other, 2))
  t.equal(recordDueClaims(forum), 1000)
  goOn(clock, 1500)
  t.equal(recordDueClaims(forum), 500)
  const { position } = rows
  goOn(clock, 500)
  rows.health = 'storage_full'
  t.equal(recordDueClaims(forum), 1000, 'it is tried again')
  rows.health = 'ok'
  t.equal(recordDueClaims(forum), 1000)
  t.equal(rows.position, position + 1)
  t.equal(forum.state.claims.count, 0)
})

t.test('renewal: longer or shorter: each claim expires at its own time', async (t) => {
  const { forum, ana, ben, id } = scene()
  const other = thread(forum, ana)
  demanded(claim(forum, ana, id, 10))
  const { expiresAt: second } = demanded(claim(forum, ben, other, 20))
  demanded(claim(forum, ana, id, 30))
  t.equal(forum.state.claims.nextExpiry, second)
  const { expiresAt: shorter } = demanded(claim(forum, ana, id, 5))
  t.equal(forum.state.claims.nextExpiry, shorter)
})

t.test('claim: of a guest: ends when the guest expires', async (t) => {
  const { forum, clock, id } = scene()
  const guest = identity(forum, 'guest')
  goOn(clock, 7 * dayMs - 5000)
  const key = newKey()
  const wanted = { caller: guest, threadId: id, seconds: 60, key }
  const { expiresAt } = demanded(claimThread(forum, wanted))
  t.equal(expiresAt, clock.now + 5000)
  t.match(claimThread(forum, wanted), { expiresAt, replayed: true })
})

t.test('claim: its holder is blocked: it ends, and others can claim', async (t) => {
  const { forum, ana, ben, id } = scene()
  const other = thread(forum, ana)
  demanded(claim(forum, ana, id))
  demanded(claim(forum, ben, other))
  demanded(blockIdentity(forum, { id: forum.state.identities.id(ana), reason: '' }))
  t.equal(mark(forum), null)
  t.equal(forum.state.claims.count, 1)
  t.match(forum.state.claims.ended, { blocked: 1 })
  const { position } = forum.state
  t.same(releaseClaim(forum, { caller: ben, threadId: id }), { position }, 'the thread has changed')
  t.notOk(isRejection(claim(forum, ben, id)))
})

t.test('claim: of a locked thread: refused; held before: stays, and can be released', async (t) => {
  const { forum, ana, id } = scene()
  demanded(claim(forum, ana, id))
  demanded(lockThread(forum, { id, reason: '' }))
  const { position } = forum.state
  t.match(claim(forum, ana, id), { rejected: 'thread_locked', position })
  t.match(mark(forum), { holder: ana })
  demanded(releaseClaim(forum, { caller: ana, threadId: id }))
  t.match(claim(forum, ana, id), { rejected: 'thread_locked' })
  demanded(unlockThread(forum, { id, reason: '' }))
  t.notOk(isRejection(claim(forum, ana, id)))
})

t.test('D2: fences: grow over every end of a claim, and over restarts', async (t) => {
  const { forum, clock, rows, ana, ben, id } = scene()
  const fences = [0]
  const again = (caller: number, seconds: number) => {
    const { fence } = demanded(claim(forum, caller, id, seconds))
    t.ok(fence > fences.at(-1)!)
    fences.push(fence)
  }
  again(ana, 60)
  demanded(releaseClaim(forum, { caller: ana, threadId: id }))
  again(ana, 1)
  goOn(clock, 1000)
  again(ben, 1)
  goOn(clock, 1000)
  recordDueClaims(forum)
  restart(forum, replayed(rows))
  again(ana, 60)
  demanded(blockIdentity(forum, { id: forum.state.identities.id(ana), reason: '' }))
  restart(forum, replayed(rows))
  again(ben, 60)
  t.same(forum.state.claims.facts(), fences.at(-1))
})

t.test('D1: as many claims as are possible are held: further ones are refused', async (t) => {
  const { forum, ana, id } = scene()
  const { claims } = forum.state
  for (let n = 1; n <= claimsMax; n++) claims.claim(n, ana, forum.state.now + 60_000, 0)
  t.match(claim(forum, ana, id), { rejected: 'overloaded', detail: /65536/ })
  claims.release(7, 'released')
  demanded(claim(forum, ana, id))
  t.notOk(isRejection(claim(forum, ana, id)), 'a renewal needs no room')
})
