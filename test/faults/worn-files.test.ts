// Goal:   when a device fails to read a part of a page file that no page uses any more, or to write
//         a page in place, the scrub has all pages moved to other files, including those that are
//         on disk only, and then no warning remains.
// Method: a node in this process on a simulated disk with bad sectors, with most of its text on
//         disk only. It scrubs its files again and again.

import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { Writable } from 'node:stream'
import pino from 'pino'
import t, { type Test } from 'tap'
import { decodeManifest, encodeManifest, numberIn } from '../../wal/checkpoint/manifest.ts'
import { ask } from '../api/operators.ts'
import { timeoutMs } from '../depth.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import type { SimulatedDisk } from '../wal/simulated-disk.ts'
import { build, contentOf, filesWith, readErased, start } from './cold-forum.ts'

t.setTimeout(timeoutMs)

/**
 * A message of the second page, which the first text file holds as of when that page was half full.
 */
const moved = 250
const often = ['--scrub-hours', '0.0003']

const base = await build()

/** Returns the page file of the first page of text. */
function firstFile(disk: SimulatedDisk): string {
  return filesWith(disk, 0).find((name) => name.endsWith('.pages'))!
}

/**
 * Starts a node, waits until the file is replaced and no warning remains, and reads all messages.
 */
async function isReplaced(t: Test, disk: SimulatedDisk, file: string): Promise<void> {
  let output = ''
  const write = (line: Buffer, _: string, done: () => void) => {
    output += line
    done()
  }
  const ops = await freePort()
  const log = pino({ level: 'warn' }, new Writable({ write }))
  const running = await start(disk, [...often, '--ops-port', `${ops}`], log)
  await until('the file to be replaced', () => output.includes('page_file_replaced'))
  t.notOk(disk.contents().has(file), 'it is removed')
  await until('readiness', async () => (await ask(ops, '/readyz')).text === 'ok\n')
  t.same(await readErased(running, base), [])
  t.equal(output.match(/page_file_replaced/g)?.length, 1, output)
  await running.node.stop()
  const restarted = await start(disk)
  t.same(await readErased(restarted, base), [])
  await restarted.node.stop()
}

t.test('a part that no page uses cannot be read: all pages are moved, it is removed', async (t) => {
  const disk = base.disk.copy()
  const file = firstFile(disk)
  const at = disk.bytesOf(file).indexOf(contentOf(moved).slice(0, 60))
  t.ok(at > 1 << 20, 'behind the page that is in use')
  disk.breakSectors(file, at, at + 1)
  await isReplaced(t, disk, file)
})

t.test('a page in use can be neither read nor written: the same, from parity', async (t) => {
  const disk = base.disk.copy()
  const file = firstFile(disk)
  const at = disk.bytesOf(file).indexOf(contentOf(100).slice(0, 60))
  disk.breakSectors(file, at, at + 1)
  disk.wearOut(file)
  await isReplaced(t, disk, file)
})

t.test('the older manifest names a page outside of its file: logged, and it serves', async (t) => {
  const disk = base.disk.copy()
  const names = [...disk.contents().keys()].filter((name) => name.endsWith('.checkpoint'))
  const older = names.sort().at(-2)!
  const read = decodeManifest(disk.bytesOf(older), numberIn(basename(older)))
  assert(read.kind === 'good')
  const { manifest } = read
  for (const file of manifest.files.keys()) manifest.files.set(file, 1)
  disk.overwrite(older, encodeManifest(manifest))
  let output = ''
  const write = (line: Buffer, _: string, done: () => void) => {
    output += line
    done()
  }
  const log = pino({ level: 'warn' }, new Writable({ write }))
  const running = await start(disk, often, log)
  await until('the scrub to fail', () => /outside of .*scrub_failed/.test(output))
  t.same(await readErased(running, base), [])
  await running.node.stop()
})
