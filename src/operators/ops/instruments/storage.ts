// Instruments of the disk: the log, its checkpoints, and the text.

import {
  bytes,
  count,
  duration,
  latency,
  unknown,
} from '../../../people/browser/dashboard/units.ts'
import { by, counter, fact, figure, gauge, histogram, quantiles } from '../instrument.ts'
import { recordsBehind, type Vitals } from '../vitals.ts'

export const log = [
  gauge('journal_position', 'Position of the last record.', ({ journal }) => journal?.position, {
    status: 'log.position',
  }),
  gauge(
    'journal_durable_position',
    'Position up to which all records are durable.',
    ({ journal }) => journal?.durable,
    {
      status: 'log.durable_position',
      columns: [{ name: 'records', as: 'rate', line: { on: 'log', label: 'records' } }],
      facts: [fact('headline', 'durable position', count), fact('log', 'Durable position', count)],
    },
  ),
  figure(
    'Records that are not durable yet.',
    ({ journal }) => journal && journal.position - journal.durable,
    { facts: [fact('log', 'Records not durable yet', count)] },
  ),
  gauge(
    'journal_healthy',
    '1 while the log accepts records.',
    ({ journal }) => journal && Number(journal.health === 'ok'),
  ),
  figure('Whether the log accepts records, and if not, why.', ({ journal }) => journal?.health, {
    status: 'log.health',
    facts: [
      fact(
        'log',
        'Storage',
        (_, { journal }) => journal?.health ?? 'not open yet',
        (_, { journal }) => (journal?.health ?? 'ok') !== 'ok',
      ),
    ],
  }),
  gauge('journal_segment', 'Number of the segment that is being written.', ofLog('segment'), {
    status: 'log.segment',
  }),
  counter('journal_batches_total', 'Frames written.', ofLog('batches')),
  counter('journal_records_total', 'Records written.', ofLog('records')),
  counter('journal_bytes_total', 'Bytes written, including padding.', ofLog('bytes'), {
    status: 'log.bytes',
  }),
  histogram(
    'journal_sync_duration_seconds',
    'Duration of syncs.',
    ({ journal }) => journal && [journal.stats().syncs],
    quantiles('sync_', 'syncs'),
  ),
]

export const checkpoints = [
  gauge(
    'checkpoint_position',
    'Position of the newest checkpoint.',
    ({ checkpoints }) => checkpoints.position,
    {
      status: 'checkpoints.position',
      facts: [
        fact('checkpoints', 'Position of the newest', (position) =>
          position === 0 ? 'none yet' : count(position),
        ),
      ],
    },
  ),
  gauge(
    'checkpoint_age_seconds',
    'Time since the newest checkpoint was taken; NaN if an earlier process took it.',
    ({ checkpoints }) => checkpoints.ageSeconds(),
    {
      status: 'checkpoints.age_seconds',
      facts: [fact('checkpoints', 'Age', ageShown)],
    },
  ),
  gauge(
    'checkpoint_duration_seconds',
    'Duration of the newest checkpoint; NaN if this process has taken none.',
    ({ checkpoints: { taken, seconds } }) => (taken === 0 ? Number.NaN : seconds),
    { status: 'checkpoints.duration_seconds', facts: [fact('checkpoints', 'Duration', latency)] },
  ),
  gauge(
    'checkpoint_bytes',
    'Bytes of pages that the newest checkpoint wrote; NaN if this process has taken none.',
    ({ checkpoints: { taken, bytes } }) => (taken === 0 ? Number.NaN : bytes),
    { status: 'checkpoints.bytes', facts: [fact('checkpoints', 'Written', bytes)] },
  ),
  gauge(
    'checkpoint_begin_seconds',
    'Time for which the newest checkpoint blocked the event loop when it began.',
    ({ checkpoints }) => checkpoints.beginSeconds,
  ),
  gauge('checkpoint_records_behind', 'Records that a start would replay.', recordsBehind, {
    status: 'checkpoints.records_behind',
    columns: [{ name: 'behind', line: { on: 'checkpoints', label: 'records' } }],
    facts: [fact('checkpoints', 'Records that a start replays', count)],
  }),
  counter('checkpoints_total', 'Checkpoints taken.', ({ checkpoints }) => checkpoints.taken, {
    status: 'checkpoints.taken',
    columns: [{ name: 'checkpoints', as: 'change' }],
    facts: [fact('checkpoints', 'Taken since the start', count)],
  }),
  counter(
    'checkpoint_failures_total',
    'Checkpoints that failed.',
    ({ checkpoints }) => checkpoints.failed,
    {
      status: 'checkpoints.failed',
      facts: [fact('checkpoints', 'Failed since the start', count, (failed) => !!failed)],
    },
  ),
  counter(
    'scrub_bytes_total',
    'Bytes of page files that the scrub has read.',
    ({ scrub }) => scrub.bytes,
  ),
  counter(
    'scrub_mended_total',
    'Damaged pages that were rewritten.',
    by('by', ({ scrub }) => ({ parity: scrub.byParity, memory: scrub.byMemory })),
  ),
  gauge(
    'scrub_age_seconds',
    'Time since all page files were read; NaN if this process has not read them all yet.',
    ({ scrub }) => scrub.ageSeconds(),
  ),
]

/** Text that is read from disk; requests.ts has the requests that wait for it. */
export const coldText = [
  counter(
    'text_reads_total',
    'Blocks of 16 KiB read from disk.',
    ({ coldReads }) => coldReads.blocksRead,
  ),
  histogram(
    'text_read_seconds',
    'Duration of reads of the text that a request needed.',
    ({ textDisk }) => [textDisk.reads],
  ),
  counter(
    'text_cache_hits_total',
    'Blocks that were found in the block cache.',
    ({ state }) => state.text.blocks.hits,
  ),
  counter(
    'text_cache_misses_total',
    'Blocks that had to be read.',
    ({ state }) => state.text.blocks.misses,
  ),
  counter(
    'text_damaged_total',
    'Blocks that were damaged on disk when they were read.',
    by('outcome', ({ textDisk: { rebuilt, lost } }) => ({ rebuilt, lost })),
  ),
]

function ofLog(what: 'segment' | 'batches' | 'records' | 'bytes') {
  return ({ journal }: Vitals) => journal?.stats()[what]
}

function ageShown(age: number | null, { checkpoints }: Vitals): string {
  if (checkpoints.position === 0) return unknown
  return age === null ? 'an earlier process took it' : duration(age)
}
