// Goal:   whatever happens to a process, in any order, the invariants of its role, R1 to R5, hold.
// Method: random sequences of role changes, records, syncs, waiting answers, slow readers, failures
//         and stops, on a role with a forum and a log in memory. A model predicts what the role is
//         and what is durable. The role is compared with the model after each step.

import assert from 'node:assert/strict'
import { setImmediate as nextIteration } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import type { Edge } from '../../../src/edge/http/handle.ts'
import { FollowedLog } from '../../../src/engine/role/forum-log.ts'
import type { Role, RoleReaders } from '../../../src/engine/role/role.ts'
import type { Forum } from '../../../src/forum/forum.ts'
import { createIdentity, guestLifetimeMs } from '../../../src/forum/identities/commands.ts'
import { encode, type RecordOf } from '../../../src/forum/records.ts'
import { admitOwn, commit } from '../../../src/forum/write.ts'
import { isRejection } from '../../../src/kernel/rejection.ts'
import { moderate } from '../../../src/operators/admin/commands.ts'
import { JournalError } from '../../../wal/errors.ts'
import type { Journal } from '../../../wal/journal/types.ts'
import { KeptLog, passingWhole, Side } from '../../cluster/replication/follower-pair.ts'
import { newWorld } from '../../forum/doubles.ts'
import { newRole } from './new-role.ts'

/** A log that is synced when the test says so. */
class Log extends KeptLog {
  onDurable: (durable: number) => void = () => {}
  onFailed: (error: JournalError) => void = () => {}
  failure: JournalError | null = null

  /** Creates a log that has been read up to this position. */
  constructor(position: number) {
    super()
    this.records.length = position
    Object.assign(this, { position, durable: position })
  }

  /** Returns the same log, as a leader takes it over. */
  taken(): Log {
    return Object.assign(new Log(this.position), { durable: this.durable })
  }

  sync(count: number): void {
    this.durable = Math.min(this.position, this.durable + count)
    this.onDurable(count === 0 ? this.durable - 1 : this.durable) // a late notice
  }
}

/** Readers that take what they are told when the test says so. */
class SlowReaders implements RoleReaders {
  told = 0
  taken = 0
  failures: string[] = []
  givenUp = 0

  announce(durable: number): void {
    this.told = durable
  }

  /** The position of the log from which on they get what it writes. */
  passedOnFrom = -1

  useJournal({ position }: Pick<Journal, 'position'>): void {
    this.passedOnFrom = position
  }

  giveUp(): void {
    this.givenUp += 1
  }

  fail(failure: string): void {
    this.failures.push(failure)
  }
}

type Part = 'starting' | 'single' | 'follower' | 'leader'

/** One start of a process, which continues from the state of the previous one. */
class Scene {
  readonly forum: Forum
  readonly edge: Pick<Edge, 'open' | 'forward'> = { open() {}, forward: null }
  readonly role: Role
  log: Log
  readers: SlowReaders | null = null
  part: Part = 'starting'
  isStopped = false
  error: Error | null = null
  /** The number of times that each waiting answer has left. */
  readonly left: number[] = []
  shown = 0

  constructor(forum: Forum) {
    this.forum = forum
    this.log = new Log(forum.state.position)
    Object.assign(forum, { journal: this.log, isFollower: false, admission: undefined })
    this.role = newRole(forum, { edge: this.edge })
    forum.waiting.onDurable = (durable) => {
      assert(durable <= this.log.durable, 'R1: polls hear of what is durable')
    }
    this.role.failed.catch((error) => assert.equal(error, this.error, 'R5: the first failure'))
  }

  /** Enters a role. If the model does not allow it, asserts that it is refused. */
  enter(part: Exclude<Part, 'starting'>, mayEnter: boolean, enter: () => void): void {
    if (!mayEnter || this.isStopped || this.error !== null) return assert.throws(enter, /T4/)
    enter()
    this.part = part
  }

  leadAlone(): void {
    const enter = () => this.role.leadAlone(this.log as unknown as Journal)
    this.enter('single', this.part === 'starting', enter)
  }

  follow(): void {
    const journal = this.log as unknown as Journal
    const enter = () => this.role.follow({ forward: passingWhole(() => {}), journal })
    this.enter('follower', this.part === 'starting', enter)
  }

  lead(): void {
    const mayLead = this.part === 'starting' || this.part === 'follower'
    const log = this.log.taken()
    const standing = { decidesUntilMs: 1, showsUntilMs: 2 }
    this.enter('leader', mayLead, () => {
      this.role.lead(log as unknown as Journal, standing)
      this.log = log
      assert.equal(this.role.gate.standing, standing, 'R4')
    })
  }

  /** Writes a record of this process if it decides, otherwise one of its leader. */
  write(): void {
    const { forum } = this
    const n = forum.state.identities.count + 1
    const id = n.toString(16).padStart(32, '0')
    const record: RecordOf<'identity.created'> = {
      ...{ type: 'identity.created', at: forum.state.now, id, kind: 'persistent' },
      ...{ displayName: 'Ana', tokenDigest: id.repeat(2), expiresAt: 0, client: '', listed: false },
    }
    if (this.part === 'starting') return
    const permit = admitOwn(forum)
    if (this.part === 'follower') {
      assert(isRejection(permit), 'R3: a follower writes nothing')
      assert.throws(() => forum.journal.append(record), /R3/)
      const position = this.log.append(encode(record))
      assert(this.role.receive(position, 1, this.log.records.at(-1)!))
      return
    }
    assert(!isRejection(permit))
    commit(forum, permit, { ...record, at: permit.at })
    assert.throws(() => this.role.receive(n, 1, this.log.records.at(-1)!), /R3/)
  }

  /** Keeps an answer at the gate, as the edge does. What is durable is answered at once. */
  keep(): void {
    const { journal, state } = this.forum
    const { position } = state
    if (this.part === 'starting' || position <= journal.durable) return
    const number = this.left.push(0) - 1
    this.role.gate.keep(position, (failure) => {
      this.left[number]! += 1
      const isDurable = failure === null
      assert(!isDurable || position <= this.role.durable, 'R1: an answer leaves when it may')
      assert(isDurable || this.error !== null, 'an answer is refused only after a failure')
    })
  }

  startReaders(): void {
    if (this.readers !== null || this.part === 'starting') return
    const { durable } = this.role
    this.readers = Object.assign(new SlowReaders(), { told: durable, taken: durable })
    this.role.useReaders(this.readers)
  }

  /** Lets all readers take what they were told. Without readers, shows more than is applied. */
  take(): void {
    if (this.readers === null) {
      if (this.log.durable === this.log.position) this.role.show(this.log.position + 1)
      return
    }
    this.readers.taken = this.readers.told
    this.role.show(this.readers.taken)
  }

  fail(error: Error): void {
    this.error ??= error
    if (error instanceof JournalError && this.part !== 'starting') this.log.onFailed(error)
    else this.role.fail(error)
  }

  stop(): void {
    this.isStopped = true
    void this.role.stop()
  }

  check(): void {
    const { role, edge, part, readers, error, forum } = this
    assert(role.durable >= this.shown, 'R1: what is shown only grows')
    assert(role.durable <= Math.min(this.log.durable, forum.state.position), 'R1: durable, applied')
    if (part !== 'starting') {
      assert.equal(forum.journal.durable, role.durable, 'R1: one position for all who ask')
    }
    if (readers !== null) assert(role.durable <= readers.taken, 'R1: the readers know')
    if (error !== null) {
      assert.equal(role.durable, this.shown, 'R2: nothing is shown after a failure')
      assert.equal(role.gate.length, 0, 'R5: nothing waits')
      assert(this.left.every((times) => times === 1))
      assert((readers?.failures.length ?? 0) <= 1, 'R5: readers hear of it once')
    }
    this.shown = role.durable
    assert(
      this.left.every((times) => times <= 1),
      'R5: an answer leaves once',
    )
    const isOpen = error === null && !this.isStopped
    assert.equal(role.mayLead, isOpen && (part === 'starting' || part === 'follower'), 'R2')
    const isFollower = part === 'follower'
    assert.equal(forum.isFollower === true, isFollower)
    assert.equal(edge.forward !== null, isFollower, 'R3: it passes on, or it decides')
    assert.equal(forum.journal instanceof FollowedLog, isFollower)
    assert.equal(role.name, part === 'starting' ? 'follower' : part)
    assert.equal(role.failure, error)
  }

  /** Syncs everything and tells the readers. Then all of it is shown, unless the role failed. */
  async end(): Promise<void> {
    const wasDecided = this.part !== 'starting'
    this.log.sync(this.log.position)
    this.check()
    this.take()
    this.check()
    if (this.error === null && wasDecided) {
      assert.equal(this.role.durable, this.forum.state.position, 'all of it is shown')
      assert(this.left.every((times) => times === 1))
    }
    await this.role.stop()
    if (this.error !== null) await assert.rejects(this.role.failed, this.error)
  }
}

t.test('R1: readers lack a durable record: no answer shows it, of any kind', async (t) => {
  const log = new Log(0)
  const side = new Side(log)
  const { role, forum } = side
  t.teardown(() => role.stop())
  role.leadAlone(log as unknown as Journal)
  const sync = () => log.sync(log.position - log.durable)
  const registered = side.post('/api/identities', { kind: 'guest' })
  sync()
  const { id, token } = JSON.parse(registered.answers[0]!.text!)
  const readers = new SlowReaders()
  role.useReaders(readers)
  const written = side.post('/api/threads', { title: 't', content: 'c' }, token, 'key-of-this')
  let blocked: unknown = null
  const block = moderate(forum, role.gate, 'block-identity', { id, reason: '' })
  void block.then((outcome) => {
    blocked = outcome
  })
  sync()
  t.equal(readers.told, log.position, 'all of it is durable')
  const again = moderate(forum, role.gate, 'block-identity', { id, reason: '' })
  void again.then((outcome) => {
    blocked ??= outcome
  })
  const read = side.get('/api/threads')
  await nextIteration()
  t.strictSame([written.answers.length, read.answers.length, blocked], [0, 0, null])
  const { position } = JSON.parse(side.get('/api/status').answers[0]!.text!)
  t.equal(position, 1, 'nor does the status say more')
  role.show(readers.told)
  await nextIteration()
  t.strictSame([written.code, read.code], [201, 200])
  t.match(blocked, { isNew: true })
})

t.test('role: it gives up: what waits is refused, here and at readers; nothing later is', (t) => {
  const log = new Log(0)
  const { role } = new Side(log)
  t.teardown(() => role.stop())
  role.leadAlone(log as unknown as Journal)
  const readers = new SlowReaders()
  role.useReaders(readers)
  const left: (string | null)[] = []
  role.gate.keep(1, (failure) => left.push(failure))
  role.giveUp()
  role.gate.keep(1, () => left.push('later'))
  t.strictSame([left, readers.givenUp], [['no_leader'], 1])
  t.end()
})

t.test('leader with readers: what it records as it begins: they get all of it', async (t) => {
  const { forum, clock } = newWorld()
  createIdentity(forum, { kind: 'guest', displayName: 'Ana', address: '' }, 'open')
  clock.now += guestLifetimeMs
  const scene = new Scene(forum)
  t.teardown(() => scene.role.stop())
  scene.follow()
  const readers = new SlowReaders()
  scene.role.useReaders(readers)
  const { position } = forum.state
  scene.lead()
  t.ok(forum.state.position > position, 'the guest has expired')
  t.equal(readers.passedOnFrom, position)
})

type Step = (scene: Scene) => void

const steps: [weight: number, step: (n: number) => Step][] = [
  [1, () => (scene) => scene.leadAlone()],
  [4, () => (scene) => scene.follow()],
  [3, () => (scene) => scene.lead()],
  [8, () => (scene) => scene.write()],
  [6, (n) => (scene) => scene.log.sync(n)],
  [6, () => (scene) => scene.keep()],
  [1, () => (scene) => scene.startReaders()],
  [5, () => (scene) => scene.take()],
  [1, (n) => (scene) => scene.fail(new JournalError(n < 2 ? 78 : 74, 'as a test wants'))],
  [1, () => (scene) => scene.fail(new Error('of the stream'))],
  [1, () => (scene) => scene.stop()],
]

t.test('role: changes, failures and stops in any order: R1 to R5 hold after each', async (t) => {
  const step = fc.oneof(
    ...steps.map(([weight, make]) => ({ weight, arbitrary: fc.nat(3).map(make) })),
  )
  const { forum } = newWorld()
  let leaders = 0
  let takeovers = 0
  const run = fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (program) => {
    const scene = new Scene(forum)
    try {
      for (const each of program) {
        const { part } = scene
        each(scene)
        scene.check()
        if (scene.part !== 'leader' || part === 'leader') continue
        leaders += 1
        if (part === 'follower') takeovers += 1
      }
      await scene.end()
    } finally {
      await scene.role.stop()
    }
  })
  await fc.assert(run, { numRuns: 1000 })
  t.ok(takeovers > 50 && leaders > takeovers, `${leaders} led, ${takeovers} after they followed`)
})
