// Ends the reads that are not answered yet, when a process stops.

import type { Forum } from '../forum/forum.ts'

/** Time for the last answers to reach their callers. */
export const lingerMs = 50

/** Answers the polls that wait, and ends the reads that take several iterations. */
export async function endReads({ waiting, slicedWork, coldReads }: Forum): Promise<void> {
  await waiting.stop()
  slicedWork.stop()
  coldReads.stop()
}
