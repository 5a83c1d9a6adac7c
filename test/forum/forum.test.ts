// Goal:   every answer is as docs/interface.md specifies, at any time, before and after a restart.
// Method: random programs of commands, run on the forum and on a model of it (commands.ts,
//         program.ts, model.ts). After each program, everything that any caller can read is
//         compared, in pages of several sizes. Then the log is folded into an empty state, which
//         must give the same bytes.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { getIdentities, getIdentity, getSelf } from '../../src/api/identities.ts'
import { getNotifications } from '../../src/api/notifications.ts'
import { getRead } from '../../src/api/read-place.ts'
import type { Answer, Route } from '../../src/api/route.ts'
import { getThread, getThreads } from '../../src/api/threads.ts'
import { isRejection, type Rejection } from '../../src/forum/forum.ts'
import { nobody } from '../../src/state/state.ts'
import { anyProgram, type Command, everyOutcome } from './commands.ts'
import { outcomeOf, replayed, restart, serviceOf } from './doubles.ts'
import type { Answered, Viewer } from './model.ts'
import { bodyOf, Run } from './program.ts'

const programs = 20

/** Reads everything that callers can, compares each answer with the model, and keeps its bytes. */
class Reader {
  readonly answers: Buffer[] = []
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  readAll(): void {
    const { model } = this.#run
    for (const viewer of [null, ...model.agents]) {
      const caller = viewer === null ? nobody : this.#run.numberOf(viewer)
      if (caller === null) continue
      for (const limit of [1, 2, 50]) {
        this.#list(viewer, caller, limit, 'created')
        this.#list(viewer, caller, limit, 'activity')
      }
      for (const thread of model.threads) {
        for (const limit of [1, 3, 100]) this.#thread(viewer, caller, thread.id, limit)
      }
      if (viewer === null) continue
      const self = this.#ask(getSelf, { caller, query: {} })
      const { identity_is_self_asserted: _, ...known } = self.body as Record<string, unknown>
      same({ ...self, body: known }, model.self(viewer))
      for (const limit of [1, 4, 100]) {
        this.#feed(viewer, caller, limit)
        this.#feed(viewer, caller, limit, 'mentions')
      }
    }
    for (const agent of model.agents) {
      same(this.#ask(getIdentity, { id: agent.id, query: {} }), model.profile(agent))
    }
    for (const name of ['', 'a', 'BO', 'ana']) {
      same(this.#ask(getIdentities, { query: { name, limit: 100 } }), model.named(name))
    }
    const absent = `thr_${'0'.repeat(32)}`
    this.#refused(getThread, { id: absent, query: { after: 0, limit: 1 } })
    this.#refused(
      getThreads,
      { query: { limit: 1, order: 'created', cursor: 'AAAA' } },
      'invalid_cursor',
    )
  }

  #list(viewer: Viewer, caller: number, limit: number, order: 'created' | 'activity'): void {
    let cursor: string | undefined
    const pages = this.#run.model.list(viewer, limit, order)
    for (const [i, expected] of pages.entries()) {
      const query = cursor === undefined ? { limit, order } : { limit, order, cursor }
      const body = this.#ask(getThreads, { caller, query })
      const { next_cursor: next, ...rest } = body.body as { next_cursor: string | null }
      assert.equal(next === null, i === pages.length - 1, 'the last page has no cursor')
      same({ ...body, body: rest }, expected)
      cursor = next ?? undefined
    }
  }

  #thread(viewer: Viewer, caller: number, id: string, limit: number): void {
    const { model } = this.#run
    const thread = model.threads.find((each) => each.id === id)!
    if (!model.maySee(viewer, thread)) {
      return this.#refused(getThread, { caller, id, query: { after: 0, limit } })
    }
    this.#follow(
      (after) => this.#ask(getThread, { caller, id, query: { after, limit } }),
      (after) => model.read(thread, after, limit),
    )
    for (let before: number | 'end' | null = 'end'; before !== null; ) {
      const answer = this.#ask(getThread, { caller, id, query: { after: 0, before, limit } })
      const end = before === 'end' ? Number.POSITIVE_INFINITY : before
      same(answer, model.readBefore(thread, end, limit))
      before = (answer.body as { next_before: number | null }).next_before
    }
  }

  #feed(viewer: Exclude<Viewer, null>, caller: number, limit: number, only?: 'mentions'): void {
    const { epoch } = serviceOf(this.#run.world.forum)
    const { model } = this.#run
    for (const include of [undefined, 'content' as const]) {
      const query = { limit, only, include }
      const ask = (after: number | 'read') =>
        this.#ask(getNotifications, { caller, query: { after, ...query } })
      const expect = (after: number | 'read') => model.feed(viewer, { after, ...query, epoch })
      this.#follow(ask, expect)
      same(ask('read'), expect('read'))
    }
    same(this.#ask(getRead, { caller, query: {} }), model.readPlace(viewer))
  }

  /** Reads to the end by `next_after`, and then from positions in between. */
  #follow(ask: (after: number) => Answered, expect: (after: number) => Answered): void {
    for (let after = 0; ; ) {
      const answer = ask(after)
      same(answer, expect(after))
      const { next_after: next } = answer.body as { next_after: number }
      if (next === after) break
      after = next
    }
    const { position } = this.#run.model
    for (const after of [1, position >> 1, position, Number.MAX_SAFE_INTEGER]) {
      same(ask(after), expect(after))
    }
  }

  #ask(route: Route, call: { caller?: number; id?: string; query: object }): Answered {
    const outcome = this.#call(route, call) as Answer
    const body = bodyOf(outcome) as object
    assert.ok(outcome.position <= this.#run.world.rows.position, 'Q1: a position of the log')
    this.answers.push(Buffer.from(outcome.body as Uint8Array))
    return { body, newest: outcome.position }
  }

  #refused(route: Route, call: { caller?: number; id?: string; query: object }, code?: string) {
    const outcome = this.#call(route, call)
    assert.deepEqual(outcome, { rejected: code ?? 'not_found' })
  }

  #call(route: Route, call: { caller?: number; id?: string; query: object }): Answer | Rejection {
    const outcome = outcomeOf(this.#run.world.forum, route, call)
    this.#run.outcomes.add(isRejection(outcome) ? outcome.rejected : `${route.name} 200`)
    return outcome
  }
}

/** Compares two answers. Q1: an answer waits for exactly the newest record that it shows. */
function same(answer: Answered, expected: Answered): void {
  assert.deepEqual(answer.body, expected.body)
  assert.equal(answer.newest, expected.newest, 'Q1: the newest record shown')
}

const outcomes = new Set<string>()

t.test(
  'F1, F2, K1, K2, Q1, M1: any program: run and replayed: the answers of the model',
  async () => {
    const property = fc.property(anyProgram, (program) => {
      const run = new Run(outcomes)
      for (const command of program) run.step(command)
      const { rows, forum } = run.world
      assert.equal(rows.position, run.model.position, 'K1: a command makes one record')
      assert.equal(forum.state.position, rows.position, 'F1: state and log advance together')
      assert.equal(forum.state.now, rows.records().at(-1)?.at ?? 0, 'F1: of the last record')
      const times = rows.records().map(({ at }) => at)
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
        'F2: times never decrease',
      )

      const live = new Reader(run)
      live.readAll()
      restart(forum, replayed(rows))
      const recovered = new Reader(run)
      recovered.readAll()
      assert.equal(recovered.answers.length, live.answers.length)
      for (const [i, bytes] of live.answers.entries()) {
        assert.ok(
          bytes.equals(recovered.answers[i]),
          'K2: state is a fold of the log, byte for byte',
        )
      }
    })
    // A failure prints its seed at once. Without `endOnFailure` it would first be shrunk, which
    // takes minutes.
    const examples: [Command[]][] = [[everyOutcome]]
    fc.assert(property, { numRuns: programs, examples, endOnFailure: true })
  },
)

t.test('the programs: all of them: every answer and refusal occurred', async (t) => {
  const met = [...outcomes].sort()
  t.same(met, [
    'blocked, once',
    'blocked, twice',
    'createIdentity 201',
    'createThread 200',
    'createThread 201',
    'erased, once',
    'erased, twice',
    'guests expired',
    'idempotency_conflict',
    'identity_blocked',
    'invalid_cursor',
    'invalid_field',
    'invalid_members',
    'invalid_mentions',
    'invalid_token',
    'listIdentities 200',
    'listThreads 200',
    'locked, once',
    'locked, twice',
    'markRead 200',
    'not_found',
    'overloaded',
    'pollNotifications 200',
    'readIdentity 200',
    'readPlace 200',
    'readSelf 200',
    'readThread 200',
    'reply 200',
    'reply 201',
    'storage_full',
    'subscribe 200',
    'thread_locked',
    'unblocked, once',
    'unblocked, twice',
    'unlocked, once',
    'unlocked, twice',
    'unsubscribe 200',
  ])
})
