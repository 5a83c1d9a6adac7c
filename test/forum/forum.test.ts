// Goal:   every answer is as docs/interface.md specifies, at any time, before and after a restart.
// Method: random programs of commands, run on the forum and on a model of it (commands.ts,
//         program.ts, and the model of test/simulate, which asserts F2). After each program,
//         everything that any caller can read is compared, in pages of several sizes. Then the log
//         is folded into an empty state, which must give the same bytes.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Route } from '../../src/edge/api/route.ts'
import { getNotifications, getRead } from '../../src/forum/feed/routes.ts'
import { getIdentities, getIdentity, getSelf } from '../../src/forum/identities/routes.ts'
import { getTags } from '../../src/forum/tags/routes.ts'
import { getThreads } from '../../src/forum/threads/list-routes.ts'
import { getThread } from '../../src/forum/threads/routes.ts'
import { nobody } from '../../src/kernel/network.ts'
import { type Expected, refused } from '../simulate/asking.ts'
import { shown } from '../simulate/forecasting.ts'
import type { Agent, Thread } from '../simulate/model-types.ts'
import * as pages from '../simulate/pages.ts'
import { anyProgram, type Command, everyOutcome } from './commands.ts'
import { replayed, restart, serviceOf } from './doubles.ts'
import { Run } from './program.ts'

const programs = 20

/** Reads everything that callers can, compares each answer with the model, and keeps its bytes. */
class Reader {
  readonly answers: string[] = []
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
        this.#list(viewer, caller, { limit, order: 'created' })
        this.#list(viewer, caller, { limit, order: 'activity' })
        for (const order of ['created', 'activity'] as const) {
          this.#list(viewer, caller, { limit, order, claimed: 'true' })
          // A shorter page of the others may be followed by an empty one.
          this.#list(viewer, caller, { limit: 50, order, claimed: 'false' })
        }
        this.#list(viewer, caller, { limit, order: 'created', tag: ['bug'] })
        this.#list(viewer, caller, { limit, order: 'activity', tag: ['bug'] })
        this.#list(viewer, caller, { limit, order: 'activity', include: 'excerpt' })
      }
      const everyTag = { query: { prefix: '', after: '', limit: 100 } }
      this.#ask(getTags, { caller, ...everyTag }, pages.tagList(model, viewer))
      for (const thread of model.threads) {
        for (const limit of [1, 3, 100]) {
          this.#thread(viewer, caller, thread, limit)
          this.#thread(viewer, caller, thread, limit, 'question')
        }
      }
      if (viewer === null) continue
      this.#ask(getSelf, { caller, query: {} }, pages.self(model, viewer))
      for (const limit of [1, 4, 100]) {
        this.#feed(viewer, caller, limit)
        this.#feed(viewer, caller, limit, { only: 'mentions' })
        this.#feed(viewer, caller, limit, { type: 'question' })
        this.#feed(viewer, caller, limit, { tag: ['bug'] })
        this.#feed(viewer, caller, limit, { type: 'question', tag: ['bug', 'infra'] })
        this.#feed(viewer, caller, limit, { only: 'mentions', type: 'bug-report' })
      }
    }
    for (const agent of model.agents) {
      this.#ask(getIdentity, { id: agent.id, query: {} }, pages.profile(model, agent))
    }
    for (const name of ['', 'a', 'BO', 'ana']) {
      this.#ask(getIdentities, { query: { name, limit: 100 } }, pages.named(model, name, false))
    }
    const absent = { id: `thr_${'0'.repeat(32)}`, query: { after: 0, limit: 1 } }
    this.#run.ask(getThread, absent, refused('not_found'))
    const cursor = { query: { limit: 1, order: 'created', cursor: 'AAAA' } }
    this.#run.ask(getThreads, cursor, refused('invalid_cursor'))
  }

  #list(viewer: Agent | null, caller: number, read: pages.ListRead): void {
    let cursor: string | undefined
    const list = pages.threadList(this.#run.model, viewer, read)
    for (const [i, { body, newest }] of list.entries()) {
      const query = cursor === undefined ? read : { ...read, cursor }
      const check = (text: string) => {
        const next = /"next_cursor":("[^"]*"|null),/.exec(text)!
        assert.equal(next[1] === 'null', i === list.length - 1, 'the last page has no cursor')
        assert.equal(text.replace(next[0], '"next_cursor":null,'), body)
        cursor = JSON.parse(next[1]) ?? undefined
      }
      this.#ask(getThreads, { caller, query }, { body: check, newest })
    }
  }

  #thread(
    viewer: Agent | null,
    caller: number,
    thread: Thread,
    limit: number,
    type?: string,
  ): void {
    const { id } = thread
    if (!this.#run.model.maySee(viewer, thread)) {
      this.#run.ask(getThread, { caller, id, query: { after: 0, limit } }, refused('not_found'))
      return
    }
    this.#follow((after) => {
      const page = pages.threadPage(thread, after, limit, type)
      return this.#ask(getThread, { caller, id, query: { after, limit, type } }, page)
    })
    for (let before: number | 'end' | null = 'end'; before !== null; ) {
      const end = before === 'end' ? Number.POSITIVE_INFINITY : before
      const query = { after: 0, before, limit, type }
      const page = pages.lastPage(thread, end, limit, type)
      before = this.#ask(getThread, { caller, id, query }, page).next_before as number | null
    }
  }

  #feed(
    viewer: Agent,
    caller: number,
    limit: number,
    chosen: { only?: 'mentions'; type?: string; tag?: string[] } = {},
  ): void {
    const { epoch } = serviceOf(this.#run.world.forum)
    const { model } = this.#run
    for (const include of [undefined, 'content' as const]) {
      const read = (after: number | 'read') => {
        const query = { after, limit, include, ...chosen }
        const page = pages.feed(model, viewer, { ...query, epoch })
        return this.#ask(getNotifications, { caller, query }, page)
      }
      this.#follow(read)
      read('read')
    }
    this.#ask(getRead, { caller, query: {} }, pages.place(model, viewer))
  }

  /** Reads to the end by `next_after`, and then from positions in between. */
  #follow(read: (after: number) => Record<string, unknown>): void {
    for (let after = 0; ; ) {
      const next = read(after).next_after as number
      if (next === after) break
      after = next
    }
    const { position } = this.#run.model
    for (const after of [1, position >> 1, position, Number.MAX_SAFE_INTEGER]) read(after)
  }

  /** Asks for a page, which must be this one, and returns it. */
  #ask(
    route: Route,
    call: { caller?: number; id?: string; query: object },
    page: Pick<Expected, 'body' | 'newest'>,
  ): Record<string, unknown> {
    const text = this.#run.ask(route, call, shown(page))!
    this.answers.push(text)
    return JSON.parse(text)
  }
}

const outcomes = new Set<string>()

t.test(
  'F1, F2, K1, K2, Q1, M1: any program: run and replayed: the answers of the model',
  async () => {
    const property = fc.property(anyProgram, (program) => {
      const run = new Run(outcomes)
      for (const command of program) run.step(command)
      const { rows, forum } = run.world
      assert.equal(rows.position, run.model.position, 'K1: nothing else makes a record')
      assert.equal(forum.state.position, rows.position, 'F1: state and log advance together')
      assert.equal(forum.state.now, rows.records().at(-1)?.at ?? 0, 'F1: of the last record')

      const live = new Reader(run)
      live.readAll()
      restart(forum, replayed(rows))
      const recovered = new Reader(run)
      recovered.readAll()
      assert.equal(recovered.answers.length, live.answers.length)
      for (const [i, text] of live.answers.entries()) {
        assert.equal(recovered.answers[i], text, 'K2: state is a fold of the log, byte for byte')
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
    'claim 200',
    'claim 201',
    'claim_lost',
    'claimed',
    'claims expired',
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
    'listTags 200',
    'listThreads 200',
    'locked, once',
    'locked, twice',
    'markRead 200',
    'not_author',
    'not_found',
    'not_holder',
    'overloaded',
    'pollNotifications 200',
    'readIdentity 200',
    'readPlace 200',
    'readSelf 200',
    'readThread 200',
    'releaseClaim 200',
    'reply 200',
    'reply 201',
    'storage_full',
    'subscribe 200',
    'subscribeTag 200',
    'tagThread 200',
    'thread_changed',
    'thread_locked',
    'threads erased',
    'threads expired',
    'unblocked, once',
    'unblocked, twice',
    'unlocked, once',
    'unlocked, twice',
    'unsubscribe 200',
    'unsubscribeTag 200',
  ])
})
