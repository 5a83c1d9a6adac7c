// The id of a node among those that share a log: 16 hex characters in the file `node` of its data
// directory, made by the first start that needs it. A copy of the data gets another one.

import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { type Disk, readFully, syncDirectory, writeAll } from '../../wal/disk.ts'
import { codeOf, storageError } from '../../wal/errors.ts'

const pattern = /^[0-9a-f]{16}\n$/
const idBytes = 8

/** The id of the node with the data in `dir`, which is locked. Throws JournalError 74. */
export function loadNodeId({ disk, dir }: { disk: Disk; dir: string }): string {
  const file = path.join(dir, 'node')
  try {
    const text = read(disk, file)
    if (text !== null && pattern.test(text)) return text.trim()
    const id = randomBytes(idBytes).toString('hex')
    write(disk, dir, file, `${id}\n`)
    return id
  } catch (error) {
    throw storageError(`read or make ${file}`, error)
  }
}

function read(disk: Disk, name: string): string | null {
  let file: number
  try {
    file = disk.open(name, 'read')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
  try {
    const bytes = Buffer.alloc(disk.size(file))
    readFully(disk, file, bytes, 0)
    return bytes.toString()
  } finally {
    disk.close(file)
  }
}

function write(disk: Disk, dir: string, name: string, text: string): void {
  if (disk.list(dir).includes(`${path.basename(name)}.tmp`)) disk.remove(`${name}.tmp`)
  const file = disk.open(`${name}.tmp`, 'create')
  try {
    writeAll(disk, file, Buffer.from(text), 0)
    disk.sync(file)
  } finally {
    disk.close(file)
  }
  disk.rename(`${name}.tmp`, name)
  syncDirectory(disk, dir)
}
