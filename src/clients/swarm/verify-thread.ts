// Reads one thread back, page by page, and compares it with the plan.
//
// The comparison ends at the first message that is not the one expected in its place, which reveals
// lost, doubled and swapped messages alike. What follows would differ, too, and tell nothing new.

import { type Message, type Notification, readThread, type Thread } from './calls.ts'
import type { Client } from './client.ts'
import { type Differences, firstDifference } from './differences.ts'
import type { PlannedThread } from './plan.ts'

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
