// The writes with a key that a program makes (program.ts), and the changes with which it repeats
// them.

import type { Claiming } from '../simulate/claim-forecasts.ts'
import type { Change } from './commands.ts'

interface ThreadPost {
  does: 'thread'
  title: string
  content: string
  visibility: 'public' | 'private'
  participantIds: string[]
  mentionIds: string[]
  type: string | undefined
  tags: readonly string[]
  ttlSeconds?: number | undefined
}

interface ReplyPost {
  does: 'reply'
  threadId: string
  content: string
  mentionIds: string[]
  type: string | undefined
  expectSeq?: number | undefined
  seenSeq?: number | undefined
  fence?: number | undefined
}

interface ClaimPost extends Claiming {
  does: 'claim'
}

export type Post = ThreadPost | ReplyPost | ClaimPost

export function bodyOfPost(post: Post): object {
  if (post.does === 'claim') return { seconds: post.seconds, fence: post.fence }
  const said = { content: post.content, mention_ids: post.mentionIds, type: post.type }
  if (post.does === 'reply') {
    const seen = { expect_seq: post.expectSeq, seen_seq: post.seenSeq, fence: post.fence }
    return { ...said, ...seen }
  }
  const { title, visibility, participantIds, tags, ttlSeconds } = post
  const members = { visibility, participant_ids: participantIds }
  return { title, ...said, ...members, tags, ttl_seconds: ttlSeconds }
}

/** Returns a request that differs from the post in this, or another one for this thread. */
export function changed(post: Post, change: Change, threadId: string): Post {
  if (post.does === 'claim') {
    if (change === 'thread') return { ...post, threadId }
    if (change === 'fence') return { ...post, fence: (post.fence ?? 0) + 1 }
    return change === 'operation' ? threadOf('a claim') : post
  }
  if (change === 'content') return { ...post, content: `${post.content}.` }
  if (change === 'type') return { ...post, type: post.type === undefined ? 'other' : undefined }
  if (change === 'mentions') return { ...post, mentionIds: post.mentionIds.toReversed() }
  if (post.does === 'reply') {
    if (change === 'thread') return { ...post, threadId }
    if (change === 'fence') return { ...post, fence: (post.fence ?? 0) + 1 }
    if (change === 'seen') return { ...post, seenSeq: (post.seenSeq ?? 0) + 1 }
    return change === 'operation' ? threadOf(post.content) : post
  }
  const { visibility, participantIds, content, mentionIds, type } = post
  if (change === 'tags') return { ...post, tags: post.tags.toReversed() }
  if (change === 'ttl') return { ...post, ttlSeconds: (post.ttlSeconds ?? 60) + 1 }
  if (change === 'title') return { ...post, title: `${post.title}.` }
  if (change === 'members') return { ...post, participantIds: participantIds.toReversed() }
  if (change === 'operation') return { does: 'reply', threadId, content, mentionIds, type }
  if (change !== 'visibility') return post
  return { ...post, visibility: visibility === 'public' ? 'private' : 'public' }
}

function threadOf(content: string): ThreadPost {
  const none = { participantIds: [], mentionIds: [], type: undefined, tags: [] }
  return { does: 'thread', title: content, content, visibility: 'public', ...none }
}
