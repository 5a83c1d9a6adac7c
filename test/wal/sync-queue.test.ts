// Each sync in flight has its own descriptor (Q1 of wal/journal/sync-queue.ts).

import t from 'tap'
import type { Durability } from '../../wal/journal/journal.ts'
import { appendEach, open, turn, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

/** Behaves as the kernel does: after lost writes, the next sync of each descriptor fails, once. */
class ErrorOncePerDescriptor extends SimulatedDisk {
  readonly held: { file: number; done: (error: Error | null) => void }[] = []
  isHolding = false
  readonly #reported = new Set<number>()

  override dataSyncLater(file: number, done: (error: Error | null) => void): void {
    if (this.isHolding) this.held.push({ file, done })
    else super.dataSyncLater(file, done)
  }

  /** Returns the result of a sync that checks for errors now. */
  answer(file: number): Error | null {
    if (this.#reported.has(file)) return null
    this.#reported.add(file)
    return Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
  }
}

t.test('Q1: writes are lost, two syncs in flight: both fail, in any order', async (t) => {
  const disk = new ErrorOncePerDescriptor(1)
  const { journal } = await open(disk)
  await until(() => disk.pending === 0)
  disk.isHolding = true
  journal.append('older'.padEnd(700))
  await turn()
  journal.append('younger'.padEnd(700))
  await turn()
  const [older, younger] = disk.held
  t.not(older!.file, younger!.file)
  const answers = [disk.answer(younger!.file), disk.answer(older!.file)]
  older!.done(answers[1]!)
  t.equal(journal.durable, 0, 'the result of the older one arrives first, and is not a success')
  younger!.done(answers[0]!)
  t.equal(journal.health, 'storage_failed')
  await journal.close()
})

t.test('Q1: any mode and load: no two syncs in flight share a descriptor', async (t) => {
  for (const durability of [{ mode: 'always' }, { mode: 'interval', ms: 1 }, { mode: 'none' }]) {
    const disk = new SimulatedDisk(1)
    const inFlight = new Set<number>()
    let most = 0
    const start = disk.dataSyncLater.bind(disk)
    disk.dataSyncLater = (file, done) => {
      if (inFlight.has(file)) t.fail(`${durability.mode}: ${file} is synced twice at once`)
      inFlight.add(file)
      most = Math.max(most, inFlight.size)
      const report = (turns: number, error: Error | null) => {
        if (turns > 0) return setImmediate(() => report(turns - 1, error))
        inFlight.delete(file)
        return done(error)
      }
      start(file, (error) => report(5, error)) // so slow that others begin meanwhile
    }
    const { journal } = await open(disk, { durability: durability as Durability })
    await appendEach(
      journal,
      Array.from({ length: 100 }, () => 'x'.repeat(900)),
    )
    await until(() => {
      if (journal.health === 'ok') journal.append('x'.repeat(900))
      return journal.stats().segment > 20
    })
    await journal.close()
    t.ok(most > 1, `${durability.mode}: ${most} syncs were in flight at once`)
  }
})
