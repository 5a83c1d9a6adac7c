// The real disk, on which the process kills itself before or after the n-th step of one kind.
//
//   kind      an operation and its object: "write segment", "sync directory", "rename spare"
//   before    the step has not begun
//   after     the step is done, but its result has not been reported to anyone
//
// SIGKILL does not pass through the event loop, so no code of the process runs after it.

import path from 'node:path'
import { type Disk, realDisk } from '../../wal/disk.ts'

export interface CrashPoint {
  when: 'before' | 'after'
  kind: string
  nth: number
}

/** The class of a file, by its name. */
const classes: [RegExp, string][] = [
  [/^\d{10}\.wal$/, 'segment'],
  [/^\d{10}\.wal\.tmp$/, 'spare'],
  [/\.torn/, 'torn'],
  [/^lock/, 'lock'],
  [/\.pages/, 'pages'],
  [/\.parity/, 'parity'],
  [/\.checkpoint/, 'manifest'],
]

type Done = (error: Error | null, count?: number) => void

export class Crash {
  /** The number of steps of each kind that have begun. */
  readonly steps = new Map<string, number>()
  readonly #point: CrashPoint | null

  constructor(point: CrashPoint | null) {
    this.#point = point
  }

  /** Performs a step, and kills the process before or after it if it is the crash point. */
  around<T>(kind: string, step: () => T): T {
    const isAfter = this.begin(kind)
    const result = step()
    if (isAfter) die()
    return result
  }

  /** Counts a step that begins. Returns true if the process must die once the step is done. */
  begin(kind: string): boolean {
    const nth = (this.steps.get(kind) ?? 0) + 1
    this.steps.set(kind, nth)
    const isIt = this.#point?.kind === kind && this.#point.nth === nth
    if (isIt && this.#point.when === 'before') die()
    return isIt
  }
}

/** Kills the process. Nothing runs after this, in any thread. */
function die(): never {
  process.kill(process.pid, 'SIGKILL')
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

export function crashingDisk(crash: Crash): Disk {
  const paths = new Map<number, string>()
  const of = (file: number) => classOf(paths.get(file)!)
  const later = (kind: string, start: (done: Done) => void, done: Done) => {
    const isAfter = crash.begin(kind)
    start((error, count) => {
      if (isAfter) die()
      done(error, count)
    })
  }
  return {
    ...realDisk,
    open(name, how) {
      const open = () => realDisk.open(name, how)
      const file = how === 'create' ? crash.around(`create ${classOf(name)}`, open) : open()
      paths.set(file, name)
      return file
    },
    write: (file, bytes, at) =>
      crash.around(`write ${of(file)}`, () => realDisk.write(file, bytes, at)),
    truncate: (file, size) =>
      crash.around(`truncate ${of(file)}`, () => realDisk.truncate(file, size)),
    sync: (file) => crash.around(`sync ${of(file)}`, () => realDisk.sync(file)),
    rename(from, to) {
      crash.around(`rename ${classOf(from)}`, () => realDisk.rename(from, to))
      for (const [file, name] of paths) if (name === from) paths.set(file, to)
    },
    link: (existing, name) =>
      crash.around(`link ${classOf(name)}`, () => realDisk.link(existing, name)),
    remove: (name) => crash.around(`remove ${classOf(name)}`, () => realDisk.remove(name)),
    writeLater: (file, bytes, at, done) =>
      later(
        `write ${of(file)}`,
        (then) => realDisk.writeLater(file, bytes, at, then as never),
        done as Done,
      ),
    removeLater: (name, done) =>
      later(`remove ${classOf(name)}`, (then) => realDisk.removeLater(name, then), done),
    syncLater: (file, done) =>
      later(`sync ${of(file)}`, (then) => realDisk.syncLater(file, then), done),
    dataSyncLater: (file, done) =>
      later(`sync ${of(file)}`, (then) => realDisk.dataSyncLater(file, then), done),
  }
}

function classOf(name: string): string {
  const base = path.basename(name)
  return classes.find(([pattern]) => pattern.test(base))?.[1] ?? 'directory'
}
