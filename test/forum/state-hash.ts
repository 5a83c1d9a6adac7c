// A single hash over everything that a checkpoint saves of a state, including the seed of the
// receipts: two states with the same hash give the same answers.

import { createHash } from 'node:crypto'
import type { State } from '../../src/forum/state.ts'
import { factsOf, rowsOf, storesOf } from '../../src/kernel/saved.ts'
import { pack } from '../../wal/checkpoint/manifest.ts'

export function stateHash(state: State): string {
  const hash = createHash('sha256')
  for (const [name, digest] of Object.entries(hashesOf(state))) hash.update(`${name} ${digest}\n`)
  return hash.digest('hex')
}

/**
 * Returns a hash for each store and each part's facts, which shows where two states differ. Stores
 * in `without` are left out: hashing one reads all of its pages into memory.
 */
export function hashesOf(state: State, without: readonly string[] = []): Record<string, string> {
  const hashes: Record<string, string> = {}
  for (const [name, store] of storesOf(state)) {
    if (without.includes(name)) continue
    const bytes = store.freeze()
    store.thaw(null)
    const hash = createHash('sha256')
    for (let page = 0; page * store.pageBytes < bytes; page++) {
      const rest = bytes - page * store.pageBytes
      hash.update(store.room(page).subarray(0, Math.min(rest, store.pageBytes)))
    }
    hashes[name] = hash.digest('hex')
  }
  for (const [name, source] of rowsOf(state)) {
    const rows: string[] = []
    source.freeze()
    for (let row = source.next(); row !== null; row = source.next()) {
      rows.push(pack(row).toString('hex'))
    }
    source.thaw()
    hashes[name] = createHash('sha256').update(rows.sort().join()).digest('hex')
  }
  for (const [name, facts] of Object.entries(factsOf(state))) {
    hashes[`facts of ${name}`] = createHash('sha256').update(pack(facts)).digest('hex')
  }
  return hashes
}
