import t from 'tap'
import { Checkpoints } from '../../wal/checkpoint/checkpoints.ts'
import { MemoryStore } from './memory-store.ts'
import { SimulatedDisk } from './simulated-disk.ts'

const pageBytes = 64

/** A store that holds only its last page after a load, like one with cold pages. */
class LastPageStore extends MemoryStore {
  holds(page: number): boolean {
    return (page + 1) * this.pageBytes >= this.bytes.length
  }
}

t.test('checkpoint: loaded, some pages not: its progress ends with all that is read', async (t) => {
  const disk = new SimulatedDisk(1)
  disk.makeDirectory('/data')
  const options = { disk, dir: '/data', stateVersion: 1, onNotice: () => {} }
  const saved = new Map([
    ['cold', new MemoryStore(pageBytes)],
    ['held', new MemoryStore(pageBytes)],
  ])
  for (let n = 0; n < 60; n++) for (const store of saved.values()) store.push(n)
  const noRows = new Map()
  const journal = { storeId: 'ab', position: 1, sync: async () => {}, dropBefore: async () => {} }
  const source = { journal, facts: () => null, stores: saved, rows: noRows, pause: () => null }
  await new Checkpoints(options).take(source)

  const stores = new Map([
    ['cold', new LastPageStore(pageBytes)],
    ['held', new MemoryStore(pageBytes)],
  ])
  const reports: [done: number, total: number][] = []
  const fresh = () => ({ stores, rows: noRows, restore: () => {} })
  await new Checkpoints(options).load('ab', fresh, (...report) => reports.push(report))
  t.same(stores.get('held')!.values, saved.get('held')!.values)
  const lastPageBytes = (60 * 8) % pageBytes
  t.same(reports.at(-1), [lastPageBytes + 60 * 8, lastPageBytes + 60 * 8])
  t.ok(reports.every(([done], i) => done > (reports[i - 1]?.[0] ?? 0)))
})
