// Goal:   an archive has everything that callers can see and that stays: a forum that has taken one
//         in gives the same answers, and writes the same archive. Anything else is refused.
// Method: random programs of commands (commands.ts), and proposals and reviews. Every answer to a
//         read of the forum is compared with that of the one that was made of its archive. Then
//         bytes and lines of archives are changed at random.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { Route } from '../../src/edge/api/route.ts'
import { ArchiveReader, ArchiveWriter, BadArchive, linesOf } from '../../src/forum/archive.ts'
import { saveProposal, saveReview } from '../../src/forum/commands.ts'
import { getNotifications, getRead } from '../../src/forum/feed/routes.ts'
import { getFollowers } from '../../src/forum/feed/subscription-routes.ts'
import type { Forum } from '../../src/forum/forum.ts'
import { getProposal, getProposals } from '../../src/forum/governance/proposal-routes.ts'
import { getSelf } from '../../src/forum/identities/routes.ts'
import { State } from '../../src/forum/state.ts'
import { getThreads } from '../../src/forum/threads/list-routes.ts'
import { getThread } from '../../src/forum/threads/routes.ts'
import { isRejection } from '../../src/kernel/rejection.ts'
import { anyProgram, type Command } from './commands.ts'
import { dayMs, newWorld, outcomeOf, restart, type World } from './doubles.ts'
import { Run } from './program.ts'

const nobody = -1

function archiveOf(state: State, hasTokens: boolean): string {
  let text = ''
  const writer = new ArchiveWriter(state.position, (more) => {
    text += more
  })
  const entry = (address: number, bytes: number) => state.text.text(address, 0, bytes)
  for (const line of linesOf({ state, entry, hasTokens })) writer.add(line)
  writer.end()
  return text
}

/** Reads an archive as `agent-forum import` does. Throws BadArchive. */
function readArchive(bytes: Buffer): State {
  const state = new State({ retentionMs: dayMs, seed: 3 })
  const reader = new ArchiveReader(state)
  let begin = 0
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, begin)) {
    reader.add(bytes.subarray(begin, end))
    begin = end + 1
  }
  if (begin < bytes.length) throw new BadArchive('damaged', 'its last line has no end')
  reader.end()
  return state
}

/** Has every identity that can act propose something and review the first proposal. */
function govern(forum: Forum): void {
  const { identities } = forum.state
  for (let caller = 0; caller < identities.count; caller++) {
    if (!identities.mayAct(caller, forum.state.now)) continue
    const isOdd = caller % 2 === 1
    const named = { candidate_id: identities.id(caller) }
    const kind = isOdd ? ({ kind: 'maintainer', ...named } as const) : ({ kind: 'policy' } as const)
    const request = { ...kind, title: '"T"', description: 'Dé\n' }
    const key = `proposal-${caller}`
    const saved = saveProposal(forum, { caller, address: '', request, key })
    if (isRejection(saved)) continue
    const { proposals } = forum.state
    const proposal = isOdd ? saved.proposal : 0
    const decision = isOdd ? 'accept' : 'comment'
    const about = { proposalId: proposals.id(proposal), proposalHash: proposals.hash(proposal) }
    const review = {
      caller,
      address: '',
      ...about,
      decision,
      text: 'R',
      key: `${key}-review`,
    } as const
    saveReview(forum, review)
  }
}

/** Returns the bodies of the answers to all reads, without what names a position of a record. */
function answersOf(forum: Forum): string[] {
  const { identities, threads, proposals } = forum.state
  const ask = (route: Route, call: Parameters<typeof outcomeOf>[2]) => {
    const outcome = outcomeOf(forum, route, call)
    if (isRejection(outcome)) return outcome.rejected
    return Buffer.from(outcome.body as string).toString()
  }
  const range = (count: number) => Array.from({ length: count }, (_, i) => i)
  const lists = [
    { order: 'created' },
    { order: 'activity', include: 'excerpt' },
    { order: 'created', tag: ['bug'] },
  ]
  const callers = [nobody, ...range(identities.count)]
  return callers.flatMap((caller) => [
    ...lists.map((query) => ask(getThreads, { caller, query: { limit: 50, ...query } })),
    ...range(threads.count).flatMap((thread) => {
      if (threads.isExpired(thread)) return [] // an archive does not have it
      return ask(getThread, { caller, id: threads.id(thread), query: { after: 0, limit: 100 } })
    }),
    ...range(proposals.count).map((proposal) => {
      return ask(getProposal, { caller, id: proposals.id(proposal), query: { after: 0, limit: 9 } })
    }),
    ask(getProposals, { caller, query: { after: 0, limit: 100 } }),
    ...(caller === nobody
      ? []
      : ['all', 'mentions'].map((only) => {
          const query = { after: 0, limit: 100, wait: 0, ...(only === 'all' ? {} : { only }) }
          return ask(getNotifications, { caller, query })
        })),
    ...(caller === nobody ? [] : [ask(getRead, { caller }), ask(getSelf, { caller })]),
  ])
}

function worldOf(program: readonly Command[]): World {
  const run = new Run(new Set())
  for (const command of program) run.step(command)
  govern(run.world.forum)
  return run.world
}

t.test('archive: of any forum: taken in: the same answers and the same bytes', async (t) => {
  const fields = ['token_digest', 'participant_ids', 'mention_ids', 'type', 'tags']
  const seen = new Set<string>()
  const property = fc.property(anyProgram, fc.boolean(), (program, hasTokens) => {
    const { forum, clock } = worldOf(program)
    const text = archiveOf(forum.state, hasTokens)
    const state = readArchive(Buffer.from(text))
    assert.equal(archiveOf(state, hasTokens), text)
    const answers = answersOf(forum)
    const other = newWorld()
    other.clock.now = clock.now
    restart(other.forum, state)
    assert.deepEqual(answersOf(other.forum), answers)
    assert.equal(state.position, forum.state.position)
    for (const [, kind] of text.matchAll(/^\{"(\w+)":/gm)) seen.add(kind!)
    for (const [, act] of text.matchAll(/^\{"act":\{"kind":"(\w+)"/gm)) seen.add(act!)
    for (const field of fields) if (text.includes(`,"${field}":`)) seen.add(field)
  })
  fc.assert(property, { numRuns: 30, endOnFailure: true })
  const kinds = [
    'identity',
    'thread',
    'message',
    'subscription',
    'tag_subscription',
    'read',
    'proposal',
    'review',
    'claim',
  ]
  const all = ['archive', 'end', ...kinds, 'act', 'locked', 'removed', 'blocked', ...fields]
  t.same([...seen].sort(), all.sort(), 'the programs make every kind of line')
})

/** Returns why the archive is refused, or null if it is taken in. */
function whyRefused(bytes: Buffer): BadArchive['why'] | null {
  try {
    readArchive(bytes)
    return null
  } catch (error) {
    if (!(error instanceof BadArchive)) throw error
    return error.why
  }
}

/** Returns the archive with other lines, and with a last line that is right for them. */
function rewritten(text: string, change: (lines: string[]) => void): Buffer {
  const lines = text.trimEnd().split('\n').slice(0, -1)
  change(lines)
  const body = lines.map((line) => `${line}\n`).join('')
  const sha256 = createHash('sha256').update(body).digest('hex')
  return Buffer.from(`${body}${JSON.stringify({ end: { lines: lines.length, sha256 } })}\n`)
}

t.test('archive: cut anywhere, or with any other byte: refused whole', async () => {
  const property = fc.property(
    anyProgram,
    fc.nat(),
    fc.nat(),
    fc.integer({ min: 1, max: 255 }),
    (program, cut, at, by) => {
      const bytes = Buffer.from(archiveOf(worldOf(program).forum.state, true))
      const end = cut % bytes.length
      assert.equal(whyRefused(bytes.subarray(0, end)), end === 0 ? 'foreign' : 'damaged')
      const changed = Buffer.from(bytes)
      changed[at % bytes.length]! ^= by
      assert.notEqual(whyRefused(changed), null)
    },
  )
  fc.assert(property, { numRuns: 30, endOnFailure: true })
})

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, true, '', 'x', -1, 0, 1, 1.5, 2 ** 53, 1e300, [], {}, [null]),
  fc.constantFrom('guest', 'compat', 'private', 'accept', 'removed', `agt_${'0'.repeat(32)}`),
  fc.string({ maxLength: 9000, size: 'max' }),
)

t.test('archive: with another value in any field: refused, or taken in exactly so', async () => {
  const property = fc.property(
    anyProgram,
    fc.array(fc.tuple(fc.nat(), fc.nat(), odd), { minLength: 30, maxLength: 30 }),
    (program, changes) => {
      const text = archiveOf(worldOf(program).forum.state, true)
      for (const [lineAt, fieldAt, value] of changes) {
        const changed = rewritten(text, (lines) => {
          const line = JSON.parse(lines[lineAt % lines.length]!)
          const [fields] = Object.values(line) as Record<string, unknown>[]
          const names = Object.keys(fields!)
          fields![names[fieldAt % names.length]!] = value
          lines[lineAt % lines.length] = JSON.stringify(line)
        })
        const why = whyRefused(changed)
        if (why !== null) continue
        assert.equal(archiveOf(readArchive(changed), true), changed.toString())
      }
    },
  )
  fc.assert(property, { numRuns: 10, endOnFailure: true })
})

const hex = (n: number) => `${n}`.repeat(32)
const [ana, ben] = [`agt_${hex(1)}`, `agt_${hex(2)}`]
const [open, closed] = [`thr_${hex(3)}`, `thr_${hex(4)}`]
const identity = (id: string, kind = 'persistent') =>
  `{"identity":{"id":"${id}","kind":"${kind}","display_name":"ana","created_at":5,` +
  '"expires_at":null,"listed":false}}'
const thread = (id: string, seq: number, visibility = 'public') =>
  `{"thread":{"id":"${id}","author_id":"${ana}","title":"T","visibility":"${visibility}",` +
  `"created_at":6,"display_name":"ana","seq":${seq}}}`
const message = (id: string, seq: number, by = ana, rest = '') =>
  `{"message":{"thread_id":"${id}","seq":${seq},"id":"msg_${hex(seq)}","author_id":"${by}",` +
  `"display_name":"ana","kind":"persistent","content":"C","created_at":${seq + 5}${rest}}}`
const follow = (by: string, id: string, since = 1) =>
  `{"subscription":{"identity_id":"${by}","thread_id":"${id}","since":${since}}}`
const mark = (through: number) => `{"read":{"identity_id":"${ana}","through":${through}}}`
const act = (kind: string, id: string, position = 9) =>
  `{"act":{"kind":"${kind}","id":"${id}","position":${position},"at":9,"reason":""}}`
const claim = (by: string, id: string, fence: number) =>
  `{"claim":{"thread_id":"${id}","holder_id":"${by}","expires_at":99,"fence":${fence}}}`
const good = [
  '{"archive":{"format":1,"position":9}}',
  ...[identity(ana), identity(ben), thread(open, 3), thread(closed, 4, 'private')],
  ...[message(open, 3), message(closed, 4), message(open, 5, ben)],
  ...[follow(ana, open), mark(3), act('locked', open, 8), act('blocked', ben), claim(ben, open, 7)],
]

t.test('archive: whole, but contradictory: refused, with the line and why', async (t) => {
  const text = `${good.join('\n')}\n{"end":{}}\n`
  t.equal(readArchive(rewritten(text, () => {})).messages.count, 3, 'the lines as they are')
  const refused: [at: number, line: string, why: RegExp][] = [
    [0, '{"archive":{"format":1,"position":-1}}', /^line 1: position/],
    [1, identity(ben), /^line 3: agt_2+ is there twice$/],
    [1, identity(ana, 'robot'), /^line 2: kind must be guest or persistent or compat$/],
    [1, identity(ana).replace('"listed"', '"new":1,"listed"'), /^line 2: .*new/],
    [1, identity(ana).replace(':5,', ':5e0,'), /^line 2: an export would write \{"identity"/],
    [1, identity(ana).replace('{"id"', '{ "id"'), /^line 2: an export would write/],
    [3, thread(open, 1), /^line 6: seq is not the thread's, whose first message this is$/],
    [
      4,
      thread(closed, 3, 'private'),
      /^line 5: its position is not greater than that of the line before$/,
    ],
    [4, thread(open, 4), /^line 5: thr_3+ is there twice$/],
    [5, message(open, 3, `agt_${hex(7)}`), /^line 6: no line before has agt_7+$/],
    [5, message(`thr_${hex(7)}`, 3), /^line 6: no line before has thr_7+$/],
    [5, message(open, 3).replace('"ana"', '"eve"'), /^line 6: an export would write .*"ana"/],
    [6, message(closed, 4, ben), /^line 7: somebody is named who may not see the thread$/],
    [6, message(closed, 4, ana, `,"mention_ids":["${ben}"]`), /^line 7: somebody is named/],
    [6, message(open, 4), /^thr_4+ has no messages$/],
    [7, message(open, 5, ben, ',"removed":true'), /^line 8: an export would write/],
    [7, message(open, 5, ben).replace(':10}', ':1}'), /^line 8: created_at is less/],
    [7, message(open, 3, ben), /^line 8: its position is not greater/],
    [7, message(open, 5, ben).replace(hex(5), hex(3)), /^line 8: msg_3+ is there twice$/],
    [8, follow(ben, closed), /^line 9: agt_2+ cannot follow thr_4+$/],
    [8, follow(ana, open, 10), /^line 9: a position is beyond that of the first line$/],
    [9, follow(ana, open), /^line 10: agt_1+ cannot follow thr_3+$/],
    [9, mark(10), /^line 10: a position is beyond/],
    [10, message(open, 6), /^line 11: it belongs before the lines of another kind$/],
    [10, act('locked', ana), /^line 11: no line before has agt_1+$/],
    [10, act('removed', `msg_${hex(3)}`), /^line 11: no line has msg_3+ as a removed message$/],
    [11, act('locked', open), /^line 12: thr_3+ is there twice$/],
    [11, act('locked', open, 8), /^line 12: its position is not greater/],
    [10, act('locked', open, 10), /^line 11: a position is beyond/],
    [12, claim(ben, closed, 7), /^line 13: agt_2+ cannot claim thr_4+$/],
    [12, claim(ben, open, 10), /^line 13: a position is beyond/],
    [11, '{"banana":{}}', /^line 12: it is of no known kind$/],
    [11, '[1]', /^line 12: it is of no known kind$/],
    [11, '', /^line 12: it is of no known kind$/],
  ]
  for (const [at, line, why] of refused) {
    const bytes = rewritten(text, (lines) => {
      lines[at] = line
    })
    t.throws(() => readArchive(bytes), { why: 'contradictory', message: why }, `${why}`)
  }
  const removed = message(open, 5, ben)
    .replace('"C"', '"[removed]"')
    .replace('}}', ',"removed":true}}')
  const alone = rewritten(text, (lines) => lines.splice(7, 1, removed))
  t.throws(() => readArchive(alone), { message: /^no act has removed msg_5+$/ })
})

t.test('archive: two follow a thread: in the order in which they began', async (t) => {
  const bytes = rewritten(`${good.join('\n')}\n{"end":{}}\n`, (lines) => {
    lines.splice(8, 1, follow(ben, open, 5), follow(ana, open, 6))
  })
  const { forum } = newWorld()
  restart(forum, readArchive(bytes))
  t.equal(archiveOf(forum.state, false), `${bytes}`)
  const page = outcomeOf(forum, getFollowers, { caller: 0, id: open, query: { limit: 9 } })
  t.match(isRejection(page) ? page : `${page.body}`, new RegExp(`${ben}.*${ana}`))
})

t.test('archive: taken in: later claims have greater fences than those of before', async (t) => {
  const state = readArchive(rewritten(`${good.join('\n')}\n{"end":{}}\n`, () => {}))
  const closedThread = state.threads.find(hex(4))
  const { fence } = state.claims.claim(closedThread, 0, 99, 50)
  t.equal(fence, state.position + 1, 'there were no more claims than records')
})

t.test('archive: of a newer format, or no archive: refused as such', async (t) => {
  const first = (line: string) => whyRefused(Buffer.from(`${line}\n`))
  t.equal(first('{"archive":{"format":2,"position":9}}'), 'newer')
  for (const line of ['', 'x', '{}', '{"archive":{}}', identity(ana)])
    t.equal(first(line), 'foreign', line)
})
