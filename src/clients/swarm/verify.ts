// Reads everything back and compares it with the plan.
//
// V1. Keys are replayed first, so what is read afterwards also shows that a replay changes nothing.
// V2. Texts are compared as JavaScript strings, decoded strictly from UTF-8 (H4 in client.ts), so
//     equal strings are equal bytes. How the server escapes a text in JSON does not matter.
// V3. A difference is reported, and the verification continues; only an unreachable server ends it.

import { publish } from './calls.ts'
import { type Grant, verifyClaims } from './claims.ts'
import type { Client } from './client.ts'
import { Differences } from './differences.ts'
import { WrongAnswer } from './failures.ts'
import type { Inbox } from './feeds.ts'
import { inLanes } from './lanes.ts'
import type { Plan, PlannedThread } from './plan.ts'
import type { Progress } from './progress.ts'
import { requestFor } from './publish.ts'
import { indexHas, queryFor, verifySearch } from './searches.ts'
import {
  dueFeed,
  type Place,
  placeOf,
  type Reading,
  verifyFresh,
  verifyGathered,
  verifyThread,
} from './verify-items.ts'

const replaySampleMax = 1000
const searchSampleMax = 1000

export type Tally = { compared: number; exact: number }

/** `items`: the notifications in all of these feeds. */
export type FeedTally = Tally & { items: number }

/** `gatheredFeeds` is null for a saved run, whose feeds were gathered by another process. */
export type VerifyResult = {
  replays: Tally
  threads: Tally
  messages: Tally
  gatheredFeeds: FeedTally | null
  freshFeeds: FeedTally
  /** Null: nobody searched. */
  searches: Tally | null
  /** Null: there were no tasks. */
  claims: Tally | null
  differences: Differences
}

export type Verify = {
  client: Client
  plan: Plan
  inboxes: Inbox[] | null
  /** The claims that were granted; null: there were no tasks. */
  grants: ReadonlyMap<PlannedThread, Grant[]> | null
  lanes: number
  replayAll: boolean
  hasSearches: boolean
  progress: Progress
}

/** Compares everything. The result holds the differences. Throws Unreachable. */
export async function verify(options: Verify): Promise<VerifyResult> {
  const { client, plan, inboxes, grants } = options
  const differences = new Differences()
  const shown: Reading['shown'] = new Map()
  const messages = { compared: plan.messageCount, exact: 0 }
  const gatheredFeeds = inboxes && { compared: 0, exact: 0, items: 0 }
  let freshItems = 0

  const replays = await compareEach(options, differences, {
    name: 'replay keys',
    unit: 'messages',
    items: sampleOf(plan, options.replayAll ? plan.messageCount : replaySampleMax),
    nameOf: ({ thread, index }) => placeOf(thread, index),
    isExact: (key) => verifyReplay(client, differences, plan, key),
  })
  const threads = await compareEach(options, differences, {
    name: 'read back',
    unit: 'threads',
    items: plan.threads,
    nameOf: ({ label }) => `thread ${label}`,
    isExact: async (thread) => {
      const { identical, exact } = await verifyThread({ client, differences, shown }, thread)
      messages.exact += identical
      return exact
    },
  })
  const feeds = await compareEach(options, differences, {
    name: 'read from the beginning',
    unit: 'feeds',
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
  const searches = options.hasSearches ? await verifySearches(options, differences, shown) : null
  const claims =
    grants &&
    (await compareEach(options, differences, {
      name: 'compare claims',
      unit: 'tasks',
      items: plan.threads,
      nameOf: ({ label }) => `thread ${label}`,
      isExact: async (thread) => verifyClaims(differences, thread, grants.get(thread) ?? [], shown),
    }))
  return { replays, threads, messages, gatheredFeeds, freshFeeds, searches, claims, differences }
}

/** Searches for some of the messages, once everything up to the newest one is indexed. */
async function verifySearches(
  options: Verify,
  differences: Differences,
  shown: Reading['shown'],
): Promise<Tally> {
  const { client, plan } = options
  let newest = 0
  for (const { seq } of shown.values()) newest = Math.max(newest, seq)
  if (!(await indexHas(client, differences, newest))) return { compared: 0, exact: 0 }
  const items = sampleOf(plan, searchSampleMax).flatMap((place, nth) => {
    const query = queryFor(place, nth)
    return query === null ? [] : [{ ...place, query }]
  })
  return compareEach(options, differences, {
    name: 'search',
    unit: 'messages',
    items,
    nameOf: ({ thread, index }) => placeOf(thread, index),
    isExact: ({ query, ...place }) => verifySearch(client, differences, place, query),
  })
}

type Comparison<Item> = {
  name: string
  /** What the items are, in the plural. */
  unit: string
  items: Item[]
  nameOf: (item: Item) => string
  isExact: (item: Item) => Promise<boolean>
}

// Runs a phase over many items. A wrong answer counts as a difference of its item.
async function compareEach<Item>(
  { lanes, progress }: Verify,
  differences: Differences,
  { name, unit, items, nameOf, isExact }: Comparison<Item>,
): Promise<Tally> {
  const tally: Tally = { compared: 0, exact: 0 }
  const phase = progress.phase(name, items.length, unit)
  await inLanes(lanes, items, async (item) => {
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

/** Returns at most this many messages, evenly spread over the run. */
export function sampleOf({ threads, messageCount }: Plan, max: number): Place[] {
  const places = threads.flatMap((thread) => thread.messages.map((_, index) => ({ thread, index })))
  const step = Math.max(1, Math.ceil(messageCount / max))
  return places.filter((_, nth) => nth % step === 0)
}

async function verifyReplay(
  client: Client,
  differences: Differences,
  plan: Plan,
  { thread, index }: Place,
): Promise<boolean> {
  const due = thread.messages[index].id
  const got = await publish(client, { ...requestFor(plan, thread, index), replay: true })
  if (got.message_id === due && got.thread_id === thread.id) return true
  differences.add(`${placeOf(thread, index)}: its key replays ${got.message_id}, due: ${due}`)
  return false
}
