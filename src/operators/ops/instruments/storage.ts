// Instruments of the disk: the log, its checkpoints, and the text.

import { by, counter, figure, gauge, histogram, quantiles } from '../instrument.ts'
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
      columns: [{ name: 'records', as: 'rate' }],
    },
  ),
  gauge(
    'journal_healthy',
    '1 while the log accepts records.',
    ({ journal }) => journal && Number(journal.health === 'ok'),
  ),
  figure('Whether the log accepts records, and if not, why.', ({ journal }) => journal?.health, {
    status: 'log.health',
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
    { columns: quantiles('sync_') },
  ),
]

export const checkpoints = [
  gauge(
    'checkpoint_position',
    'Position of the newest checkpoint.',
    ({ checkpoints }) => checkpoints.position,
    { status: 'checkpoints.position' },
  ),
  gauge(
    'checkpoint_age_seconds',
    'Time since the newest checkpoint was taken; NaN if an earlier process took it.',
    ({ checkpoints }) => checkpoints.ageSeconds(),
    { status: 'checkpoints.age_seconds' },
  ),
  gauge(
    'checkpoint_duration_seconds',
    'Duration of the newest checkpoint; NaN if this process has taken none.',
    ({ checkpoints: { taken, seconds } }) => (taken === 0 ? Number.NaN : seconds),
    { status: 'checkpoints.duration_seconds' },
  ),
  gauge(
    'checkpoint_bytes',
    'Bytes of pages that the newest checkpoint wrote; NaN if this process has taken none.',
    ({ checkpoints: { taken, bytes } }) => (taken === 0 ? Number.NaN : bytes),
    { status: 'checkpoints.bytes' },
  ),
  gauge(
    'checkpoint_begin_seconds',
    'Time for which the newest checkpoint blocked the event loop when it began.',
    ({ checkpoints }) => checkpoints.beginSeconds,
  ),
  gauge('checkpoint_records_behind', 'Records that a start would replay.', recordsBehind, {
    status: 'checkpoints.records_behind',
    columns: [{ name: 'behind' }],
  }),
  counter('checkpoints_total', 'Checkpoints taken.', ({ checkpoints }) => checkpoints.taken, {
    status: 'checkpoints.taken',
    columns: [{ name: 'checkpoints', as: 'change' }],
  }),
  counter(
    'checkpoint_failures_total',
    'Checkpoints that failed.',
    ({ checkpoints }) => checkpoints.failed,
    { status: 'checkpoints.failed' },
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

export const disk = [
  gauge(
    'disk_free_bytes',
    'Free bytes of the file system of the data directory.',
    ({ disk }) => disk.freeBytes ?? Number.NaN,
    { status: 'disk.free_bytes' },
  ),
  figure(
    'Seconds until that file system is full, if it fills as in the last day; null: it does not.',
    ({ disk }) => disk.fullInSeconds ?? Number.NaN,
    { status: 'disk.full_in_seconds' },
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
