// The reader of text on real files: where its reads put the bytes, and their results for blocks
// that are good, damaged, cut off or missing.

import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import type { BlockRead, ReadResult } from '../../../src/kernel/text/block-loads.ts'
import { blockBytes, TextBlocks } from '../../../src/kernel/text/blocks.ts'
import { BlockReader } from '../../../src/kernel/text/reader.ts'
import { pagesName } from '../../../wal/checkpoint/manifest.ts'
import { dataDirectory } from '../../api/process.ts'

const blockCount = 200

function bytesOf(file: number, block: number): Buffer {
  return Buffer.alloc(blockBytes, `file ${file} block ${block};`)
}

class Scene {
  readonly dir: string
  readonly blocks = new TextBlocks()
  readonly reader: BlockReader

  constructor(t: Test) {
    this.dir = dataDirectory(t)
    mkdirSync(this.dir)
    for (const file of [1, 2]) {
      const all = Array.from({ length: blockCount }, (_, block) => bytesOf(file, block))
      writeFileSync(this.path(file), Buffer.concat(all))
    }
    this.reader = new BlockReader(this.dir, this.blocks)
    t.teardown(() => this.reader.close())
  }

  path(file: number): string {
    return path.join(this.dir, pagesName(file))
  }

  read(places: readonly { file: number; block: number; crc?: number }[]) {
    const reads = places.map(({ file, block, crc = crc32(bytesOf(file, block)) }): BlockRead => {
      const place = { file, offset: block * blockBytes, bytes: blockBytes, crc }
      return { block, slot: this.blocks.hold(file * 1000 + block), place }
    })
    return new Promise<{ reads: BlockRead[]; results: readonly ReadResult[] }>((resolve) => {
      this.reader.read(reads, (results) => resolve({ reads, results }))
    })
  }
}

t.test('many blocks of two files, several times: their bytes', async (t) => {
  const scene = new Scene(t)
  for (const from of [0, 70, 140]) {
    const wanted = Array.from({ length: 60 }, (_, i) => ({ file: 1 + (i % 2), block: from + i }))
    const { reads, results } = await scene.read(wanted)
    t.ok(results.every(({ kind }) => kind === 'good') && results.length === wanted.length)
    const isRight = reads.every(({ slot, block, place }) => {
      return bytesOf(place.file, block).equals(scene.blocks.bytesOf(slot))
    })
    t.ok(isRight, `from ${from}`)
  }
})

t.test('a wrong crc, a short file, no file: a result for each', async (t) => {
  const scene = new Scene(t)
  truncateSync(scene.path(2), 10 * blockBytes + 5)
  const { results } = await scene.read([
    { file: 1, block: 3 },
    { file: 1, block: 4, crc: 12345 },
    { file: 2, block: 9 },
    { file: 2, block: 10 },
    { file: 2, block: 100 },
    { file: 3, block: 0 },
  ])
  t.same(
    results.map(({ kind }) => kind),
    ['good', 'damaged', 'good', 'damaged', 'damaged', 'gone'],
  )
  t.match(results[1].why, /CRC mismatch/)
  t.match(results[3].why, /too short/)
  t.match(results[5].why, /ENOENT/)
})

t.test('the file is a directory: neither damaged nor gone', async (t) => {
  const scene = new Scene(t)
  rmSync(scene.path(1))
  mkdirSync(scene.path(1))
  const { results } = await scene.read([{ file: 1, block: 0 }])
  t.match(results, [{ kind: 'failed', why: /EISDIR/ }])
})

t.test('closed: the read in progress fails, and so does a later one', async (t) => {
  const scene = new Scene(t)
  const reading = scene.read([{ file: 1, block: 0 }])
  scene.reader.close()
  for (const { results } of [await reading, await scene.read([{ file: 1, block: 1 }])]) {
    t.match(results, [{ kind: 'failed', why: 'the reader is closed' }])
  }
})

t.test('closed before its first read: no thread is started, which would never end', async (t) => {
  const scene = new Scene(t)
  const start = () => t.fail('a thread was started') as never
  const reader = new BlockReader(scene.dir, scene.blocks, start)
  reader.close()
  const place = { file: 1, offset: 0, bytes: blockBytes, crc: 0 }
  const read: BlockRead = { block: 0, slot: scene.blocks.hold(0), place }
  const kinds = await new Promise((resolve) => {
    reader.read([read], (results) => resolve(results.map(({ kind }) => kind)))
  })
  t.same(kinds, ['failed'])
})
