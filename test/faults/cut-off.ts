// Cuts work on a simulated disk off after some of the changes that it makes to the disk.

import type { Test } from 'tap'
import { chosenSeed, sizeOf } from '../depth.ts'
import { seededRandom } from '../wal/simulated-inode.ts'

export type CutOff = 'kill' | 'loss of power'

/** Calls `cutOff` for some of so many changes, chosen at random; fails for each that rejects. */
export async function cutOffAtSome(
  t: Test,
  changes: number,
  cutOff: (point: number, how: CutOff) => Promise<void>,
): Promise<void> {
  const random = seededRandom(chosenSeed)
  const points = Math.min(changes, sizeOf('CRASH_POINTS'))
  t.comment(`TEST_SEED=${chosenSeed}: ${points} of ${changes} changes`)
  for (let i = 0; i < points; i++) {
    const point = Math.floor(((i + random()) * changes) / points)
    const how = random() < 0.5 ? 'kill' : 'loss of power'
    await cutOff(point, how).catch((error) => {
      t.fail(`TEST_SEED=${chosenSeed}: ${how} after change ${point}: ${error.stack}`)
    })
  }
}
