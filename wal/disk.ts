// The journal's only access to a file system, life signs included, small enough for a test to
// simulate in memory; and operations that use only its calls: whole reads and writes, and atomic
// replacement of a file. Calls that end in `Later` run in the background and call `done` once,
// never before they return; all others block, and throw the system's error (`error.code`).
//
//   a file is replaced   write FILE.tmp ─▶ sync ─▶ rename to FILE ─▶ sync the directory
//
// F1. A crash at any step leaves the old file (or none) or the new one, and at most a FILE.tmp.
// F2. A replacement that has returned survives a loss of power.
//
// Files that need more have their own steps, and say why: segments, which stay open under their new
// name (journal/prepare-tail.ts, journal/segments.ts), several files that become visible together
// (tools/repair.ts, tools/put-aside.ts), and the lock, which is linked (journal/lock.ts).

import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { codeOf } from './errors.ts'

/** `create` fails with EEXIST when the path exists; `read` opens directories as well. */
export type OpenHow = 'read' | 'write' | 'create'

export interface Disk {
  /** Creates one level, mode 0700; not an error when the directory exists. */
  makeDirectory(path: string): void
  /** The names in a directory, except those of its subdirectories. */
  list(path: string): string[]
  open(path: string, how: OpenHow): number
  close(file: number): void
  size(file: number): number
  /** Fills `into` from byte `at` of the file. Returns the bytes read: fewer at the end, or 0. */
  read(file: number, into: Uint8Array, at: number): number
  /** Returns the bytes written, which may be fewer than requested, as on a full disk. */
  write(file: number, bytes: Uint8Array, at: number): number
  truncate(file: number, size: number): void
  /** Makes a file's content and size durable, or the names in a directory. */
  sync(file: number): void
  rename(from: string, to: string): void
  /** Gives a file a second name; fails with EEXIST when the name is taken. */
  link(existing: string, path: string): void
  remove(path: string): void
  readLink(path: string): string
  /** The two halves of a life sign, `showLife` and `hasLife` below. */
  showLife(path: string): () => void
  hasLife(path: string): Promise<boolean | null>

  /** As `read`. `into` must not be accessed before `done` is called. */
  readLater(
    file: number,
    into: Uint8Array,
    at: number,
    done: (error: Error | null, read: number) => void,
  ): void
  writeLater(
    file: number,
    bytes: Uint8Array,
    at: number,
    done: (error: Error | null, written: number) => void,
  ): void
  /** As `remove`, in the background, because freeing a large file may take long. */
  removeLater(path: string, done: (error: Error | null) => void): void
  syncLater(file: number, done: (error: Error | null) => void): void
  /** Makes everything written before the call durable. The hot path. */
  dataSyncLater(file: number, done: (error: Error | null) => void): void
}

const flags = { read: 'r', write: 'r+', create: 'wx+' }

export const realDisk: Disk = {
  makeDirectory(path) {
    try {
      fs.mkdirSync(path, { mode: 0o700 })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  },
  list(path) {
    const entries = fs.readdirSync(path, { withFileTypes: true })
    return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)
  },
  open: (path, how) => fs.openSync(path, flags[how], 0o600),
  close: (file) => fs.closeSync(file),
  size: (file) => fs.fstatSync(file).size,
  read: (file, into, at) => fs.readSync(file, into, 0, into.length, at),
  write: (file, bytes, at) => fs.writeSync(file, bytes, 0, bytes.length, at),
  truncate: (file, size) => fs.ftruncateSync(file, size),
  sync: (file) => fs.fsyncSync(file),
  rename: (from, to) => fs.renameSync(from, to),
  link: (existing, path) => fs.linkSync(existing, path),
  remove: (path) => fs.unlinkSync(path),
  readLink: (path) => fs.readlinkSync(path),
  showLife,
  hasLife,
  readLater: (file, into, at, done) => fs.read(file, into, 0, into.length, at, done),
  writeLater: (file, bytes, at, done) => fs.write(file, bytes, 0, bytes.length, at, done),
  removeLater: (path, done) => fs.unlink(path, done),
  syncLater: (file, done) => fs.fsync(file, done),
  dataSyncLater: (file, done) => fs.fdatasync(file, done),
}

/** Writes all of `bytes`, in several writes if some of them are short. */
export function writeAll(disk: Disk, file: number, bytes: Uint8Array, at: number): void {
  let written = 0
  while (written < bytes.length) {
    const count = disk.write(file, bytes.subarray(written), at + written)
    if (count === 0) throw noSpace()
    written += count
  }
}

/** Reads until `into` is full or the file ends; returns the bytes read. */
export function readFully(disk: Disk, file: number, into: Uint8Array, at: number): number {
  let read = 0
  while (read < into.length) {
    const count = disk.read(file, into.subarray(read), at + read)
    if (count === 0) break
    read += count
  }
  return read
}

/**
 * Returns the content of a file, or its first `bytesMax` bytes, which a file of /proc needs: its
 * size is 0.
 */
export function readFile(disk: Disk, name: string, bytesMax?: number): Buffer {
  const file = disk.open(name, 'read')
  try {
    const bytes = Buffer.alloc(bytesMax ?? disk.size(file))
    return bytes.subarray(0, readFully(disk, file, bytes, 0))
  } finally {
    disk.close(file)
  }
}

/** As `readFile`, for a text; null if there is no such file. */
export function readText(disk: Disk, name: string, bytesMax?: number): string | null {
  try {
    return readFile(disk, name, bytesMax).toString()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** Makes the creation, renaming and removal of names in `dir` durable. */
export function syncDirectory(disk: Disk, dir: string): void {
  const file = disk.open(dir, 'read')
  try {
    disk.sync(file)
  } finally {
    disk.close(file)
  }
}

/** As `writeAll`, in the background. */
export async function writeAllLater(
  disk: Disk,
  file: number,
  bytes: Uint8Array,
  at: number,
): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const rest = bytes.subarray(done)
    const count = await new Promise<number>((resolve, reject) => {
      disk.writeLater(file, rest, at + done, (error, written) =>
        error ? reject(error) : resolve(written),
      )
    })
    if (count === 0) throw noSpace()
    done += count
  }
}

/** As `readFully`, in the background. */
export async function readFullyLater(
  disk: Disk,
  file: number,
  into: Uint8Array,
  at: number,
): Promise<number> {
  let done = 0
  while (done < into.length) {
    const rest = into.subarray(done)
    const count = await new Promise<number>((resolve, reject) => {
      disk.readLater(file, rest, at + done, (error, read) =>
        error ? reject(error) : resolve(read),
      )
    })
    if (count === 0) break
    done += count
  }
  return done
}

export function removeLater(disk: Disk, path: string): Promise<void> {
  return settled((done) => disk.removeLater(path, done))
}

/** As `syncDirectory`, in the background. */
export async function syncDirectoryLater(disk: Disk, dir: string): Promise<void> {
  const file = disk.open(dir, 'read')
  try {
    await settled((done) => disk.syncLater(file, done))
  } finally {
    disk.close(file)
  }
}

/** Turns a call that ends in `Later` into a promise. */
export function settled(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()))
  })
}

// A full disk may show itself by a write of zero bytes without an error.
function noSpace(): Error {
  return Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
}

// A life sign: a socket in the file system on which a process listens while it lives. The kernel
// closes it with the process, and any process of the same machine can connect to it, whatever its
// PID or network namespace. Two containers that share a volume detect each other in this way.

/** The longest path of a socket's address, without the terminating zero. */
const pathBytesMax = 107

/**
 * Listens on `path` until the process ends or calls the returned function. There is no life sign if
 * the path is too long or the file system does not support sockets.
 */
function showLife(path: string): () => void {
  if (Buffer.byteLength(path) > pathBytesMax) return () => {}
  const server = net.createServer((connection) => connection.destroy())
  server.on('error', () => {})
  server.listen(path).unref()
  return () => server.close()
}

/**
 * Whether a process that called `showLife(path)` on this machine lives; null when that is unknown,
 * because there is no socket or connecting to it is not permitted.
 */
function hasLife(path: string): Promise<boolean | null> {
  if (Buffer.byteLength(path) > pathBytesMax) return Promise.resolve(null)
  return new Promise((resolve) => {
    const socket = net.connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error) => {
      const code = codeOf(error)
      // EAGAIN: the listener's queue is full, as that of a stopped process may be.
      resolve(code === 'ECONNREFUSED' ? false : code === 'EAGAIN' ? true : null)
    })
  })
}

/** Replaces a file by one that `write` fills. A FILE.tmp that a crash left is removed first. */
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

/**
 * As `replaceFile`, in the background; a FILE.tmp must not exist. Resolves to the result of
 * `write`.
 */
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
