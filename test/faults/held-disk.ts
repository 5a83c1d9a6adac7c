// A node in this process, with real HTTP and a simulated disk whose syncs the test completes or
// fails.

import { Writable } from 'node:stream'
import pino from 'pino'
import type { Test } from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import { type Node, startNode } from '../../src/node/server.ts'
import { freePort } from '../free-port.ts'
import { readingOf } from '../kernel/text/simulated-reading.ts'
import { SimulatedDisk } from '../wal/simulated-disk.ts'

export interface Held {
  node: Node
  disk: SimulatedDisk
  port: number
  operators: number
}

/** Small segments, because a simulated disk is slow to fill. */
const segmentBytes = 4 << 20

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })

/** Starts a node, whose disk completes every operation until `disk.manual` is set. */
export async function startHeld(
  t: Test,
  flags: readonly string[],
  disk = new SimulatedDisk(1),
): Promise<Held> {
  const operators = await freePort()
  const args = ['--port', '0', '--data', '/held', '--ops-port', `${operators}`, ...flags]
  const config = parseConfig(args, { AGENT_FORUM_SECRET: 'the secret of a disk that is held' })
  const environment = { disk, startReading: readingOf(disk), segmentBytes }
  const node = await startNode(config, '0.0.0', pino({}, nowhere), environment)
  node.failed.catch(() => {}) // tests that expect a failure await it themselves
  t.teardown(async () => {
    disk.manual = false
    while (disk.pending > 0) disk.completeOne()
    await node.stop()
  })
  return { node, disk, port: Number(new URL(node.url).port), operators }
}
