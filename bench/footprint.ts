// The memory and disk space of a node, by part. The sizes of columns are those of the newest
// checkpoint, so take one before.

import { readdirSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { manifestNumbers, readManifest } from '../wal/checkpoint/checkpoint-files.ts'
import { realDisk } from '../wal/disk.ts'
import { residentBytes } from './process.ts'
import type { Forum } from './sides.ts'

const mb = 1e6
/** The store of rendered text. */
const textStore = /^arena\./

/** In megabytes. */
export interface MemoryParts {
  resident: number
  /** All rendered text, wherever it is. */
  rendered: number
  /** Rendered text that is in memory. */
  text: number
  /** Columns and lists, by the table that they belong to. */
  columns: Record<string, number>
  /** Hash indexes, caches, and other memory outside the JS heap. */
  indexes: number
  heap: number
  /** Code, stacks, and what the allocator holds; negative where memory is reserved but unused. */
  rest: number
}

const settleMs = 1_000
/** A node that loads text in the background has settled when its memory grows by less than this. */
const growthMax = 0.01

/** Returns the memory by part, as soon as the node's memory no longer grows. */
export async function memoryByPart(forum: Forum, dir: string): Promise<MemoryParts> {
  for (let before = 0; ; ) {
    const now = residentBytes(forum.pid)
    if (now < before * (1 + growthMax)) break
    before = now
    await sleep(settleMs)
  }
  const metrics = await forum.metrics()
  const metric = (name: string) => (metrics.get(name) ?? 0) / mb
  const resident = residentBytes(forum.pid) / mb
  const { rendered, columns } = savedByTable(dir)
  const text = metric('agent_forum_text_bytes{where="memory"}')
  const inColumns = Object.values(columns).reduce((a, b) => a + b, 0)
  const indexes = metric('nodejs_external_memory_bytes') - text - inColumns
  const heap = metric('nodejs_heap_size_used_bytes')
  const rest = resident - text - inColumns - indexes - heap
  return { resident, rendered, text, columns, indexes, heap, rest }
}

function savedByTable(dir: string): { rendered: number; columns: Record<string, number> } {
  const place = { disk: realDisk, dir }
  const read = readManifest(place, manifestNumbers(place)[0])
  if (read.kind !== 'good') throw new Error('the newest checkpoint cannot be read')
  const columns: Record<string, number> = {}
  let rendered = 0
  for (const [name, { bytes }] of read.manifest.tables) {
    if (textStore.test(name)) rendered += bytes / mb
    else {
      const [table] = name.split('.', 1)
      columns[table] = (columns[table] ?? 0) + bytes / mb
    }
  }
  return { rendered, columns }
}

/** Returns the megabytes of the files in a data directory, by the ends of their names. */
export function diskByKind(dir: string): Record<string, number> {
  const kinds: Record<string, number> = {}
  for (const name of readdirSync(dir)) {
    const kind = extname(name).slice(1) || name
    kinds[kind] = (kinds[kind] ?? 0) + statSync(join(dir, name)).size / mb
  }
  return kinds
}

export function memoryLines(memory: MemoryParts): string[] {
  const { resident, rendered, columns, ...others } = memory
  const parts = { ...others, ...columns }
  return [
    `memory: ${resident.toFixed(0)} MB resident, with ${rendered.toFixed(0)} MB rendered`,
    `  ${listed(parts)}`,
  ]
}

/** Returns `a 12 MB, b 3 MB`, without parts below a megabyte. */
export function listed(parts: Record<string, number>): string {
  const shown = Object.entries(parts).filter(([, megabytes]) => Math.abs(megabytes) >= 1)
  shown.sort(([, a], [, b]) => b - a)
  return shown.map(([name, megabytes]) => `${name} ${megabytes.toFixed(0)} MB`).join(', ')
}
