// The id of a node among those that share a log: 16 hex characters in the file `node` of its data
// directory, made by the first start that needs it. A copy of the data gets another one.

import { randomBytes } from 'node:crypto'
import path from 'node:path'
import type { CheckpointDirectory } from '../../wal/checkpoint/checkpoint-files.ts'
import { readText } from '../../wal/disk.ts'
import { storageError } from '../../wal/errors.ts'
import { replaceText } from '../../wal/replace-file.ts'

const pattern = /^[0-9a-f]{16}\n$/
const idBytes = 8

/** The id of the node with the data in `dir`, which is locked. Throws JournalError 74. */
export function loadNodeId({ disk, dir }: CheckpointDirectory): string {
  const file = path.join(dir, 'node')
  try {
    const text = readText(disk, file)
    if (text !== null && pattern.test(text)) return text.trim()
    const id = randomBytes(idBytes).toString('hex')
    replaceText(disk, file, `${id}\n`)
    return id
  } catch (error) {
    throw storageError(`read or make ${file}`, error)
  }
}
