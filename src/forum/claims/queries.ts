// The list of the threads that are claimed.

import type { Column } from '../../kernel/columns/column.ts'
import type { State } from '../state.ts'

interface ClaimedRead {
  caller: number
  before: number
  limit: number
  has(thread: number): boolean
}

/**
 * Lists the claimed threads that the caller may see and whose number in the column is lower than
 * `before`, in descending order of it. Examines all claims, whose number is limited (table.ts, D1):
 * that takes about a millisecond at most.
 */
export function listClaimed(
  state: State,
  { caller, before, limit, has }: ClaimedRead,
  column: Column,
): { threads: number[]; nextBefore: number | null; position: number } {
  let found: number[] = []
  const cut = () => {
    found = found.sort((a, b) => column.get(b) - column.get(a)).slice(0, limit + 1)
  }
  for (const { thread } of state.claims.all()) {
    if (column.get(thread) >= before || !state.maySee(caller, thread) || !has(thread)) continue
    if (found.push(thread) > 4 * limit) cut()
  }
  cut()
  const threads = found.slice(0, limit)
  const nextBefore = found.length > limit ? column.get(threads.at(-1)!) : null
  return { position: state.position, threads, nextBefore } // also for threads that are left out
}
