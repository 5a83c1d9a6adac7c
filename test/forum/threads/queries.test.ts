// The pages and lists of reads.ts, compared with plain sorting, for more threads and messages than
// the programs of forum.test.ts have.

import fc from 'fast-check'
import t from 'tap'
import type { Visibility } from '../../../src/forum/threads/machine.ts'
import {
  chosenAmong,
  countUnseen,
  listThreads,
  readThread,
  type ThreadPage,
  unseenMax,
  unseenSteps,
} from '../../../src/forum/threads/queries.ts'
import { isRejection } from '../../../src/kernel/rejection.ts'
import { type Posted, Scene } from '../scene.ts'

const anyThreads = fc.array(
  fc.record({
    visibility: fc.constantFrom<Visibility[]>('public', 'private'),
    participants: fc.uniqueArray(fc.integer({ min: 1, max: 2 }), { maxLength: 2, size: 'max' }),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
)

t.test('list: public and private mixed: in pages: newest first, none twice', async () => {
  const property = fc.property(anyThreads, fc.integer({ min: 1, max: 9 }), (threads, limit) => {
    const scene = new Scene(4)
    for (const { visibility, participants } of threads) scene.thread(visibility, participants)
    for (const caller of [-1, 0, 1, 3]) {
      const expected = threads
        .map(({ visibility, participants }, thread) => ({ visibility, participants, thread }))
        .filter(({ visibility, participants }) => {
          if (visibility === 'public' || caller === 0) return true
          return participants.includes(caller)
        })
        .map(({ thread }) => thread)
        .reverse()
      const shown: number[] = []
      let before: number | null = Number.POSITIVE_INFINITY
      while (before !== null) {
        const page = listThreads(scene.forum, { caller, before, limit })
        shown.push(...page.threads)
        before = page.nextBefore
      }
      if (String(shown) !== String(expected)) throw new Error(`${shown} is not ${expected}`)
    }
  })
  fc.assert(property, { numRuns: 25 })
})

t.test('Q1: a thread of 400 replies: pages after any seq: exactly the later ones', async (t) => {
  const scene = new Scene(2)
  for (let i = 0; i < 3; i++) scene.thread('public', [])
  for (let i = 0; i < 400; i++) scene.reply(i % 2, (i * i) % 3)
  const { forum } = scene
  const seqs = scene.posted.filter(({ thread }) => thread === 1).map(({ seq }) => seq)
  const threadId = forum.state.threads.id(1)
  let wrong = 0
  for (let after = 0; after <= forum.state.position + 1; after++) {
    const page = readThread(forum, { caller: -1, threadId, after, limit: 10 })
    if (isRejection(page)) throw new Error(page.rejected)
    const shown: number[] = []
    for (let i = page.first; i < page.end; i++) {
      shown.push(forum.state.messages.seq(forum.state.threads.message(1, i)))
    }
    const later = seqs.filter((seq) => seq > after)
    const expected = { shown: later.slice(0, 10), nextAfter: later[9] ?? later.at(-1) ?? after }
    const got = { shown, nextAfter: page.nextAfter }
    if (JSON.stringify(got) !== JSON.stringify(expected)) wrong += 1
    if (page.hasMore !== later.length > 10 || page.position !== seqs.at(-1)) wrong += 1
  }
  t.equal(wrong, 0)
})

t.test('Q1: a thread of 400 replies: pages before any seq: the last earlier ones', async (t) => {
  const scene = new Scene(2)
  for (let i = 0; i < 3; i++) scene.thread('public', [])
  for (let i = 0; i < 400; i++) scene.reply(i % 2, (i * i) % 3)
  const { forum } = scene
  const { messages, threads } = forum.state
  const seqs = scene.posted.filter(({ thread }) => thread === 1).map(({ seq }) => seq)
  const read = { caller: -1, threadId: threads.id(1), after: 0, limit: 10 }
  const wrong: number[] = []
  const places = Array.from({ length: forum.state.position + 3 }, (_, before) => before)
  for (const before of [...places, Number.POSITIVE_INFINITY]) {
    const page = readThread(forum, { ...read, before })
    if (isRejection(page)) throw new Error(page.rejected)
    const { first, end, nextAfter, nextBefore, hasMore } = page
    const count = end - first
    const shown = Array.from({ length: count }, (_, i) =>
      messages.seq(threads.message(1, first + i)),
    )
    const earlier = seqs.filter((seq) => seq < before)
    const expected = earlier.slice(-10)
    const isFirst = earlier.length <= 10
    const ends = [expected.at(-1) ?? 0, isFirst ? null : expected[0], !isFirst]
    const isRight =
      `${shown}` === `${expected}` && `${[nextAfter, nextBefore, hasMore]}` === `${ends}`
    if (!isRight) wrong.push(before)
  }
  t.same(wrong, [])
})

t.test('Q2: a thread of 1,000 messages: the newest are read: few are examined', async (t) => {
  const scene = new Scene(3)
  for (let i = 0; i < 4; i++) scene.thread('public', [1])
  for (let i = 0; i < 4000; i++) scene.reply(2, i % 4)
  const { forum } = scene
  const { messages } = forum.state
  let looks = 0
  for (const look of ['seq', 'author'] as const) {
    const original = messages[look].bind(messages)
    messages[look] = (message) => {
      looks += 1
      return original(message)
    }
  }
  const after = forum.state.position - 20
  const threadId = forum.state.threads.id(1)
  t.match(readThread(forum, { caller: 1, threadId, after, limit: 50 }), { hasMore: false })
  t.ok(looks <= 15, `a page: ${looks}, halving 1,000 takes 10`)
})

t.test('unseen: counted up to a limit, among as many messages as a limit allows', async (t) => {
  const scene = new Scene(2)
  scene.thread('public', [])
  const [{ seq }] = scene.posted as [Posted]
  const { state } = scene.forum
  const unseen = () => {
    scene.reply(0, 0)
    return countUnseen(state, scene.posted.length - 1, seq)
  }
  for (let i = 0; i < unseenMax + 5; i++) scene.reply(1, 0)
  t.equal(unseen(), unseenMax)
  const own = new Scene(2)
  own.thread('public', [])
  for (let i = 1; i < unseenSteps; i++) own.reply(0, 0)
  own.reply(1, 0)
  own.reply(1, 0)
  own.reply(0, 0)
  const last = own.posted.length - 1
  t.equal(countUnseen(own.forum.state, last, own.posted[0]!.seq), 1, 'the second is too far')
})

t.test('Q2: a rare type among very many messages: short pages, which lead to all', async (t) => {
  const scene = new Scene(1)
  scene.thread('public', [], 'rare')
  for (let i = 0; i < 3 * chosenAmong; i++) scene.reply(0, 0, [], i === chosenAmong ? 'rare' : 'x')
  scene.reply(0, 0, [], 'rare')
  const { forum, posted } = scene
  const threadId = forum.state.threads.id(0)
  const rare = [...posted.keys()].filter((message) => posted[message].type === 'rare')
  const read = (place: { after: number } | { after: number; before: number }): ThreadPage => {
    const page = readThread(forum, { caller: -1, threadId, limit: 2, type: 'rare', ...place })
    if (isRejection(page)) throw new Error(page.rejected)
    t.ok(page.end - page.first <= chosenAmong, `${page.end - page.first} are examined`)
    return page
  }
  const forwards: number[] = []
  for (let after = 0, hasMore = true; hasMore; ) {
    const page = read({ after })
    forwards.push(...page.chosen!)
    after = page.nextAfter
    hasMore = page.hasMore
  }
  t.strictSame(forwards, rare)
  const backwards: number[] = []
  for (let before: number | null = Number.POSITIVE_INFINITY; before !== null; ) {
    const page = read({ after: 0, before })
    backwards.unshift(...page.chosen!)
    before = page.nextBefore!
  }
  t.strictSame(backwards, rare)
})
