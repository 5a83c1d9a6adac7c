// Damages a file of a running node by flipping one bit of it on disk.

import { closeSync, openSync, readSync, writeSync } from 'node:fs'

/** Changes the byte at this offset in place, so that the file is never shorter in the meantime. */
export function flip(path: string, at: number): void {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, at)
  byte[0]! ^= 1
  writeSync(file, byte, 0, 1, at)
  closeSync(file)
}
