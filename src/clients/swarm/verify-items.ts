// Reads threads and feeds back, page by page, and compares each with the plan.
//
// The items of a feed follow from the plan and from the threads as they were read, never from the
// feed: every message by others in the threads in which the agent writes, and every message that
// mentions it, by `seq`, each once, with the thread, author and time that the thread shows.
//
// A comparison ends at the first item that is not the one expected in its place, which reveals
// lost, doubled and swapped items alike. What follows would differ, too, and tell nothing new.

import { type Message, type Notification, readFeed, readThread, type Thread } from './calls.ts'
import type { Client } from './client.ts'
import { type Differences, firstDifference } from './differences.ts'
import { type Inbox, sameNotification } from './feeds.ts'
import type { Agent, PlannedThread } from './plan.ts'

/** A message, by its thread and its index there. */
export type Place = { thread: PlannedThread; index: number }

/** `shown` collects, by message id, the notification that each message must cause. */
export type Reading = {
  client: Client
  differences: Differences
  shown: Map<string, Notification>
}

/**
 * Returns how many messages are identical and in their place, and whether the thread consists of
 * exactly these. Throws WrongAnswer.
 */
export async function verifyThread(
  reading: Reading,
  planned: PlannedThread,
): Promise<{ identical: number; exact: boolean }> {
  const { client, differences } = reading
  const due = planned.messages
  let read = 0
  let identical = 0
  let after = 0
  let headExact = true
  for (let more = true; more; ) {
    const page = await readThread(client, planned.id, after)
    if (after === 0) headExact = compareHead(differences, planned, page.thread)
    for (const message of page.messages) {
      if (message.id !== due[read]?.id) {
        differences.add(`${placeOf(planned, read)} is ${message.id}, due: ${dueAt(planned, read)}`)
        return { identical, exact: false }
      }
      if (reading.shown.has(message.id)) {
        differences.add(`${placeOf(planned, read)} has the id of another message, ${message.id}`)
        return { identical, exact: false }
      }
      if (compareMessage(differences, planned, read, message, after)) identical++
      reading.shown.set(message.id, notificationOf(planned, message))
      after = message.seq
      read++
    }
    more = page.has_more
  }
  if (read < due.length) {
    differences.add(`${placeOf(planned, read)} is missing, due: ${dueAt(planned, read)}`)
  }
  return { identical, exact: headExact && identical === due.length }
}

/** Names a message in a report, counted from one. */
export const placeOf = ({ label, messages }: PlannedThread, index: number): string =>
  `thread ${label}, message ${index + 1} of ${messages.length}`

const dueAt = ({ messages }: PlannedThread, index: number): string =>
  messages[index] === undefined
    ? 'nothing'
    : `${messages[index].id} by ${messages[index].author.name}`

function compareHead(differences: Differences, planned: PlannedThread, got: Thread): boolean {
  const countBefore = differences.count
  const differs = (what: string, is: unknown, due: unknown) => {
    if (is !== due) differences.add(`thread ${planned.label}: ${what} is ${is}, due: ${due}`)
  }
  differs('its id', got.id, planned.id)
  differs('its author', got.author_id, planned.messages[0].author.id)
  differs('its visibility', got.visibility, 'public')
  differs('its message_count', got.message_count, planned.messages.length)
  if (got.title !== planned.title) {
    differences.add(
      `thread ${planned.label}: its title differs ${firstDifference(got.title, planned.title)}`,
    )
  }
  return differences.count === countBefore
}

function compareMessage(
  differences: Differences,
  planned: PlannedThread,
  index: number,
  got: Message,
  seqBefore: number,
): boolean {
  const { author, text, mentioned } = planned.messages[index]
  const countBefore = differences.count
  const differs = (what: string, is: unknown, due: unknown) => {
    if (is !== due) differences.add(`${placeOf(planned, index)}: ${what} is ${is}, due: ${due}`)
  }
  differs('its author', got.author_id, author.id)
  differs('the display_name', got.display_name, author.name)
  differs('the kind', got.kind, author.kind)
  const mentions = mentioned.map(({ id }) => id).join(', ')
  differs('the mention_ids', (got.mention_ids ?? []).join(', '), mentions)
  if (got.seq <= seqBefore) differs('its seq', got.seq, `more than ${seqBefore}`)
  if (got.content !== text) {
    differences.add(
      `${placeOf(planned, index)}: its content differs ${firstDifference(got.content, text)}`,
    )
  }
  return differences.count === countBefore
}

const notificationOf = (planned: PlannedThread, message: Message): Notification => ({
  seq: message.seq,
  message_id: message.id,
  thread_id: planned.id,
  author_id: message.author_id,
  created_at: message.created_at,
})

// One expected message, and the cursor at which the agent joined its thread (F1 in feeds.ts). The
// cursor is 0 for a message that mentions the agent, which is shown to it whether it joined or not.
type Due = { item: Notification; joinedAt: number }

/**
 * Returns everything that an agent's feed must hold once all is published. A message that could not
 * be read back is left out, because its thread has been reported.
 */
export function dueFeed(
  agent: Agent,
  shown: Map<string, Notification>,
  inbox: Inbox | null,
): Due[] {
  const due: Due[] = []
  for (const { id } of agent.mentions) {
    const item = shown.get(id)
    if (item !== undefined) due.push({ item: { ...item, mentioned: true }, joinedAt: 0 })
  }
  for (const thread of agent.threads) {
    const joinedAt = inbox?.joinedAt.get(thread) ?? 0
    for (const { author, id, mentioned } of thread.messages) {
      const item = shown.get(id)
      if (author === agent || mentioned.includes(agent) || item === undefined) continue
      due.push({ item, joinedAt })
    }
  }
  return due.sort((a, b) => a.item.seq - b.item.seq)
}

/** Compares the feed that the agent gathered by polling while messages were published. */
export function verifyGathered(differences: Differences, inbox: Inbox, due: Due[]): boolean {
  const dueItems = due.filter(({ item, joinedAt }) => item.seq > joinedAt)
  const name = `the feed that ${inbox.agent.name} gathered`
  const { gathered } = inbox
  const same = compareItems(differences, name, 0, gathered, dueItems)
  return same && endsHere(differences, name, gathered.length, dueItems)
}

/** Compares the feed as it is now, read from its beginning. Throws WrongAnswer. */
export async function verifyFresh(
  client: Client,
  differences: Differences,
  agent: Agent,
  due: Due[],
): Promise<boolean> {
  const name = `the feed of ${agent.name}`
  let count = 0
  let after = 0
  for (let more = true; more; ) {
    const page = await readFeed(client, agent.token, after, 'read feed')
    if (!compareItems(differences, name, count, page.notifications, due)) return false
    count += page.notifications.length
    after = page.next_after
    more = page.has_more
  }
  return endsHere(differences, name, count, due)
}

// Reports the first item that is not the one expected in its place.
function compareItems(
  differences: Differences,
  name: string,
  offset: number,
  got: Notification[],
  due: Due[],
): boolean {
  for (const [index, item] of got.entries()) {
    const dueItem = due[offset + index]?.item
    if (dueItem === undefined || !sameNotification(item, dueItem)) {
      const expected = dueItem === undefined ? 'nothing' : JSON.stringify(dueItem)
      differences.add(
        `${name}, item ${offset + index + 1}: ${JSON.stringify(item)}, due: ${expected}`,
      )
      return false
    }
  }
  return true
}

function endsHere(differences: Differences, name: string, count: number, due: Due[]): boolean {
  if (count === due.length) return true
  const next = JSON.stringify(due[count].item)
  differences.add(`${name} ends after ${count} of ${due.length} items, due: ${next}`)
  return false
}
