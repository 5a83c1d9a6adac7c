// A step of a run: publishes at one pace for a time. --find-limit and --scenario run one after the
// other.
//
// A step continues the threads that are open, and opens others when these are at their end.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Corpus } from './corpus.ts'
import { inLanes } from './lanes.ts'
import { Pace } from './pace.ts'
import { addRound } from './plan.ts'
import type { Phase, Progress } from './progress.ts'
import { openThread, type Publishing, publishThreads } from './publish.ts'

export type Stage = {
  publishing: Publishing
  progress: Progress
  lanes: number
  corpus: Corpus
}

export type Step = {
  name: string
  pace: Pace
  /** The number of messages that are due; null: as many as are answered. */
  due: number | null
  seconds: number
  /** How long after the end late messages are still sent. */
  graceMs: number
}

/** `phase` is to be ended with the result, and `errors` is the number of lost answers. */
export type StepRun = { phase: Phase; errors: number }

/** Runs a step for its whole time, even if all is sent before. Throws if the client is closed. */
export async function runStep(
  { publishing, progress, lanes, corpus }: Stage,
  { name, pace, due, seconds, graceMs }: Step,
): Promise<StepRun> {
  const { client } = publishing
  publishing.pace = pace
  const errorsBefore = client.errors
  const endsAt = performance.now() + seconds * 1000
  const phase = progress.phase(name, due, 'messages')
  const timer = setTimeout(() => pace.stop(), seconds * 1000 + graceMs)
  await publishThreads(publishing, lanes, corpus, phase.tick).finally(() => clearTimeout(timer))
  const restMs = Math.max(0, endsAt - performance.now())
  await sleep(restMs, undefined, { signal: client.closing })
  return { phase, errors: client.errors - errorsBefore }
}

/**
 * Opens threads until a step can publish so many replies without opening any, over all lanes to its
 * end. The corpus must have replies.
 */
export async function openThreads(stage: Stage, replies: number): Promise<void> {
  const { publishing, progress, lanes, corpus } = stage
  const { plan } = publishing
  const threads = corpus.discussions.length
  const perRound = corpus.discussions.reduce((sum, { messages }) => sum + messages.length - 1, 0)
  let left = plan.threads.reduce(
    (sum, { messages }) => sum + messages.slice(1).filter(({ id }) => id === '').length,
    0,
  )
  // Twice as many, because some threads are longer than others.
  const needed = 2 * (replies + (lanes * perRound) / threads)
  for (; left < needed; left += perRound) addRound(plan, corpus)
  const closed = plan.threads.filter(({ id }) => id === '')
  if (closed.length === 0) return
  publishing.pace = new Pace(null)
  const phase = progress.phase('open threads', closed.length, 'threads')
  await inLanes(lanes, closed, async (thread) => {
    if (await openThread(publishing, thread)) phase.tick()
  })
  phase.end()
}
