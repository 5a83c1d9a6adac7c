// Reads everything back and compares it with the plan.
//
// V1. Keys are replayed first, so what is read afterwards also shows that a replay changes nothing.
// V2. Texts are compared as JavaScript strings, decoded strictly from UTF-8 (H4 in client.ts), so
//     equal strings are equal bytes. How the server escapes a text in JSON does not matter.
// V3. A difference is reported, and the verification continues; only an unreachable server ends it.

import { publish } from './calls.ts'
import type { Client } from './client.ts'
import { Differences } from './differences.ts'
import { WrongAnswer } from './failures.ts'
import type { Inbox } from './feeds.ts'
import { inLanes } from './lanes.ts'
import type { Plan, PlannedThread } from './plan.ts'
import type { Progress } from './progress.ts'
import { requestFor } from './publish.ts'
import { dueFeed, verifyFresh, verifyGathered } from './verify-feed.ts'
import { placeOf, type Reading, verifyThread } from './verify-thread.ts'

const replaySampleMax = 1000

export type Tally = { compared: number; exact: number }

/** `items`: the notifications in all of these feeds. */
export type FeedTally = Tally & { items: number }

/** `gatheredFeeds` null: a saved run, whose feeds were gathered by another process. */
export type VerifyResult = {
  replays: Tally
  threads: Tally
  messages: Tally
  gatheredFeeds: FeedTally | null
  freshFeeds: FeedTally
  differences: Differences
}

export type Verify = {
  client: Client
  plan: Plan
  inboxes: Inbox[] | null
  connections: number
  replayAll: boolean
  progress: Progress
}

type Key = { thread: PlannedThread; index: number }

/** Compares everything; the result holds the differences. Throws Unreachable. */
export async function verify(options: Verify): Promise<VerifyResult> {
  const { client, plan, inboxes } = options
  const differences = new Differences()
  const shown: Reading['shown'] = new Map()
  const messages = { compared: plan.messageCount, exact: 0 }
  const gatheredFeeds = inboxes && { compared: 0, exact: 0, items: 0 }
  let freshItems = 0

  const replays = await compareEach(options, differences, {
    name: 'replay keys',
    items: keysToReplay(plan, options.replayAll),
    nameOf: ({ thread, index }) => placeOf(thread, index),
    isExact: (key) => verifyReplay(client, differences, plan, key),
  })
  const threads = await compareEach(options, differences, {
    name: 'read threads',
    items: plan.threads,
    nameOf: ({ label }) => `thread ${label}`,
    isExact: async (thread) => {
      const { identical, exact } = await verifyThread({ client, differences, shown }, thread)
      messages.exact += identical
      return exact
    },
  })
  const feeds = await compareEach(options, differences, {
    name: 'read feeds',
    items: plan.agents,
    nameOf: (agent) => `the feed of ${agent.name}`,
    isExact: async (agent) => {
      const inbox = inboxes?.[agent.index] ?? null
      const due = dueFeed(agent, shown, inbox)
      if (inbox !== null && gatheredFeeds !== null) {
        gatheredFeeds.compared++
        if (verifyGathered(differences, inbox, due)) gatheredFeeds.exact++
        gatheredFeeds.items += inbox.gathered.length
      }
      freshItems += due.length
      return verifyFresh(client, differences, agent, due)
    },
  })
  const freshFeeds = { ...feeds, items: freshItems }
  return { replays, threads, messages, gatheredFeeds, freshFeeds, differences }
}

type Comparison<Item> = {
  name: string
  items: Item[]
  nameOf: (item: Item) => string
  isExact: (item: Item) => Promise<boolean>
}

// Runs a phase over many items. A wrong answer counts as a difference of its item.
async function compareEach<Item>(
  { connections, progress }: Verify,
  differences: Differences,
  { name, items, nameOf, isExact }: Comparison<Item>,
): Promise<Tally> {
  const tally: Tally = { compared: 0, exact: 0 }
  const phase = progress.phase(name, items.length)
  await inLanes(connections, items, async (item) => {
    tally.compared++
    try {
      if (await isExact(item)) tally.exact++
    } catch (error) {
      if (!(error instanceof WrongAnswer)) throw error
      differences.add(`${nameOf(item)}: ${error.message}`)
    }
    phase.tick()
  })
  phase.end()
  return tally
}

/** All keys, or a sample of at most 1000 spread evenly over the run. */
export function keysToReplay(plan: Plan, all: boolean): Key[] {
  const keys = plan.threads.flatMap((thread) =>
    thread.messages.map((_, index): Key => ({ thread, index })),
  )
  const step = all ? 1 : Math.max(1, Math.ceil(keys.length / replaySampleMax))
  return keys.filter((_, index) => index % step === 0)
}

async function verifyReplay(
  client: Client,
  differences: Differences,
  plan: Plan,
  { thread, index }: Key,
): Promise<boolean> {
  const due = thread.messages[index].id
  const got = await publish(client, { ...requestFor(plan, thread, index), replay: true })
  if (got.message_id === due && got.thread_id === thread.id) return true
  differences.add(`${placeOf(thread, index)}: its key replays ${got.message_id}, due: ${due}`)
  return false
}
