// The list by activity, compared with plain sorting: computed in one step or in slices, while
// messages arrive.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Activity } from '../../../src/forum/threads/activity.ts'
import { ActivitySearch, passedMax } from '../../../src/forum/threads/activity-list.ts'
import {
  chosenAmong,
  type ListRead,
  listThreads,
  type ThreadList,
} from '../../../src/forum/threads/queries.ts'
import { Scene } from '../scene.ts'

/** The visible threads with the positions of their newest messages, newest first. */
function naive({ forum, posted }: Scene, { caller, before }: ListRead): [number, number][] {
  const newest = new Map<number, number>()
  for (const { thread, seq } of posted) newest.set(thread, seq)
  return [...newest]
    .filter(([thread, seq]) => seq < before && forum.state.maySee(caller, thread))
    .sort(([, a], [, b]) => b - a)
}

/** Identities 0 to 3, who see 20 or all of the 60 private threads, and 1,500 replies. */
function scene(): Scene {
  const made = new Scene(4)
  for (let i = 0; i < 120; i++) made.thread(i % 2 === 0 ? 'public' : 'private', [1 + (i % 3)])
  for (let i = 0; i < 1500; i++) made.reply(0, (i * i + (i >> 4)) % 120)
  return made
}

/** The threads that move between two slices, as indexes into the list. */
const pause = fc.array(fc.oneof(fc.nat(6), fc.nat(80)), { maxLength: 4 })

t.test('L2: any caller, cursor and pace: the page of the last instant', async (t) => {
  const shared = scene()
  const { forum } = shared
  const activity = new Activity(forum.state)
  let [slices, short] = [0, 0]
  const property = fc.property(
    fc.integer({ min: -1, max: 3 }),
    fc.oneof(fc.nat(1600), fc.constant(Number.POSITIVE_INFINITY)),
    fc.integer({ min: 1, max: 12 }),
    fc.oneof(fc.integer({ min: 16, max: 60 }), fc.constant(1_000_000)),
    fc.array(pause, { maxLength: 8 }),
    fc.boolean(),
    (caller, before, limit, looks, pauses, isNew) => {
      const read = { caller, before, limit }
      const index = isNew ? new Activity(forum.state) : activity
      const search = new ActivitySearch(forum.state, index, read)
      for (let n = 0; !search.step(n < 300 ? looks : 1_000_000); n++) {
        slices += 1
        const list = naive(shared, read)
        const moving = (pauses[n] ?? []).flatMap((place) => list[place]?.[0] ?? [])
        for (const thread of moving) shared.reply(0, thread)
      }
      const page = search.list()
      const expected = naive(shared, read)
      const ends = expected.slice(0, page.threads.length)
      assert.deepEqual(
        page.threads,
        ends.map(([thread]) => thread),
      )
      const seqs = forum.state.position
      assert.ok(page.position === seqs, 'L3: the newest message')
      const hasMore = expected.length > page.threads.length
      if (!hasMore && page.nextBefore === null) return
      assert.ok(page.threads.length <= limit)
      const { nextBefore } = page
      assert.ok(nextBefore !== null, 'there are more')
      const rest = expected.filter(([, seq]) => seq < nextBefore)
      assert.deepEqual(rest, expected.slice(page.threads.length), 'none is left out')
      if (page.threads.length === limit) return
      short += 1
      assert.ok(caller >= 0 && looks < 100, 'only in slices')
    },
  )
  fc.assert(property, { numRuns: 400 })
  t.ok(slices > 1000, `${slices} slices`)
  t.ok(short < 40, `${short} short pages`)
})

t.test('L2: the private threads of a page move while it is found: it is shorter', async (t) => {
  const made = scene()
  const { forum } = made
  for (const limit of [1, 2, 3, 4]) {
    const read = { caller: 0, before: forum.state.position - 20, limit }
    const search = new ActivitySearch(forum.state, forum.activity, read)
    t.notOk(search.step(60), 'all private threads were looked at, and no public one')
    const privates = naive(made, read).filter(([thread]) => !forum.state.threads.isPublic(thread))
    for (const [thread] of privates.slice(0, limit + 1)) made.reply(0, thread)
    while (!search.step());
    const { threads, nextBefore } = search.list()
    const expected = naive(made, read)
    t.same(
      threads,
      expected.slice(0, threads.length).map(([thread]) => thread),
    )
    const rest = expected.filter(([, seq]) => seq < nextBefore!)
    t.same(rest, expected.slice(threads.length), 'none is left out')
  }
})

t.test('L2: a thread expires while a page is found: no other one is left out', async (t) => {
  for (const tags of [undefined, ['bug']]) {
    const made = new Scene(2)
    for (let i = 0; i < 6; i++) made.thread(tags ? 'public' : 'private', [1], '', tags)
    const { forum } = made
    const read = { caller: 1, before: Number.POSITIVE_INFINITY, limit: 9, tags }
    const search = new ActivitySearch(forum.state, forum.activity, read)
    t.notOk(search.step(3))
    made.expire(0)
    while (!search.step());
    t.same(search.list().threads, [5, 4, 3, 2, 1])
  }
})

t.test('L2: a walk while threads move: none twice, and each that stays is shown', async (t) => {
  const made = scene()
  const { state } = made.forum
  const activity = new Activity(state)
  const first = naive(made, { caller: -1, before: Number.POSITIVE_INFINITY, limit: 0 })
  const shown: number[] = []
  const moved = new Set<number>()
  for (let before: number | null = Number.POSITIVE_INFINITY; before !== null; ) {
    const search: ActivitySearch = new ActivitySearch(state, activity, {
      caller: -1,
      before,
      limit: 7,
    })
    while (!search.step());
    const page: ThreadList = search.list()
    shown.push(...page.threads)
    before = page.nextBefore
    const thread = (shown.length * 34) % 120
    moved.add(thread)
    made.reply(0, thread)
  }
  t.equal(new Set(shown).size, shown.length, 'none twice')
  const missed = first.map(([thread]) => thread).filter((thread) => !shown.includes(thread))
  t.ok(
    missed.every((thread) => moved.has(thread)),
    `${missed}`,
  )
  t.ok(missed.length > 0)
})

t.test('A1: a busy thread of 200,000 messages: its old ones are passed over at once', async (t) => {
  const made = new Scene(1)
  for (let i = 0; i < 50; i++) made.thread('public', [])
  const all = { caller: -1, before: Number.POSITIVE_INFINITY, limit: 20 }
  for (let i = 0; i < 200_000; i++) made.reply(0, 7)
  const { state } = made.forum
  const activity = new Activity(state)
  const slicesOf = (looks: number, read = all) => {
    const search = new ActivitySearch(state, activity, read)
    let slices = 1
    while (!search.step(looks)) slices += 1
    t.same(
      search.list().threads,
      naive(made, read)
        .slice(0, 20)
        .map(([thread]) => thread),
    )
    return slices
  }
  t.ok(slicesOf(1000) > 200, 'found in slices')
  t.equal(slicesOf(30), 1, 'and then at once')
  const middle = { ...all, before: state.position - 100_000 }
  t.equal(slicesOf(200, middle), 1, 'A2: from anywhere among them: one look for each slice')
  t.equal(slicesOf(30, middle), 1, 'and then at once')
  for (let i = 0; i < 40; i++) {
    made.reply(0, 7)
    t.equal(slicesOf(40), 1, 'each message makes one look more')
  }
})

t.test('claimed threads: very many, left out: short pages, each after a few slices', async (t) => {
  const made = new Scene(2)
  const { state } = made.forum
  const count = 2 * chosenAmong
  for (let i = 0; i < count; i++) made.thread('public', [])
  const free = [0, 1, 5000, count - 1]
  for (let i = 0; i < count; i++) {
    if (!free.includes(i)) state.claims.claim(i, 1, Number.MAX_SAFE_INTEGER, 0)
  }
  const activity = new Activity(state)
  const byActivity = (read: ListRead): ThreadList => {
    const search = new ActivitySearch(state, activity, read)
    for (let slices = 0; !search.step(); slices++) assert.ok(slices < 4, 'a page in few slices')
    return search.list()
  }
  const byCreation = (read: ListRead): ThreadList => listThreads(made.forum, read)
  for (const [list, most] of [
    [byActivity, passedMax],
    [byCreation, chosenAmong],
  ] as const) {
    const found: number[] = []
    let pages = 0
    for (let before: number | null = Number.POSITIVE_INFINITY; before !== null; pages++) {
      const page: ThreadList = list({ caller: 1, before, limit: 9, claimed: false })
      found.push(...page.threads)
      before = page.nextBefore
    }
    t.same(found, free.toReversed(), 'each once, newest first')
    t.ok(pages >= count / most, `${pages} pages`)
  }
})

t.test('claimed threads before many old messages, left out: nothing is done at once', async (t) => {
  const made = new Scene(1)
  const { state } = made.forum
  for (let i = 0; i < 3; i++) made.thread('public', [])
  for (let i = 0; i < 20_000; i++) made.reply(0, 2)
  for (let i = 3; i < 7; i++) made.thread('public', [])
  for (const i of [1, 3, 4, 5, 6]) state.claims.claim(i, 0, Number.MAX_SAFE_INTEGER, 0)
  const read = { caller: 0, before: Number.POSITIVE_INFINITY, limit: 1, claimed: false }
  const search = new ActivitySearch(state, new Activity(state), read)
  while (!search.step(1000));
  const { thread } = state.messages
  let looks = 0
  state.messages.thread = (message) => {
    looks += 1
    return thread.call(state.messages, message)
  }
  t.match(search.list(), { threads: [2], nextBefore: state.position - 4 })
  t.ok(looks < 100, `${looks} messages`)
})
