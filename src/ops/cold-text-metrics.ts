// The metrics of text that is on disk: what waits for it, what was read, and what was damaged.

import { counter, gauge, histogram } from './prometheus.ts'
import type { Vitals } from './vitals.ts'

export function coldText({ coldReads, textDisk, state }: Vitals): string {
  const { reads, readBoundsSeconds, readSeconds, rebuilt, lost } = textDisk
  const { hits, misses } = state.text.blocks
  const prefix = 'agent_forum_text'
  return [
    gauge(`${prefix}_waiting`, 'Requests that wait for text that is on disk.', coldReads.length),
    gauge(
      `${prefix}_waiting_bytes`,
      'Bytes of text that the requests which wait for it hold.',
      coldReads.bytes,
    ),
    counter(`${prefix}_reads_total`, 'Blocks of 16 KiB read from disk.', coldReads.blocksRead),
    histogram(`${prefix}_read_seconds`, 'How long it took to read what a request needed.', [
      { bounds: readBoundsSeconds, counts: reads, sum: readSeconds },
    ]),
    counter(`${prefix}_cache_hits_total`, 'Blocks that were found in the block cache.', hits),
    counter(`${prefix}_cache_misses_total`, 'Blocks that had to be read.', misses),
    counter(`${prefix}_damaged_total`, 'Blocks that were damaged on disk when they were read.', [
      { labels: { outcome: 'rebuilt' }, value: rebuilt },
      { labels: { outcome: 'lost' }, value: lost },
    ]),
  ].join('')
}
