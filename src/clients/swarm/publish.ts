// Publishes the whole plan: threads concurrently, the messages of each thread in order.
//
//   thread:  opened by its first author ─▶ every other author subscribes ─▶ reply ─▶ reply ─▶ …
//                     (now and then between the requests some feed is polled, or somebody searches)
//
// The requests of a thread are sequential, so each lane has one request in flight. A reply is sent
// when the previous one is answered, and only that determines the order of a thread.

import { setTimeout as sleep } from 'node:timers/promises'
import { createIdentity, publish } from './calls.ts'
import type { Client } from './client.ts'
import type { Corpus } from './corpus.ts'
import { WrongAnswer } from './failures.ts'
import type { AgentFeeds } from './feeds.ts'
import { inLanes } from './lanes.ts'
import type { Mix } from './mix.ts'
import type { Pace } from './pace.ts'
import { type Agent, addRound, keyOf, type Plan, type PlannedThread } from './plan.ts'
import type { Searches } from './searches.ts'

/**
 * The context of publishing. `replayedAnswers` counts replays after a lost answer, and `pace` says
 * when messages are due.
 */
export type Publishing = {
  client: Client
  plan: Plan
  feeds: AgentFeeds
  /** Null: nobody searches. */
  searches: Searches | null
  /** What agents do between messages; null: what they do in any other run. */
  mix: Mix | null
  /** How long an agent pauses after a message, in milliseconds. */
  thinkMs: number
  replayedAnswers: number
  pace: Pace
}

/** Creates an identity for an agent, with an invitation if any, and stores its id and token. */
export async function introduce(
  client: Client,
  agent: Agent,
  invite: string | null,
): Promise<void> {
  const identity = await createIdentity(client, agent.kind, agent.name, invite)
  if (identity.kind !== agent.kind || identity.display_name !== agent.name) {
    const expected = `${agent.kind} "${agent.name}"`
    throw new WrongAnswer(
      `POST /api/identities for ${expected} made a ${identity.kind} "${identity.display_name}"`,
    )
  }
  agent.id = identity.id
  agent.token = identity.token
}

/**
 * Publishes what the plan has left, and then `corpus`, if any, over and over, until all of it is
 * published or the pace is over. Calls `published` after each message.
 */
export async function publishThreads(
  publishing: Publishing,
  lanes: number,
  corpus: Corpus | null,
  published: () => void,
): Promise<void> {
  await inLanes(lanes, threadsLeft(publishing, corpus), (thread) =>
    publishThread(publishing, thread, published),
  )
}

function* threadsLeft({ plan, pace }: Publishing, corpus: Corpus | null): Generator<PlannedThread> {
  yield* plan.threads.filter(({ messages }) => messages.at(-1)!.id === '')
  while (corpus !== null && !pace.isOver) yield* addRound(plan, corpus)
}

/**
 * Publishes the rest of a thread, or as much of it as is due before the pace is over, and stores
 * its ids. Once it is opened, all of its authors subscribe in any case.
 */
export async function publishThread(
  publishing: Publishing,
  thread: PlannedThread,
  published: () => void,
): Promise<void> {
  const begin = thread.messages.findIndex(({ id }) => id === '')
  if (begin === 0) {
    if (!(await openThread(publishing, thread))) return
    published()
  }
  for (let index = Math.max(1, begin); index < thread.messages.length; index++) {
    if (!(await publishMessage(publishing, thread, index))) return
    published()
    await readSometimes(publishing)
  }
}

/** Opens a thread, and lets all of its authors follow it. Returns false if the pace is over. */
export async function openThread(publishing: Publishing, thread: PlannedThread): Promise<boolean> {
  if (!(await publishMessage(publishing, thread, 0))) return false
  const { feeds } = publishing
  feeds.follow(thread.messages[0].author)
  await readSometimes(publishing)
  for (const agent of thread.others) {
    await feeds.join(agent, thread)
    await readSometimes(publishing)
  }
  return true
}

/** Polls and searches, as agents do between publishing. Call it after each request. */
async function readSometimes({ feeds, searches, mix }: Publishing): Promise<void> {
  if (mix !== null) return
  await feeds.pollSometimes()
  await searches?.sometimes()
}

/** Publishes a message when it is due. Returns false if the run is over before that. */
async function publishMessage(
  publishing: Publishing,
  thread: PlannedThread,
  index: number,
): Promise<boolean> {
  const { client, plan, pace } = publishing
  const dueAt = await pace.next()
  if (dueAt === null) return false
  const message = thread.messages[index]
  const publication = await publish(client, {
    ...requestFor(plan, thread, index),
    replay: false,
    dueAt,
  })
  pace.answered(dueAt)
  const rightAuthor = publication.author_id === message.author.id
  const rightThread = index === 0 || publication.thread_id === thread.id
  if (!rightAuthor || !rightThread) {
    throw new WrongAnswer(
      `thread ${thread.label} message ${index + 1} was published in ${publication.thread_id} by ` +
        `${publication.author_id}, not in ${thread.id} by ${message.author.id}`,
    )
  }
  thread.id = publication.thread_id
  message.id = publication.message_id
  publishing.searches?.published(thread, index)
  if (index > 0) publishing.feeds.published(message.id, dueAt)
  if (publication.replayed) publishing.replayedAnswers++
  await publishing.mix?.published(thread, index)
  if (publishing.thinkMs > 0) {
    await sleep(publishing.thinkMs, undefined, { signal: client.closing })
  }
  return true
}

/** Returns the request that publishes a message. It is the same every time (P1 in plan.ts). */
export function requestFor(
  plan: Plan,
  thread: PlannedThread,
  index: number,
  planned = thread.messages[index],
) {
  const { author, text, mentioned, fence } = planned
  const mentions = mentioned.length > 0 ? { mention_ids: mentioned.map(({ id }) => id) } : {}
  const message = { content: text, ...mentions, ...(fence !== undefined && { fence }) }
  return {
    token: author.token,
    key: keyOf(plan, thread, index),
    threadId: index === 0 ? null : thread.id,
    body: index === 0 ? { title: thread.title, ...message } : message,
  }
}
