// Replaces a file atomically: it has its name only with all of its content, durably.
//
//   write FILE.tmp ─▶ sync ─▶ rename to FILE ─▶ sync the directory
//
// F1. A crash at any step leaves the old file (or none) or the new one, and at most a FILE.tmp.
// F2. What has returned has survived a loss of power.
//
// Files that need more have their own steps, and say why: segments, which stay open under their new
// name (journal/settle.ts, journal/segments.ts), several files that become visible together
// (tools/repair.ts, tools/put-aside.ts), and the lock, which is linked (journal/lock.ts).

import path from 'node:path'
import { type Disk, settled, syncDirectory, syncDirectoryLater, writeAll } from './disk.ts'

/** What a crash left as FILE.tmp is removed first. */
export function replaceFile(disk: Disk, target: string, write: (file: number) => void): void {
  const [dir, temporary] = [path.dirname(target), `${target}.tmp`]
  if (disk.list(dir).includes(path.basename(temporary))) disk.remove(temporary)
  const file = disk.open(temporary, 'create')
  try {
    write(file)
    disk.sync(file)
  } finally {
    disk.close(file)
  }
  disk.rename(temporary, target)
  syncDirectory(disk, dir)
}

export function replaceText(disk: Disk, target: string, text: string): void {
  replaceFile(disk, target, (file) => writeAll(disk, file, Buffer.from(text), 0))
}

/** As `replaceFile`, in the background, where no FILE.tmp is left. Resolves to that of `write`. */
export async function replaceFileLater<T>(
  disk: Disk,
  target: string,
  write: (file: number) => Promise<T>,
): Promise<T> {
  const file = disk.open(`${target}.tmp`, 'create')
  let result: T
  try {
    result = await write(file)
    await settled((done) => disk.syncLater(file, done))
  } finally {
    disk.close(file)
  }
  disk.rename(`${target}.tmp`, target)
  await syncDirectoryLater(disk, path.dirname(target))
  return result
}
