// A node without a log that joins a history, and dies at any change to its disk: a start finds no
// log, or one that is a part of that history.

import { pino } from 'pino'
import t from 'tap'
import { uploadCheckpoint } from '../../../src/cluster/replication/checkpoint-transfer.ts'
import { HistoryPlace } from '../../../src/cluster/replication/history-place.ts'
import { writeHistory } from '../../../src/cluster/replication/notes.ts'
import { loadEpoch } from '../../../src/engine/storage/node-files.ts'
import { listSegments, positionBefore, storeIdOf } from '../../../wal/journal/segments.ts'
import { dir } from '../../wal/helpers.ts'
import { SimulatedDisk } from '../../wal/simulated-disk.ts'
import { LeadingNode, newDirectory } from './leading-node.ts'
import { MemoryStream } from './memory-stream.ts'

const log = pino({ level: 'silent' })
/** The epoch of a backup that was restored, and is led by another node. */
const epoch = 'e'.repeat(32)

t.test('prepare: dies at any step: the next start joins with the same epoch', async (t) => {
  const leader = await new LeadingNode(newDirectory(t)).open()
  t.teardown(() => leader.close())
  const stream = new MemoryStream()
  const { storeId: store } = leader.journal
  await leader.write('one')
  await leader.checkpoints.take()
  const { directory, newest: manifest } = leader.checkpoints
  await uploadCheckpoint(stream, directory, { node: 'leader', manifest, isStopped: () => false })
  await writeHistory(stream, { store, epoch, epochBegin: 1, secret: '' })

  const prepare = (disk: SimulatedDisk) => {
    const place = new HistoryPlace({
      ...{ stream, directory: { disk, dir }, node: 'this', beginAt: null, secret: '', log },
      begins: { empty: false, log: false },
      beginAfterMs: 0,
      onWait: (why) => t.fail(why),
      isStopped: () => false,
    })
    return place.prepare(storeIdOf(listSegments(disk, dir)))
  }
  for (const die of ['dieAlone', 'losePower'] as const) {
    let isDone = false
    for (let step = 0; !isDone; step++) {
      const disk = new SimulatedDisk(step)
      disk.makeDirectory(dir)
      disk.sync(disk.open('/', 'read'))
      disk.freezeAfter(step)
      isDone = await prepare(disk).then(
        () => true,
        () => false,
      )
      const next = disk[die]()
      t.equal(await prepare(next), store)
      const { id, begin, isOwn } = loadEpoch({ disk: next, dir }, store)
      const joined = [id, begin, isOwn, positionBefore(listSegments(next, dir))]
      t.same(joined, [epoch, 1, false, manifest.position], `${die} after ${step} changes`)
    }
  }
})
