// A step of a run: publishes at one pace for a time. --find-limit and --scenario run one after the
// other.
//
// A step continues the threads that the steps before have begun. If it opened others, all lanes
// would begin it with subscriptions, which delay the first messages as no later ones.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Corpus } from './corpus.ts'
import type { Pace } from './pace.ts'
import type { Phase, Progress } from './progress.ts'
import { type Publishing, publishThreads } from './publish.ts'

export type Stage = {
  publishing: Publishing
  progress: Progress
  connections: number
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
  { publishing, progress, connections, corpus }: Stage,
  { name, pace, due, seconds, graceMs }: Step,
): Promise<StepRun> {
  const { client } = publishing
  publishing.pace = pace
  const errorsBefore = client.errors
  const endsAt = performance.now() + seconds * 1000
  const phase = progress.phase(name, due, 'messages')
  const timer = setTimeout(() => pace.stop(), seconds * 1000 + graceMs)
  await publishThreads(publishing, connections, corpus, phase.tick).finally(() =>
    clearTimeout(timer),
  )
  const restMs = Math.max(0, endsAt - performance.now())
  await sleep(restMs, undefined, { signal: client.closing })
  return { phase, errors: client.errors - errorsBefore }
}
