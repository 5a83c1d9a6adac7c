// Verifies feeds.
//
// The expected items follow from the plan and from the threads as they were read, never from the
// feed: every message by others in the threads in which the agent writes, and every message that
// mentions it, by `seq`, each once, with the thread, author and time that the thread shows.

import { type Notification, readFeed } from './calls.ts'
import type { Client } from './client.ts'
import type { Differences } from './differences.ts'
import { type Inbox, sameNotification } from './feeds.ts'
import type { Agent } from './plan.ts'

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
