// What forecasts consist of (forecasts.ts): the record that a write makes, and the answers to keys
// that were used before.

import assert from 'node:assert/strict'
import type { ForumRecord, RecordOf, RecordType } from '../../src/forum/records.ts'
import { type Expected, type ExpectedWrite, type Forecast, refused } from './asking.ts'
import type { Model } from './model.ts'
import { type Agent, isSameRequest } from './model-types.ts'
import * as pages from './pages.ts'

/** Returns the forecast of a record with these fields, made at `at`, and of the answer to it. */
export function writing<T extends RecordType>(
  { model, at }: { model: Model; at: number },
  type: T,
  fields: Partial<Record<keyof RecordOf<T>, unknown>>,
  answer: () => Omit<Expected, 'newest'>,
): ExpectedWrite {
  return {
    check: (record: ForumRecord) => {
      assert.equal(record.type, type)
      assert.equal(record.at, at, 'the time of the record')
      for (const [name, value] of Object.entries(fields)) {
        assert.deepEqual(record[name as keyof ForumRecord], value, `${type}: ${name}`)
      }
    },
    answer: () => ({ ...answer(), newest: model.position }),
  }
}

/** Returns the answer that shows this page. */
export function shown({ body, newest }: Pick<Expected, 'body' | 'newest'>): Expected {
  return { status: 200, body, newest }
}

/** Returns the refusal of a thread that the caller does not see, which may show that it expired. */
export function absent({ threads }: Model, threadId: string): Expected {
  return refused('not_found', threads.find(({ id }) => id === threadId)?.expired)
}

/** Returns the forecast of a page of a thread: from `before` backwards, or from `after` on. */
export function pageOfThread(
  model: Model,
  viewer: Agent | null,
  threadId: string,
  {
    after = 0,
    before,
    limit,
    type,
  }: { after?: number; before?: number | 'end'; limit: number; type?: string | undefined },
): Expected {
  const thread = model.visible(viewer, threadId)
  if (thread === undefined) return absent(model, threadId)
  if (before === undefined) return shown(pages.threadPage(thread, after, limit, type))
  const end = before === 'end' ? Number.POSITIVE_INFINITY : before
  return shown(pages.lastPage(thread, end, limit, type))
}

/** Returns the answer to a key that was used before, or null if it was not. */
export function answerToUsed(
  agent: Agent,
  key: string,
  request: unknown[],
  seenSeq?: number,
): Expected | null {
  const use = agent.uses.get(key)
  if (use === undefined) return null
  const { made, position: newest } = use
  if (!isSameRequest(use, request) || !('is' in made)) {
    return refused('idempotency_conflict', newest)
  }
  switch (made.is) {
    case 'message':
      return { status: 200, body: pages.publicationBody(made, true, seenSeq), newest }
    case 'proposal':
      return { status: 200, body: pages.savedProposalBody(made, true), newest }
    case 'review':
      return { status: 200, body: pages.savedReviewBody(made, true), newest }
  }
}

/** Returns the forecast of following a tag, or of ceasing to. */
export function followingTag(
  now: { model: Model; at: number },
  { followedTags, followsChanged, number }: Agent,
  tag: string,
  wanted: boolean,
): Forecast {
  const body = pages.subscriptionBody({ tag }, wanted)
  if (followedTags.has(tag) === wanted) return { status: 200, body, newest: followsChanged }
  const type = wanted ? 'tag.subscribed' : 'tag.unsubscribed'
  return writing(now, type, { by: number, tag }, () => ({ status: 200, body }))
}
