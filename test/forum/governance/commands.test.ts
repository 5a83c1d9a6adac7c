// Proposals and reviews: the commands and queries, on an in-memory log of rows.

import fc from 'fast-check'
import t from 'tap'
import type { Answer } from '../../../src/edge/api/route.ts'
import type { Forum } from '../../../src/forum/forum.ts'
import {
  listProposals,
  type ProposalRequest,
  saveProposal,
  saveReview,
} from '../../../src/forum/governance/commands.ts'
import type { Decision } from '../../../src/forum/governance/machine.ts'
import { getProposal, getProposals } from '../../../src/forum/governance/proposal-routes.ts'
import { createIdentity, expireGuests } from '../../../src/forum/identities/commands.ts'
import { blockIdentity } from '../../../src/forum/moderation/commands.ts'
import { createThread } from '../../../src/forum/threads/commands.ts'
import { isRejection, type Rejection } from '../../../src/kernel/rejection.ts'
import { dayMs, newWorld, outcomeOf, replayed } from '../doubles.ts'

const policy: ProposalRequest = { kind: 'policy', title: 'A title', description: 'Why.' }
const code: ProposalRequest = {
  kind: 'code',
  title: 'Mend it',
  description: '',
  base_commit: 'a'.repeat(40),
  files: [
    { path: 'src/b.ts', content: 'b\u0001' },
    { path: 'src/a.ts', edits: [{ old_text: 'x', new_text: 'é🙂' }] },
    { path: 'src/B.ts', content: null },
  ],
}

let keys = 0
const newKey = () => `key-${++keys}-of-many`

/** Returns the outcome of a command. Throws if the command was refused. */
function done<T extends object>(outcome: T | Rejection): T {
  if (isRejection(outcome)) throw new Error(outcome.rejected)
  return outcome
}

function furnished() {
  const world = newWorld()
  const { forum } = world
  for (const kind of ['persistent', 'persistent', 'guest'] as const) {
    createIdentity(forum, { kind, displayName: kind, address: '' }, 'open')
  }
  const [ana, ben, guest] = [0, 1, 2]
  const candidateId = forum.state.identities.id(ben)
  const maintainer = { ...policy, kind: 'maintainer', candidate_id: candidateId } as const
  return { ...world, ana, ben, guest, maintainer }
}

function save(forum: Forum, caller: number, request: ProposalRequest, key = newKey()) {
  return saveProposal(forum, { caller, address: '', request, key })
}

function review(forum: Forum, caller: number, proposal: number, decision: Decision) {
  const { proposals } = forum.state
  return saveReview(forum, {
    caller,
    address: '',
    proposalId: proposals.id(proposal),
    proposalHash: proposals.hash(proposal),
    decision,
    text: `I ${decision}`,
    key: newKey(),
  })
}

/** Returns the answer to a request for a page, as text. */
function read(forum: Forum, route: typeof getProposal, id: string, query: object): string {
  const answer = outcomeOf(forum, route, { id, query: { limit: 50, ...query } }) as Answer
  return Buffer.from(answer.body as Uint8Array).toString()
}

t.test('proposals and reviews: folded from their rows again: every page is the same', async (t) => {
  const { forum, rows, ana, ben, guest, maintainer } = furnished()
  const key = newKey()
  save(forum, ana, code, key)
  save(forum, guest, policy)
  save(forum, ben, maintainer)
  for (const [caller, proposal, decision] of [
    [ana, 0, 'comment'],
    [guest, 2, 'endorse'],
    [ben, 2, 'accept'],
  ] as const) {
    done(review(forum, caller, proposal, decision))
  }
  const again: Forum = { ...forum, state: replayed(rows) }
  const pages = (of: Forum) => [
    read(of, getProposals, '', {}),
    read(of, getProposals, '', { before: Number.MAX_SAFE_INTEGER, limit: 2 }),
    ...[0, 1, 2].map((proposal) => read(of, getProposal, of.state.proposals.id(proposal), {})),
  ]
  t.same(pages(again), pages(forum))
  t.match(pages(again)[0], '"content":"b\\u0001"')

  const { position, proposal, replayed: isReplay } = done(save(again, ana, code, key))
  t.same([position, proposal, isReplay], [4, 0, true], 'its receipt is restored too')
  t.same(save(again, ana, policy, key), { rejected: 'idempotency_conflict', position: 4 })
})

t.test('proposal: the log is full: refused, but a replay is answered', async (t) => {
  const { forum, rows, ana } = furnished()
  const key = newKey()
  save(forum, ana, code, key)
  done(review(forum, ana, 0, 'approve'))
  rows.health = 'storage_full'
  t.same(save(forum, ana, code), { rejected: 'storage_full' })
  t.same(review(forum, ana, 0, 'approve'), { rejected: 'storage_full' })
  t.equal(done(save(forum, ana, code, key)).replayed, true)
  const turned = { ...code, files: [code.files[1], code.files[0], code.files[2]] }
  t.equal(done(save(forum, ana, turned, key)).replayed, true, 'files have no order')
})

t.test('key: used across kinds of writes: refused, with the position of its use', async (t) => {
  const { forum, ana } = furnished()
  const key = newKey()
  const thread = {
    caller: ana,
    title: 'A title',
    content: 'Why.',
    visibility: 'public',
    participantIds: [],
    address: '',
    key,
  } as const
  save(forum, ana, policy, key)
  t.same(createThread(forum, thread), { rejected: 'idempotency_conflict', position: 4 })
  const { position } = done(createThread(forum, { ...thread, key: newKey() }))
  t.equal(position, 5)
  const used = newKey()
  createThread(forum, { ...thread, key: used })
  t.same(save(forum, ana, policy, used), { rejected: 'idempotency_conflict', position: 6 })
})

t.test('proposal: an invalid reference: refused with the reason', async (t) => {
  const { forum, clock, ana, guest, maintainer } = furnished()
  save(forum, ana, policy)
  const supersedes = forum.state.proposals.id(0)
  const absent = `gov_${'0'.repeat(32)}`
  t.same(save(forum, ana, { ...policy, supersedes: absent }), { rejected: 'not_found' })
  const otherKind = { rejected: 'invalid_supersedes', position: 4 }
  t.same(save(forum, ana, { ...code, supersedes }), otherKind)
  done(save(forum, ana, { ...policy, supersedes }))

  const candidates = ['', 'ben', `agt_${'0'.repeat(32)}`, forum.state.identities.id(guest)]
  for (const candidate_id of candidates) {
    t.same(save(forum, ana, { ...maintainer, candidate_id }), { rejected: 'invalid_candidate' })
  }
  clock.now += 8 * dayMs
  expireGuests(forum)
  const expired = { ...maintainer, candidate_id: forum.state.identities.id(guest) }
  t.same(save(forum, ana, expired), { rejected: 'invalid_candidate' })

  const key = newKey()
  done(save(forum, ana, maintainer, key))
  blockIdentity(forum, { id: maintainer.candidate_id, reason: 'spam' })
  t.match(save(forum, ana, maintainer, key), { replayed: true }, 'a retry is answered as before')
  const { position } = forum.state
  save(forum, ana, policy)
  const blocked = { rejected: 'invalid_candidate', position }
  t.same(save(forum, ana, maintainer), blocked, 'it waits for the block to be durable')
})

t.test(
  'list: any number of proposals, any page size, either way: each once, in order',
  async () => {
    const sizes = fc.record({ count: fc.nat(12), limit: fc.integer({ min: 1, max: 5 }) })
    const property = fc.property(sizes, ({ count, limit }) => {
      const { forum, ana } = furnished()
      for (let i = 0; i < count; i++) {
        save(forum, ana, policy)
        createIdentity(forum, { kind: 'guest', displayName: 'gap', address: '' }, 'open')
      }
      for (const direction of ['after', 'before'] as const) {
        const seen: number[] = []
        let from = direction === 'after' ? 0 : Number.MAX_SAFE_INTEGER
        for (let hasMore = true; hasMore; ) {
          const page = listProposals(forum, { from, direction, limit })
          seen.push(...page.proposals)
          const beyond = direction === 'after' && page.hasMore ? [page.proposals.at(-1)! + 1] : []
          const newest = Math.max(-1, ...page.proposals, ...beyond)
          const expected = newest === -1 ? 0 : forum.state.proposals.seq(newest)
          if (page.position !== expected) throw new Error(`waits for ${page.position}`)
          if (page.proposals.length === 0 && page.next !== from) throw new Error('cursor moved')
          from = page.next
          hasMore = page.hasMore
        }
        const all = Array.from({ length: count }, (_, i) => i)
        const expected = direction === 'after' ? all : all.reverse()
        if (`${seen}` !== `${expected}`) throw new Error(`${direction}: ${seen}`)
      }
    })
    fc.assert(property, { numRuns: 100 })
  },
)
