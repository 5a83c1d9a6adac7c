// The parity of files of any length (wal/checkpoint/parity.ts, P1 and P2), tested without
// checkpoints.

import { randomFillSync } from 'node:crypto'
import t, { type Test } from 'tap'
import {
  blockBytes,
  ParityBuilder,
  parityFileBytes,
  pieceBytes,
} from '../../wal/checkpoint/parity.ts'
import { Sidecar } from '../../wal/checkpoint/sidecar.ts'
import { dir } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

/** Makes a file of random pages with its parity, on a new disk. */
async function protectedFile(bytes: number): Promise<{ disk: SimulatedDisk; content: Buffer }> {
  const disk = new SimulatedDisk(1)
  disk.makeDirectory(dir)
  const content = randomFillSync(Buffer.alloc(bytes))
  const parity = Buffer.alloc(parityFileBytes(bytes))
  const write = async (piece: Buffer, at: number) => void piece.copy(parity, at)
  const builder = new ParityBuilder({ storeId: 'ab'.repeat(16), number: 7 }, write, () => null)
  for (let at = 0; at < bytes; at += pieceBytes) {
    const piece = Buffer.from(new ArrayBuffer(pieceBytes)).fill(0xff)
    await builder.add(piece, content.copy(piece, 0, at))
  }
  await builder.finish()
  disk.overwrite(`${dir}/0000000007.pages`, Buffer.from(content))
  disk.overwrite(`${dir}/0000000007.parity`, parity)
  return { disk, content }
}

async function rebuilds(t: Test, bytes: number): Promise<void> {
  const { disk, content } = await protectedFile(bytes)
  const name = `${dir}/0000000007.pages`
  const file = { storeId: 'ab'.repeat(16), number: 7, bytes }
  const lengths = [1, blockBytes, 3 * blockBytes, pieceBytes]
  for (const length of lengths.filter((length) => length <= bytes)) {
    for (const place of [0, 0.3, 0.77, 1]) {
      const at = Math.floor(((bytes - length) * place) / blockBytes) * blockBytes
      randomFillSync(disk.bytesOf(name), at, length)
      const sidecar = (await Sidecar.open({ disk, dir }, file))!
      const rebuilt = await sidecar.rebuild(at, length)
      sidecar.close()
      const wanted = content.subarray(at, at + rebuilt!.bytes.length)
      if (!rebuilt!.bytes.equals(wanted)) t.fail(`${length} bytes at ${at} of ${bytes}`)
      content.copy(disk.bytesOf(name), at, at, at + length)
    }
  }
  t.pass(`${bytes} bytes`)
}

t.test('P1 P2: files of any length: any page of up to a MiB is rebuilt', async (t) => {
  const mib = pieceBytes
  for (const bytes of [1, 4095, 4096, 4097, mib - 1, mib, mib + 1, 3 * mib + 5000]) {
    await rebuilds(t, bytes)
  }
  await rebuilds(t, 16 * mib)
  await rebuilds(t, 33 * mib + 4097)
})

t.test('P1: blocks damaged in every column, one in each: all are rebuilt', async (t) => {
  const bytes = 5 * pieceBytes
  const { disk, content } = await protectedFile(bytes)
  const damaged = disk.bytesOf(`${dir}/0000000007.pages`)
  for (let column = 0; column < pieceBytes / blockBytes; column++) {
    damaged[(column % 5) * pieceBytes + column * blockBytes]! ^= 1
  }
  const file = { storeId: 'ab'.repeat(16), number: 7, bytes }
  const sidecar = (await Sidecar.open({ disk, dir }, file))!
  t.ok((await sidecar.rebuild(0, bytes))!.bytes.equals(content))
  damaged[blockBytes]! ^= 1
  damaged[3 * pieceBytes + blockBytes]! ^= 1
  t.equal(await sidecar.rebuild(0, bytes), null, 'two in one column')
  sidecar.close()
})
