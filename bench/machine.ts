// Describes the machine of a measurement. It is printed with every result, because figures mean
// nothing without it.

import { execFileSync } from 'node:child_process'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'

const syncs = 200
const blockBytes = 4096

export interface Machine {
  cpu: string
  cores: number
  memoryGb: number
  kernel: string
  node: string
  fileSystem: string
  /** The time to overwrite 4 KiB of a file, with fdatasync. */
  syncMs: { p50: number; p99: number }
  durability: string
  /** The load average of the machine when the measurement began. */
  loadAverage: number
  at: string
}

export function describeMachine(dir: string, durability: string): Machine {
  return {
    cpu: cpus()[0].model.trim(),
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    fileSystem: fileSystemOf(dir),
    syncMs: measureSync(dir),
    durability,
    loadAverage: loadavg()[0],
    at: new Date().toISOString(),
  }
}

export function machineLines(machine: Machine): string[] {
  const { cpu, cores, memoryGb, kernel, node, fileSystem, syncMs, durability } = machine
  return [
    `${cpu}, ${cores} cores, ${memoryGb} GB, Linux ${kernel}, Node ${node}`,
    `durability ${durability}; ${fileSystem}, 4 KiB written and synced in ` +
      `${syncMs.p50.toFixed(2)} ms (median), ${syncMs.p99.toFixed(2)} ms (p99)`,
    `server on one core, load on another; load average before: ${machine.loadAverage.toFixed(2)}`,
  ]
}

function fileSystemOf(dir: string): string {
  try {
    const text = execFileSync('df', ['--output=fstype,source', dir], { encoding: 'utf8' })
    return text.trimEnd().split('\n').at(-1)!.replace(/\s+/, ' on ')
  } catch {
    return 'unknown file system'
  }
}

function measureSync(parent: string): Machine['syncMs'] {
  const dir = mkdtempSync(join(parent, 'sync-'))
  const file = openSync(join(dir, 'file'), 'w+')
  const block = Buffer.alloc(blockBytes, 'x')
  for (let i = 0; i < syncs; i++) writeSync(file, block)
  fdatasyncSync(file)
  const times = Array.from({ length: syncs }, (_, i) => {
    const begun = performance.now()
    writeSync(file, block, 0, blockBytes, i * blockBytes)
    fdatasyncSync(file)
    return performance.now() - begun
  }).sort((a, b) => a - b)
  closeSync(file)
  rmSync(dir, { recursive: true })
  return { p50: times[Math.floor(syncs * 0.5)], p99: times[Math.floor(syncs * 0.99)] }
}
