// Instruments of what runs beside the node's process: the index of its search, its readers, and the
// nodes that it follows or leads. Answers, refusals and waiting polls, which all processes count,
// are added up elsewhere, in the instruments of these.

import { by, counter, figure, gauge, histogram } from '../instrument.ts'
import { missingOf } from '../readiness.ts'
import { type RunningReader, readersBehind, type Vitals } from '../vitals.ts'

export const readers = [
  gauge(
    'readers',
    'Readers that are configured, and that serve.',
    by('state', ({ readers }) => readers && { ...readers.counts }),
    { status: 'readers' },
  ),
  gauge(
    'reader_behind_records',
    'Records of the log that a reader had not applied when it reported last.',
    eachReader(({ position }, { journal }) => Math.max(0, (journal?.position ?? 0) - position)),
  ),
  figure(
    'Records of the log that the slowest reader had not applied when it reported last.',
    (vitals) => vitals.readers && readersBehind(vitals),
    {
      status: 'readers.behind_records',
      columns: [{ name: 'readers_behind' }],
    },
  ),
  counter(
    'reader_forwarded_total',
    'Requests that readers have passed on to this process.',
    ({ readers }) => readers?.forwarded,
    {
      status: 'readers.forwarded',
      columns: [{ name: 'readers_forwarded', as: 'rate' }],
    },
  ),
  gauge(
    'reader_resident_memory_bytes',
    'Resident memory of a reader in bytes.',
    eachReader(({ residentBytes }) => residentBytes),
  ),
  figure(
    'Resident memory of all readers.',
    ({ readers }) => readers?.running.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
    { status: 'readers.resident_bytes' },
  ),
  gauge(
    'reader_memory_bytes',
    'Memory of a reader in bytes: used JS heap, memory outside of it, and the text in the latter.',
    ({ readers }) =>
      readers?.running.flatMap(({ reader, heapBytes, externalBytes, textBytes }) =>
        Object.entries({ heap: heapBytes, external: externalBytes, text: textBytes }).map(
          ([part, value]) => ({ labels: { reader: `${reader}`, part }, value }),
        ),
      ),
  ),
  counter(
    'reader_cpu_seconds_total',
    'Processor time of all readers in seconds; process_cpu_seconds_total does not include it.',
    ({ readers }) => readers?.cpuSeconds,
    {
      status: 'readers.cpu_seconds',
      columns: [{ name: 'readers_cpu', as: 'rate' }],
    },
  ),
  counter('reader_restarts_total', 'Restarts of readers.', ({ readers }) => readers?.restarts, {
    status: 'readers.restarts',
  }),
  counter(
    'reader_text_reads_total',
    'Blocks of 16 KiB that readers read from disk.',
    ({ readers }) => readers?.textReads,
  ),
  histogram(
    'reader_staleness_seconds',
    'Age of durable positions when they reached a reader.',
    ({ readers }) => readers && [readers.staleness],
  ),
  counter(
    'reader_held_seconds_total',
    'Time for which answers to writes waited until all readers had their records.',
    ({ readers }) => readers?.heldSeconds,
  ),
]

export const replication = [
  gauge(
    'replication_leader',
    '1 while this node leads.',
    ({ replication }) => replication && Number(replication.role === 'leader'),
  ),
  figure('Role of the node: leader or follower.', ({ replication }) => replication?.role, {
    status: 'replication.role',
  }),
  figure('Id of this node.', ({ replication }) => replication?.node, {
    status: 'replication.node',
  }),
  figure(
    'Id of the node that leads the term of the newest record here.',
    ({ replication, state }) => replication && state.term.node,
    { status: 'replication.leader' },
  ),
  gauge(
    'replication_term',
    'The term of the newest record here.',
    ({ replication }) => replication?.term(),
    { status: 'replication.term' },
  ),
  gauge(
    'replication_lag_positions',
    'Records of the stream that this follower lacks; on a leader, those that the stream lacks.',
    ({ replication }) => replication?.lagPositions(),
    {
      status: 'replication.lag_positions',
      columns: [{ name: 'lag' }],
    },
  ),
  gauge(
    'replication_lag_seconds',
    'Time for which the oldest missing record has been missing, or the stream unreachable.',
    ({ replication }) => replication?.lagSeconds(),
    { status: 'replication.lag_seconds' },
  ),
  counter(
    'replication_forwarded_total',
    'Requests that were passed on to the leader.',
    ({ replication }) => replication?.forwarded(),
    { status: 'replication.forwarded' },
  ),
  counter(
    'replication_takeovers_total',
    'Takeovers by this process from another node.',
    ({ replication }) => replication?.takeovers(),
    { status: 'replication.takeovers' },
  ),
  counter(
    'replication_fenced_total',
    'Takeovers by another node from this process.',
    ({ replication }) => replication?.fenced(),
    { status: 'replication.fenced' },
  ),
]

function eachReader(read: (reader: RunningReader, vitals: Vitals) => number) {
  return (vitals: Vitals) =>
    vitals.readers?.running.map((reader) => {
      return { labels: { reader: `${reader.reader}` }, value: read(reader, vitals) }
    })
}

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
