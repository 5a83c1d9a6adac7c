// Goal:   the small files of a data directory survive a loss of power at any step: each has either
//         its old or its new content, and the next start finds the content that a start has used.
// Method: a simulated disk stops after the n-th change, loses power, and keeps some of the unsynced
//         changes, chosen by seed. The next start reads what is left, and so does one after another
//         loss.

import { pino } from 'pino'
import t from 'tap'
import { parseConfig } from '../../../src/config/config.ts'
import type { Handler } from '../../../src/edge/http/exchange.ts'
import {
  adoptEpoch,
  beginEpochAt,
  copySecret,
  loadEpoch,
  loadNodeId,
  loadSecret,
} from '../../../src/engine/storage/node-files.ts'
import { startNode } from '../../../src/node/server.ts'
import { FakeExchange } from '../../edge/http/fake-exchange.ts'
import { until } from '../../until.ts'
import { SimulatedDisk } from '../../wal/simulated-disk.ts'

const dir = '/data'
const seeds = 12
const storeId = '5e'.repeat(16)

function newDisk(seed: number): SimulatedDisk {
  const disk = new SimulatedDisk(seed)
  for (const name of [dir, '/copy']) disk.makeDirectory(name)
  const root = disk.open('/', 'read')
  disk.sync(root)
  disk.close(root)
  return disk
}

/**
 * Runs `work` once on each disk that stops after some number of its changes and then loses power.
 * Calls `check` with the disk of the next boot and the result of `work`, or null if it was cut off.
 */
function cutAnywhere<T>(
  prepare: (disk: SimulatedDisk) => void,
  work: (disk: SimulatedDisk) => T,
  check: (disk: SimulatedDisk, result: T | null) => void,
): number {
  let cuts = 0
  for (let isCut = true; isCut; cuts++) {
    isCut = false
    for (let seed = 1; seed <= seeds; seed++) {
      const disk = newDisk(seed)
      prepare(disk)
      disk.freezeAfter(cuts)
      let result: T | null = null
      try {
        result = work(disk)
      } catch {
        isCut = true
      }
      check(disk.losePower(), result)
    }
  }
  return cuts
}

const nothing = () => {}

const made = {
  secret: (disk: SimulatedDisk) => loadSecret({ disk, dir }, undefined),
  'node id': (disk: SimulatedDisk) => loadNodeId({ disk, dir }),
}

for (const [name, load] of Object.entries(made)) {
  t.test(`${name}: power lost while it is made: whoever has used it has it for good`, async (t) => {
    const cuts = cutAnywhere(nothing, load, (disk, used) => {
      const next = load(disk)
      if (used !== null && next !== used) t.fail('a start that had used it finds another one')
      if (load(disk.losePower()) !== next) t.fail('the next start finds another one')
    })
    t.ok(cuts > 4, `${cuts} cuts`)
  })
}

t.test('epoch: power lost while a backup begins one: the old one, or a new one', async (t) => {
  const old = { store: storeId, epoch: '0e'.repeat(16), epochBegin: 7 }
  const found = new Set<number | null>()
  cutAnywhere(
    (disk) => adoptEpoch({ disk, dir }, old),
    (disk) => {
      beginEpochAt({ disk, dir }, 1000)
      return true
    },
    (disk, isDone) => {
      const { id, begin } = loadEpoch({ disk, dir }, storeId)
      found.add(begin)
      if (begin === 7 ? id !== old.epoch : begin !== 1000) t.fail(`${id} began at ${begin}`)
      if (isDone && begin !== 1000) t.fail('the epoch that has begun is gone')
    },
  )
  t.same(found, new Set([7, 1000]))
})

t.test('E2: epoch: power lost while it is named: a name that was used stays', async (t) => {
  cutAnywhere(
    (disk) => beginEpochAt({ disk, dir }, 1000),
    (disk) => loadEpoch({ disk, dir }, storeId),
    (disk, used) => {
      const next = loadEpoch({ disk, dir }, storeId)
      if (next.begin !== 1000 || next.id === storeId) t.fail('the epoch is gone')
      if (used !== null && used.id !== next.id) t.fail('an epoch that was shown has another name')
      t.same(loadEpoch({ disk: disk.losePower(), dir }, storeId), next)
    },
  )
})

t.test('secret: power lost while it is copied: the copy has it, or none', async (t) => {
  let secret = ''
  const cuts = cutAnywhere(
    (disk) => {
      secret = loadSecret({ disk, dir }, undefined)
    },
    (disk) => copySecret({ disk, dir }, '/copy'),
    (disk, isCopied) => {
      const isThere = disk.list('/copy').includes('secret')
      if (isCopied && !isThere) t.fail('the copy is gone')
      if (isThere && loadSecret({ disk, dir: '/copy' }, undefined) !== secret) t.fail('another one')
      if (loadSecret({ disk, dir }, undefined) !== secret) t.fail('the secret itself is gone')
    },
  )
  t.ok(cuts > 4, `${cuts} cuts`)
})

t.test('secret: gone from a log with records: the start that makes another warns', async (t) => {
  const disk = newDisk(1)
  const warnings: unknown[] = []
  const log = pino({ level: 'warn' }, { write: (line) => warnings.push(JSON.parse(line).msg) })
  let handle: Handler = () => {}
  const listen = async (_host: string, _port: number, handler: Handler) => {
    handle = handler
    return { port: 1, stop: () => {} }
  }
  const life = async (work = async () => {}) => {
    const environment = { disk, segmentBytes: 1 << 20, listen }
    const node = await startNode(parseConfig(['--data', dir], {}), '0.0.0', log, environment)
    await work()
    await node.stop()
  }
  await life()
  disk.erase(`${dir}/secret`)
  await life(async () => {
    const headers = { 'content-type': 'application/json', host: 'localhost' }
    const exchange = new FakeExchange('post', '/api/identities', headers)
    handle(exchange)
    exchange.end({})
    await until('an answer', async () => exchange.answers[0] ?? null)
  })
  t.same(warnings, [], 'an empty log has nothing that needs the old one')
  disk.erase(`${dir}/secret`)
  await life()
  t.same(warnings, ['secret_made'])
})
