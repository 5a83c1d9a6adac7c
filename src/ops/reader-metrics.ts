// The metrics of readers: the processes that answer reads beside this one. What all processes count
// (answers, refusals, waiting polls) is added up in the metrics of these things.

import { counter, gauge, histogram } from './prometheus.ts'

/** What is known of the readers (node/readers.ts). */
export interface ReadersStats {
  /** How many there are to be, and how many serve. */
  readonly counts: { readonly configured: number; readonly serving: number }
  /** Those that run. */
  readonly running: readonly RunningReader[]
  /** Processor time of all that have run. */
  readonly cpuSeconds: number
  readonly restarts: number
  /** Requests that were passed on to this process. */
  readonly forwarded: number
  /** Blocks of text that they have read from disk. */
  readonly textReads: number
  /** How old durable positions were when they reached a reader. */
  readonly staleness: {
    readonly bounds: readonly number[]
    readonly counts: readonly number[]
    readonly seconds: number
  }
  /** How long answers to writes waited for readers that did not take what was sent to them. */
  readonly heldSeconds: number
  /** Warnings for the operator, one sentence each. */
  readonly warnings: readonly string[]
}

export interface RunningReader {
  /** Its number. */
  reader: number
  position: number
  residentBytes: number
  /** Used bytes of the JS heap, bytes outside it, and those of them that are rendered text. */
  heapBytes: number
  externalBytes: number
  textBytes: number
}

export function readersMetrics(stats: ReadersStats | null, position: number): string {
  if (stats === null) return ''
  const { counts, running, cpuSeconds, restarts, forwarded, textReads, staleness, heldSeconds } =
    stats
  const each = (read: (reader: RunningReader) => number) =>
    running.map((reader) => ({ labels: { reader: `${reader.reader}` }, value: read(reader) }))
  const prefix = 'agent_forum_reader'
  return [
    gauge(`${prefix}s`, 'Readers that are configured, and that serve.', [
      { labels: { state: 'configured' }, value: counts.configured },
      { labels: { state: 'serving' }, value: counts.serving },
    ]),
    counter(`${prefix}_restarts_total`, 'How often a reader was started again.', restarts),
    gauge(
      `${prefix}_behind_records`,
      'Records of the log that a reader had not applied when it reported last.',
      each((reader) => Math.max(0, position - reader.position)),
    ),
    gauge(
      `${prefix}_resident_memory_bytes`,
      'Resident memory of a reader in bytes.',
      each(({ residentBytes }) => residentBytes),
    ),
    gauge(
      `${prefix}_memory_bytes`,
      'Memory of a reader in bytes: used JS heap, outside of it, and of that the text.',
      running.flatMap(({ reader, heapBytes, externalBytes, textBytes }) =>
        Object.entries({ heap: heapBytes, external: externalBytes, text: textBytes }).map(
          ([part, value]) => ({ labels: { reader: `${reader}`, part }, value }),
        ),
      ),
    ),
    counter(
      `${prefix}_cpu_seconds_total`,
      'Processor time of all readers in seconds; not in that of this process.',
      cpuSeconds,
    ),
    counter(
      `${prefix}_forwarded_total`,
      'Requests that readers have passed on to this process.',
      forwarded,
    ),
    counter(
      `${prefix}_text_reads_total`,
      'Blocks of 16 KiB that readers read from disk.',
      textReads,
    ),
    histogram(
      `${prefix}_staleness_seconds`,
      'How old a durable position was when it reached a reader.',
      [{ bounds: staleness.bounds, counts: staleness.counts, sum: staleness.seconds }],
    ),
    counter(
      `${prefix}_held_seconds_total`,
      'How long answers to writes waited until all readers had been sent what they show.',
      heldSeconds,
    ),
  ].join('')
}
