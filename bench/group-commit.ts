// Question:   what does sharing one sync among many writers buy?
// Compares:   1 (floor), 8, 64, 512 writers, each of which waits for its record to be durable.
// Fixed:      256-byte payload; disk and durability mode printed with the result.
// Reports:    writes/s; p50 and p99 from append to durable; a hash of the records read back.
// Leaves out: HTTP, validation, state.
// Smoke:      `--smoke` writes 50 records in each run. Run it: node dist/bench/group-commit.js

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Durability, type Journal, openJournal } from '../wal/journal/journal.ts'

const writersCompared = [1, 8, 64, 512]
const payload = 'x'.repeat(256)
const runMs = 2000
const smokeRecords = 50

interface Result {
  writers: number
  records: number
  seconds: number
  recordsPerSync: number
  p50Ms: number
  p99Ms: number
  hash: string
}

async function measure(writers: number, durability: Durability, smoke: boolean): Promise<Result> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'group-commit-'))
  try {
    const journal = await openJournal({ dir, durability, onRecord: () => {} })
    const written = createHash('sha256')
    const done = await run(journal, writers, smoke, (record) => written.update(record))
    const { syncs } = journal.stats()
    await journal.close()
    const hash = await readBack(dir)
    if (hash !== written.digest('hex').slice(0, 8)) throw new Error('read back other records')
    const latencies = done.latenciesMs.sort((a, b) => a - b)
    const at = (part: number) => latencies[Math.floor((latencies.length - 1) * part)]
    const records = latencies.length
    const recordsPerSync = records / syncs.count
    return { writers, records, ...done, recordsPerSync, p50Ms: at(0.5), p99Ms: at(0.99), hash }
  } finally {
    fs.rmSync(dir, { recursive: true })
  }
}

// Each writer appends again when its record is durable: a closed loop, like clients' requests.
function run(
  journal: Journal,
  writers: number,
  smoke: boolean,
  onWritten: (text: string) => void,
): Promise<{ seconds: number; latenciesMs: number[] }> {
  const startedMs = performance.now()
  const latenciesMs: number[] = []
  const appendedMs: number[] = []
  let appended = 0
  let idle = 0
  const isOver = () => (smoke ? appended >= smokeRecords : performance.now() - startedMs > runMs)
  return new Promise((resolve, reject) => {
    const append = () => {
      if (isOver()) {
        const seconds = (performance.now() - startedMs) / 1000
        if (++idle === writers) resolve({ seconds, latenciesMs })
      } else if (journal.health !== 'ok') {
        setImmediate(append)
      } else {
        const record = { type: 'bench', n: appended++, payload }
        appendedMs.push(performance.now())
        journal.append(record)
        onWritten(JSON.stringify(record))
      }
    }
    journal.onFailed = reject
    journal.onDurable = (durable) => {
      const nowMs = performance.now()
      while (latenciesMs.length < durable) {
        latenciesMs.push(nowMs - appendedMs[latenciesMs.length])
        append()
      }
    }
    for (let n = 0; n < writers; n++) append()
  })
}

async function readBack(dir: string): Promise<string> {
  const hash = createHash('sha256')
  const onRecord = (_: number, record: unknown) => hash.update(JSON.stringify(record))
  const journal = await openJournal({ dir, onRecord })
  await journal.close()
  return hash.digest('hex').slice(0, 8)
}

const smoke = process.argv.includes('--smoke')
const modes: Durability[] = [{ mode: 'always' }, { mode: 'interval', ms: 100 }]
console.log(`disk ${os.tmpdir()}, ${os.cpus()[0]?.model}, node ${process.version}`)
console.log('mode      writers  writes/s  records/sync   p50 ms   p99 ms  read back')
for (const durability of modes) {
  for (const writers of writersCompared) {
    const result = await measure(writers, durability, smoke)
    const columns = [
      durability.mode.padEnd(8),
      String(writers).padStart(8),
      (result.records / result.seconds).toFixed(0).padStart(9),
      (Number.isFinite(result.recordsPerSync) ? result.recordsPerSync.toFixed(1) : '-').padStart(
        13,
      ),
      result.p50Ms.toFixed(2).padStart(8),
      result.p99Ms.toFixed(2).padStart(8),
      result.hash.padStart(10),
    ]
    console.log(columns.join(' '))
  }
}
