// What is wrong with a node, in words and with the section of the documents that says what to do.
// It is the first thing on the dashboard.

import type { Status } from '../../people/browser/dashboard/status.ts'
import { bytes, count, duration, type Unit } from '../../people/browser/dashboard/units.ts'
import { isFillingUp, isNear } from './panels.ts'

export interface Problem {
  text: string
  document: string
  section: string
}

/** The document and section about a warning (readiness.ts); the first pattern that fits counts. */
const sections: readonly (readonly [RegExp, string, string])[] = [
  [/^(?:starting|draining)/, 'operating', 'Starting and stopping'],
  [/^(?:storage: storage_full|disk: .* left)/, 'operating', 'A full disk'],
  [/^(?:replication|lagging|cut off)/, 'replication', 'What to watch'],
  [/^readers/, 'operating', 'Readers'],
  [/^(?:memory|queues)/, 'operating', 'Limits'],
  [/clock/, 'operating', 'The clock'],
  [/^(?:text|page)|damaged|parity/, 'operating', 'Bit rot'],
  [/checkpoint|put aside/, 'operating', 'The data directory'],
  [/^/, 'operating', 'Watching'],
]

/** Returns the problems, or none if all is well. */
export function problemsOf(status: Status): Problem[] {
  const { ready, log, load, memory, disk } = status
  const found: Problem[] = []
  const add = (text: string) => {
    const [, document, section] = sections.find(([pattern]) => pattern.test(text))!
    found.push({ text, document, section })
  }
  const isDegraded = ready.text.startsWith('degraded')
  if (ready.state !== 'serving' && !isDegraded) add(ready.text)
  if (log !== null && log.health !== 'ok') add(`storage: ${log.health}, writes are refused`)
  for (const warning of ready.warnings) add(warning)
  const limits: [string, Unit, Status['load']['gate']][] = [
    ['memory: resident', bytes, memory.resident_bytes],
    ['queues: waiting polls', count, load.waiting],
    ['queues: connections', count, load.connections],
    ['queues: answers that wait for the log', count, load.gate],
    ['queues: bodies and answers', bytes, load.queue_bytes],
  ]
  for (const [what, unit, held] of limits) {
    if (isNear(held)) add(`${what}, ${unit(held.now)}, is near its limit of ${unit(held.max)}`)
  }
  if (isFillingUp(status)) {
    const left = `${bytes(disk.free_bytes)} left, full in ${duration(disk.full_in_seconds)}`
    add(`disk: ${left} at this rate`)
  }
  return found
}
