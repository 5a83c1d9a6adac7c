// Requests that are parked for text on disk. Such a request runs again when the text is in memory,
// and the model then predicts its answer anew.

import assert from 'node:assert/strict'
import { ColdReads } from '../../src/kernel/text/cold-reads.ts'
import type { SimulatedDisk } from '../wal/simulated-disk.ts'
import { askedBy } from './asking.ts'
import { settled, type VirtualTime } from './virtual-time.ts'

const stepsMax = 20_000

let parked = new Set<unknown>()
let onPark: () => void = () => {}

const { park, runAgain } = ColdReads.prototype
ColdReads.prototype.park = function (this: ColdReads, parking, resume): void {
  const node = parked
  node.add(resume)
  onPark()
  const { connection } = parking
  park.call(this, parking, (outcome) => {
    node.delete(resume)
    if (!('rejected' in outcome)) return resume(outcome)
    assert.equal(outcome.rejected, 'shutting_down', 'there is room to read all that exists')
    watched(connection, () => resume(outcome))
  })
}
ColdReads.prototype.runAgain = function (this: ColdReads, read, run): void {
  watched(read.connection, () => runAgain.call(this, read, run))
}

function watched(connection: object, run: () => void): void {
  const asked = askedBy.get(connection)
  if (asked === undefined) run()
  else asked.watch(run)
}

/**
 * Called when a node starts: no earlier request will be answered. `count` is called for each
 * request that is parked from now on.
 */
export function forgetParked(count: () => void): void {
  parked = new Set()
  onPark = count
}

/** Lets the disk proceed until no request is parked, or nothing happens any more. */
export async function finishParked(at: { disk: SimulatedDisk; time: VirtualTime }): Promise<void> {
  for (let steps = 0; parked.size > 0; steps++) {
    assert.ok(steps < stepsMax, 'waited in vain for text that is on disk')
    if (at.disk.pending > 0) at.disk.completeOne()
    else if (at.time.isBusy) await at.time.turn()
    else return
    await settled()
  }
}
