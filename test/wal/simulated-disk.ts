// A simulated disk in memory that fails, by seed, in the ways in which real disks fail.
//
//   names   kept ◀── synced ── seen     a name that is created, moved or removed is seen at once,
//                                       and kept when its directory is synced
//   bytes   disk ◀── synced ── cache    a written sector is dirty until a sync covers it
//
// Loss of power: each dirty sector has survived, is lost, or has garbage; each change of names and
// sizes that no sync covers has happened or not. Death of the process: the cache stays. After a
// failed sync the cache shows what the disk does not have, and the next sync reports success.
//
// Background operations complete in a later event-loop iteration, or, when `manual`, one by one in
// any order when the test calls `completeOne`. After `losePower` or `dieAlone` the old object must
// not be used: nothing completes any more, and the next process uses the new one.

import path from 'node:path'
import type { Disk, OpenHow } from '../../wal/disk.ts'
import { sectorBytes } from '../../wal/journal/format.ts'
import { Inode, type SyncCopy, seededRandom } from './simulated-inode.ts'

type Change = Map<string, Inode | null>
type Operation = 'create' | 'write' | 'truncate' | 'sync' | 'link' | 'rename' | 'remove'

export class SimulatedDisk implements Disk {
  /** Whether background operations wait for `completeOne`. */
  manual = false
  /** Whether some writes, chosen at random, are short. */
  shortWrites = false
  /** The number of attempts to change something. */
  changesMade = 0
  capacityBytes = Number.POSITIVE_INFINITY
  readonly #random: () => number
  readonly #boot: number
  readonly #life: number
  readonly #seen = new Map<string, Inode>()
  readonly #kept = new Map<string, Inode>()
  #changes: Change[] = []
  readonly #files = new Map<number, Inode>()
  #nextFile = 3
  #pending: (() => void)[] = []
  #syncsBeforeFailure = Number.POSITIVE_INFINITY
  readonly #broken = new Map<Inode, Set<number>>()
  readonly #worn = new Set<Inode>()
  readonly #refused = new Map<Operation, string>()
  #dead = false
  #changesLeft = Number.POSITIVE_INFINITY

  constructor(seed: number, boot = 1, life = 1) {
    this.#random = seededRandom(seed)
    this.#boot = boot
    this.#life = life
    this.#keep('/', new Inode(true))
  }

  // ── Controls for tests ────────────────────────────────────────────────────────────────────────

  /** Cuts the power, and returns the disk as the next boot finds it. */
  losePower(): SimulatedDisk {
    const next = this.#successor(this.#boot + 1)
    const kept = new Map(this.#kept)
    for (const change of this.#changes) {
      if (this.#random() < 0.5) apply(change, kept)
    }
    for (const [name, inode] of kept) next.#keep(name, inode)
    for (const inode of new Set([...kept.values()])) inode.losePower(this.#random)
    return next
  }

  /** Kills the process, and returns the disk as the next process finds it. */
  dieAlone(): SimulatedDisk {
    const next = this.#successor(this.#boot)
    for (const [name, inode] of this.#seen) next.#seen.set(name, inode)
    for (const [name, inode] of this.#kept) next.#kept.set(name, inode)
    next.#changes = this.#changes
    return next
  }

  /** A disk with the same contents, all of them durable. This one stays in use. */
  copy(): SimulatedDisk {
    const copy = new SimulatedDisk(Math.floor(this.#random() * 2 ** 31), this.#boot, this.#life)
    for (const [name, inode] of this.#seen) {
      const same = new Inode(inode.isDirectory)
      same.overwrite(inode.cache)
      copy.#keep(name, same)
    }
    return copy
  }

  get pending(): number {
    return this.#pending.length
  }

  /** Completes one background operation, chosen at random. */
  completeOne(): void {
    this.complete(Math.floor(this.#random() * this.#pending.length))
  }

  /** Completes one background operation; index 0 is the oldest. */
  complete(index: number): void {
    this.#pending.splice(index, 1)[0]?.()
  }

  /** Makes the n-th sync from now on fail, of a file or a directory; later ones succeed. */
  failSync(nth: number): void {
    this.#syncsBeforeFailure = nth - 1
  }

  /** Lets the process change the disk `count` more times; then each attempt fails. */
  freezeAfter(count: number): void {
    this.#changesLeft = count
  }

  /** Makes an operation fail with this code from now on; null ends that. */
  refuse(operation: Operation, code: string | null): void {
    if (code === null) this.#refused.delete(operation)
    else this.#refused.set(operation, code)
  }

  /** Makes the sectors of these bytes unreadable until they are written completely. */
  breakSectors(name: string, from: number, to: number): void {
    const inode = this.#find(name)
    const broken = this.#broken.get(inode) ?? new Set()
    for (let at = Math.floor(from / sectorBytes); at * sectorBytes < to; at++) broken.add(at)
    this.#broken.set(inode, broken)
  }

  /** Makes each write to the file fail from now on. */
  wearOut(name: string): void {
    this.#worn.add(this.#find(name))
  }

  bytesOf(name: string): Buffer {
    return this.#find(name).cache
  }

  overwrite(name: string, bytes: Buffer): void {
    const inode = this.#seen.get(name) ?? new Inode(false)
    inode.overwrite(bytes)
    this.#keep(name, inode)
  }

  erase(name: string): void {
    this.#seen.delete(name)
    this.#kept.delete(name)
  }

  /** The contents of all files, by name. */
  contents(): Map<string, Buffer> {
    const files = [...this.#seen].filter(([, inode]) => !inode.isDirectory)
    return new Map(files.map(([name, inode]) => [name, Buffer.from(inode.cache)]))
  }

  /** Does work of another thread on the disk in the background, as a background operation. */
  later(work: () => void): void {
    this.#later(work, (error) => {
      if (error !== null) throw error
    })
  }

  // ── The interface Disk ────────────────────────────────────────────────────────────────────────

  makeDirectory(name: string): void {
    this.#alive()
    if (!this.#seen.has(name)) this.#change(new Map([[name, new Inode(true)]]))
  }

  list(name: string): string[] {
    this.#alive()
    return [...this.#seen.keys()]
      .filter((other) => path.dirname(other) === name && other !== name)
      .map((other) => path.basename(other))
  }

  open(name: string, how: OpenHow): number {
    this.#alive()
    if (how === 'create') {
      this.#check('create')
      if (this.#seen.has(name)) throw failure('EEXIST', name)
      this.#change(new Map([[name, new Inode(false)]]))
    }
    const file = this.#nextFile++
    this.#files.set(file, name.startsWith('/proc/') ? this.#proc(name) : this.#find(name))
    return file
  }

  close(file: number): void {
    if (!this.#files.delete(file)) throw failure('EBADF', 'close')
  }

  size(file: number): number {
    return this.#inode(file).cache.length
  }

  read(file: number, into: Uint8Array, at: number): number {
    const inode = this.#inode(file)
    const bytes = inode.cache.subarray(at, at + into.length)
    for (const sector of this.#broken.get(inode) ?? []) {
      const from = sector * sectorBytes
      if (from < at + bytes.length && from + sectorBytes > at) throw failure('EIO', 'read')
    }
    into.set(bytes)
    return bytes.length
  }

  write(file: number, bytes: Uint8Array, at: number): number {
    const inode = this.#inode(file)
    this.#check('write')
    if (this.#worn.has(inode)) throw failure('EIO', 'write')
    let count = this.shortWrites ? Math.ceil(this.#random() * bytes.length) : bytes.length
    const grown = Math.max(0, at + count - inode.cache.length)
    const room = Math.max(0, this.capacityBytes - this.#usedBytes())
    if (grown > room) count -= grown - room
    if (count <= 0) throw failure('ENOSPC', 'write')
    for (const sector of this.#broken.get(inode) ?? []) {
      const from = sector * sectorBytes
      const to = Math.min(from + sectorBytes, inode.cache.length)
      if (from >= at && to <= at + count) this.#broken.get(inode)!.delete(sector)
      else if (from < at + count && to > at) throw failure('EIO', 'write')
    }
    inode.write(bytes.subarray(0, count), at)
    return count
  }

  truncate(file: number, size: number): void {
    this.#check('truncate')
    this.#inode(file).resize(size)
  }

  sync(file: number): void {
    const inode = this.#inode(file)
    this.#finishSync(inode, inode.copyForSync(), this.#changes.at(-1))
  }

  rename(from: string, to: string): void {
    this.#check('rename')
    const inode = this.#find(from)
    const change: Change = new Map([[to, inode]])
    if (this.#seen.get(to) !== inode) change.set(from, null)
    this.#change(change)
  }

  link(existing: string, name: string): void {
    this.#check('link')
    if (this.#seen.has(name)) throw failure('EEXIST', name)
    this.#change(new Map([[name, this.#find(existing)]]))
  }

  remove(name: string): void {
    this.#check('remove')
    this.#find(name)
    this.#change(new Map([[name, null]]))
  }

  readLink(name: string): string {
    this.#alive()
    const links = new Map([
      ['/proc/self', `${process.pid}`],
      ['/proc/self/ns/pid', 'pid:[1]'],
    ])
    const target = links.get(name)
    if (target === undefined) throw failure('ENOENT', name)
    return target
  }

  showLife(): () => void {
    return () => {}
  }

  hasLife(): Promise<boolean | null> {
    return Promise.resolve(null)
  }

  readLater(
    file: number,
    into: Uint8Array,
    at: number,
    done: (error: Error | null, read: number) => void,
  ): void {
    this.#later(() => this.read(file, into, at), done)
  }

  writeLater(
    file: number,
    bytes: Uint8Array,
    at: number,
    done: (error: Error | null, written: number) => void,
  ): void {
    this.#later(() => this.write(file, bytes, at), done)
  }

  removeLater(name: string, done: (error: Error | null) => void): void {
    this.#later(() => this.remove(name), done)
  }

  syncLater(file: number, done: (error: Error | null) => void): void {
    if (this.#dead) return
    const inode = this.#inode(file)
    const copy = inode.copyForSync()
    const change = this.#changes.at(-1)
    this.#later(() => {
      this.#inode(file)
      this.#finishSync(inode, copy, change)
    }, done)
  }

  dataSyncLater(file: number, done: (error: Error | null) => void): void {
    this.syncLater(file, done)
  }

  // ── Implementation ────────────────────────────────────────────────────────────────────────────

  #successor(boot: number): SimulatedDisk {
    this.#dead = true
    this.#pending = []
    return new SimulatedDisk(Math.floor(this.#random() * 2 ** 31), boot, this.#life + 1)
  }

  #later<T>(work: () => T, done: (error: Error | null, result: T) => void): void {
    if (this.#dead) return
    const complete = () => {
      if (this.#dead) return
      let result: T
      try {
        result = work()
      } catch (error) {
        done(error as Error, undefined as T)
        return
      }
      done(null, result)
    }
    this.#pending.push(complete)
    if (!this.manual) setImmediate(() => this.complete(this.#pending.indexOf(complete)))
  }

  // The sync of a directory keeps the names that were seen when it started. These tests use one
  // directory, so it keeps all names.
  #finishSync(inode: Inode, copy: SyncCopy, last: Change | undefined): void {
    this.#check('sync')
    if (this.#syncsBeforeFailure-- === 0) {
      inode.storeSome(copy, this.#random)
      throw failure('EIO', 'sync')
    }
    if (!inode.isDirectory) {
      inode.store(copy)
      return
    }
    const count = last === undefined ? 0 : this.#changes.indexOf(last) + 1
    for (const change of this.#changes.splice(0, count)) apply(change, this.#kept)
  }

  #change(change: Change): void {
    apply(change, this.#seen)
    this.#changes.push(change)
  }

  #keep(name: string, inode: Inode): void {
    this.#seen.set(name, inode)
    this.#kept.set(name, inode)
  }

  #proc(name: string): Inode {
    const inode = new Inode(false)
    const fields = `(node) S ${'0 '.repeat(18)}${this.#life} 0`
    if (name.endsWith('boot_id')) inode.cache = Buffer.from(`boot-${this.#boot}\n`)
    else if (name === `/proc/${process.pid}/stat`) {
      inode.cache = Buffer.from(`${process.pid} ${fields}`)
    } else throw failure('ENOENT', name)
    return inode
  }

  #find(name: string): Inode {
    const inode = this.#seen.get(name)
    if (inode === undefined) throw failure('ENOENT', name)
    return inode
  }

  #inode(file: number): Inode {
    this.#alive()
    const inode = this.#files.get(file)
    if (inode === undefined) throw failure('EBADF', String(file))
    return inode
  }

  #usedBytes(): number {
    let used = 0
    for (const inode of new Set(this.#seen.values())) used += inode.cache.length
    return used
  }

  #alive(): void {
    if (this.#dead) throw failure('ESHUTDOWN', 'this process is gone')
  }

  #check(operation: Operation): void {
    this.#alive()
    this.changesMade++
    if (this.#changesLeft-- <= 0) throw failure('ESHUTDOWN', 'this process is frozen')
    const code = this.#refused.get(operation)
    if (code !== undefined) throw failure(code, operation)
  }
}

function apply(change: Change, names: Map<string, Inode>): void {
  for (const [name, inode] of change) {
    if (inode === null) names.delete(name)
    else names.set(name, inode)
  }
}

function failure(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code })
}
