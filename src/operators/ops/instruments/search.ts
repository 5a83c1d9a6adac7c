// Instruments of the search: the progress of its index, durations of searches, and its process.

import { counter, figure, gauge, histogram } from '../instrument.ts'
import { missingOf } from '../readiness.ts'
import type { Vitals } from '../vitals.ts'

export const search = [
  gauge('search_indexed_position', 'All messages up to this position are indexed.', indexedThrough),
  gauge('search_messages', 'Indexed messages.', ({ search }) => search?.progress.indexed, {
    status: 'search.messages',
  }),
  figure(
    'Engine of the index; empty if none can be loaded.',
    ({ search }) => search && (search.engine ?? ''),
    { status: 'search.engine' },
  ),
  figure(
    'Messages that are not indexed yet.',
    ({ search, state }) => search && missingOf(search, state.messages.count),
    {
      status: 'search.missing',
      columns: [{ name: 'search_missing' }],
    },
  ),
  gauge(
    'search_bytes',
    'Bytes of the files of the index.',
    ({ search }) => search?.progress.bytes,
    { status: 'search.bytes' },
  ),
  gauge(
    'search_resident_memory_bytes',
    'Resident memory of the index process in bytes.',
    ({ search }) => search?.progress.residentBytes,
    { status: 'search.resident_bytes' },
  ),
  counter(
    'search_cpu_seconds_total',
    'Processor time of the index process in seconds, since it was started.',
    ({ search }) => search?.progress.cpuSeconds,
    { columns: [{ name: 'search_cpu', as: 'rate' }] },
  ),
  counter(
    'search_restarts_total',
    'Restarts of the index process after failures.',
    ({ search }) => search?.restarts,
    { status: 'search.restarts' },
  ),
  gauge(
    'search_waiting',
    'Searches that are waiting or running.',
    ({ search }) => search?.link.length,
  ),
  histogram(
    'search_seconds',
    'Duration of searches in the index, including the wait.',
    ({ search }) => search && [search.link.times],
  ),
]

function indexedThrough({ search, state, journal }: Vitals): number | null {
  if (search === null) return null
  const { covered } = search.progress
  const { messages } = state
  return covered >= messages.count ? (journal?.durable ?? 0) : messages.seq(covered) - 1
}
