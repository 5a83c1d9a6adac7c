// Feeds for tests of searches: what is searched for, in forums of many threads, and what plain
// sorting finds.

import fc from 'fast-check'
import type { Feed, FeedRead } from '../../../src/forum/feed/queries.ts'
import { type Posted, Scene } from '../scene.ts'

/** Computes the feed naively: collects everything, sorts it and cuts it off. */
export function naiveFeed(scene: Scene, { caller, after, limit, only, type, tags }: FeedRead) {
  const { forum, posted } = scene
  const follows = (thread: number) => forum.state.subscriptions.isSubscribed(caller, thread)
  const isMention = ({ mentions, isErased }: Posted) => !isErased && mentions.includes(caller)
  const tagOf = (message: Posted) => scene.followedTag(caller, message)
  const later = posted
    .filter(({ seq, author }) => seq > after && author !== caller)
    .filter(({ thread }) => !forum.state.threads.isExpired(thread))
    .filter((message) => {
      const isFollowed = follows(message.thread) || tagOf(message) !== undefined
      return isMention(message) || (only !== 'mentions' && isFollowed)
    })
    .filter((each) => type === undefined || (each.type === type && !each.isErased))
    .filter(({ thread }) => {
      const has = forum.state.tags.of(thread)
      return tags === undefined || tags.every((tag) => has.includes(tag))
    })
    .sort((a, b) => a.seq - b.seq)
  const page = later.slice(0, limit)
  const seqs = page.map(({ seq }) => seq)
  const mentions = page.filter(isMention).map(({ seq }) => seq)
  const tagged = page.filter((each) => tagOf(each) !== undefined)
  const hasMore = later.length > limit
  const last = seqs.at(-1) ?? after
  const isPast = (type ?? tags) !== undefined && !hasMore
  const nextAfter = isPast ? Math.max(after, forum.state.position) : last
  return {
    seqs,
    mentions,
    tagged: tagged.map((each) => [each.seq, tagOf(each)]),
    nextAfter,
    hasMore,
  }
}

/** Returns the feed with positions in place of message numbers. */
export function shown({ forum: { state } }: Scene, feed: Feed) {
  const seqOf = (message: number) => state.messages.seq(message)
  const [seqs, mentions] = [feed.messages.map(seqOf), feed.mentions.map(seqOf)]
  const tagged = Array.from(feed.tagged, ([message, tag]) => [seqOf(message), tag])
  return { seqs, mentions, tagged, nextAfter: feed.nextAfter, hasMore: feed.hasMore }
}

export const only = fc.constantFrom(undefined, undefined, 'mentions' as const)
export const type = fc.constantFrom(undefined, undefined, 'question', 'rare', 'unknown')
export const tags = fc.constantFrom(undefined, undefined, ['a'], ['a', 'b'], ['c'])
export const tagsOf = (i: number) => [['a'], ['b', 'a'], [], ['b']][i % 4]
/** Returns the type of the scene's `i`-th reply. */
export const typeOf = (i: number) => (i % 700 === 0 ? 'rare' : i % 3 === 0 ? 'question' : '')

/** Five identities; 60 threads, each followed by one or all of 1 to 4; 3,000 replies. */
export function smallScene(): Scene {
  const scene = new Scene(5)
  const everyone = [1, 2, 3, 4]
  for (let i = 0; i < 60; i++) {
    scene.thread('public', i % 3 === 0 ? everyone : [1 + (i % 4)], '', tagsOf(i))
    if (i === 20) for (const tag of ['a', 'b']) scene.followTag(2, tag)
    if (i === 30) scene.followTag(4, 'b')
  }
  for (let i = 0; i < 3000; i++) {
    const mentions = i % 9 === 0 ? [i % 5, (i + 1) % 5] : i % 500 === 1 ? everyone : []
    scene.reply((i * 7 + (i >> 3)) % 5, (i * 31 + (i >> 2)) % 60, mentions, typeOf(i))
  }
  for (let i = 0; i < 60; i += 7) scene.unsubscribe(2, i)
  for (let i = 0; i < 60; i++) scene.unsubscribe(4, i)
  for (let i = 0; i < 3000; i += 36) scene.erase(i)
  return scene
}

/** Identities 0 and 1 follow more threads than one slice examines, 2 follows a tenth of them. */
export function wideScene(): Scene {
  const scene = new Scene(4)
  for (let i = 0; i < 5000; i++) {
    scene.thread(i % 50 === 7 ? 'private' : 'public', i % 10 === 0 ? [1, 2] : [1], '', tagsOf(i))
    if (i === 1000) for (const tag of ['a', 'b']) scene.followTag(2, tag)
    if (i === 4000) for (const by of [1, 3]) scene.followTag(by, 'b')
  }
  for (let i = 0; i < 3000; i++) {
    const mentions = i % 30 === 0 ? [0, 1, 3] : []
    scene.reply(i % 40 === 0 ? 2 : 0, (i * 7) % 5000, mentions, typeOf(i))
  }
  return scene
}
