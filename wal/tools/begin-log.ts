// Begins a log that does not start at position 1: a node that takes over the history of another one
// has no records of its own before the position of the checkpoint that it copied.
//
//   0000000001.wal │ header: first position P + 1, store id of the other node │ seal │

import type { CheckpointDirectory } from '../checkpoint/checkpoint-files.ts'
import { writeAll } from '../disk.ts'
import { isOfSystem, JournalError, storageError } from '../errors.ts'
import { crcSeed, encodeSegmentHeader, segmentHeaderBytes } from '../journal/format.ts'
import { listSegments, segmentPath } from '../journal/segments.ts'
import { encodeSeal } from '../journal/settle.ts'
import { replaceFile } from '../replace-file.ts'

const number = 1

/**
 * Makes an empty log in `dir` whose first record will be at `position` + 1. Safe against a crash at
 * any step. Throws JournalError 77 when the directory has a log, 74 when the disk fails.
 */
export function beginLog(
  { disk, dir }: CheckpointDirectory,
  { storeId, position }: { storeId: string; position: number },
): void {
  try {
    if (listSegments(disk, dir).length > 0) throw new JournalError(77, `${dir} has a log already`)
    replaceFile(disk, segmentPath(dir, number), (file) => {
      const place = { number, firstPosition: position + 1, watermark: position, link: 0 }
      writeAll(disk, file, encodeSegmentHeader({ storeId, ...place, settled: true }), 0)
      writeAll(disk, file, encodeSeal(position, 0, crcSeed(storeId)), segmentHeaderBytes)
    })
  } catch (error) {
    throw isOfSystem(error) ? storageError(`begin a log in ${dir}`, error) : error
  }
}
