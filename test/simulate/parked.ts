// Requests that are parked for text on disk. The model predicts an answer when its request is sent,
// so a parked request must be answered before the next one is sent.

import assert from 'node:assert/strict'
import { ColdReads } from '../../src/kernel/text/cold-reads.ts'
import type { SimulatedDisk } from '../wal/simulated-disk.ts'
import { settled, type VirtualTime } from './virtual-time.ts'

const stepsMax = 20_000

let parked = new Set<unknown>()
let onPark: () => void = () => {}

const { park } = ColdReads.prototype
ColdReads.prototype.park = function (this: ColdReads, parking, resume): void {
  const node = parked
  node.add(resume)
  onPark()
  park.call(this, parking, (outcome) => {
    node.delete(resume)
    resume(outcome)
  })
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
