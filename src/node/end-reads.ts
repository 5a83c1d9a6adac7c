// Ends the reads that are still unanswered when a process stops.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Forum } from '../forum/forum.ts'

/** The time in which the last answers reach their callers. */
export const lingerMs = 50
/** How long a stop waits for reads in progress, such as a poll whose text is on disk. */
const readsMs = 1_000
const checkEveryMs = 5

/** Answers the waiting polls, and ends the reads that take several iterations. */
export async function endReads(forum: Forum): Promise<void> {
  const { waiting, slicedWork, coldReads, pageMaking } = forum
  await waiting.stop()
  const areReading = () => slicedWork.length + coldReads.bytes + pageMaking.length > 0
  for (let waitedMs = 0; areReading() && waitedMs < readsMs; waitedMs += checkEveryMs) {
    await sleep(checkEveryMs)
  }
  slicedWork.stop()
  coldReads.stop()
  pageMaking.stop()
}
