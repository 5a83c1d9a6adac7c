// Whether a state that has lived for a while is what the records of its log fold to: what a
// checkpoint saves of it (state-hash.ts), and what is derived from that and never saved. Records
// keep the derived part up to date, and a load builds it anew (kernel/saved.ts, V1): indexes, which
// must find everything that the rows have, and queues.

import assert from 'node:assert/strict'
import type { State } from '../../src/forum/state.ts'
import { factsOf } from '../../src/kernel/saved.ts'
import { tagTopic, threadTopic } from '../../src/kernel/topics.ts'
import { hashesOf } from './state-hash.ts'

/**
 * Asserts that a state holds what the fold of its log does, which has all of its text in memory.
 * Not while a checkpoint of the state is being written (`isBeingSaved`).
 */
export function assertIsFold(live: State, folded: State, what: string): void {
  assert.equal(live.position, folded.position, `${what}: position`)
  const isCold = numbers(Math.ceil(live.text.bytes / live.text.pageBytes)).some((page) => {
    return !live.text.holds(page)
  })
  // The content of text that is on disk is not compared, nor what is still to be erased in it.
  const saved = (state: State) =>
    Object.entries(hashesOf(state, isCold ? ['arena.entries'] : [])).filter(([name]) => {
      return !isCold || !name.includes('arena.')
    })
  assert.deepEqual(saved(live), saved(folded), `${what}: what a checkpoint saves`)
  assert.deepEqual(derivedOf(live), derivedOf(folded), `${what}: what is derived`)
}

/** Returns the seed with which a state hashes keys. */
export function keySeedOf(state: State): number {
  return (factsOf(state)['receipts.'] as [number])[0]
}

/** Whether a checkpoint of the state is being written. */
export function isBeingSaved({ text }: State): boolean {
  return text.isFrozen
}

/** Returns what indexes and queues of the state find, by name. */
function derivedOf(state: State): Record<string, unknown> {
  const { identities, threads, messages, proposals, subscriptions, tags, claims } = state
  const { webhooks, feeds, moderation, receipts, invitations } = state
  const followedTags = (agent: number) => feeds.tagsOf(agent).map(({ tag }) => tag)
  const [agents, all] = [numbers(identities.count), numbers(threads.count)]
  const used = [...all.map((n) => tags.numbersOf(n)), ...agents.map((n) => followedTags(n))]
  const tagNumbers = [...new Set(used.flat())]
  const topics = [...all.map(threadTopic), ...tagNumbers.map(tagTopic)]
  return {
    identities: agents.map((n) => identities.findNamed(identities.id(n))),
    tokens: agents.map((n) => identities.tokens.find(identities.tokens.digest(n))),
    earlierTokens: agents.map((n) => [0, 1, 2, 3].map((back) => identities.tokens.end(n, back))),
    threads: all.map((n) => threads.find(threads.id(n), 'thr_'.length)),
    proposals: numbers(proposals.count).map((n) => proposals.find(proposals.id(n))),
    follows: agents.map((agent) => all.filter((n) => subscriptions.isSubscribed(agent, n))),
    mentions: feeds.mentionCount,
    tags: tagNumbers.map((n) => tags.find(tags.name(n))),
    tagNames: tags.publicNames('', '', tagNumbers.length),
    nextClaim: claims.nextExpiry,
    claims: all.map((n) => claims.of(n)),
    webhooks: agents.map((n) => webhooks.of(n)?.number),
    woken: topics.map((topic) => [...webhooks.followersOf(topic)].sort((a, b) => a - b)),
    acts: moderation.page(0, Number.MAX_SAFE_INTEGER),
    invitations: invitations.all(),
    receipts: receipts.count,
    messages: messages.count,
  }
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}
