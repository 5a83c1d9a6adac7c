// The files that the program starts or reads by their paths, in each of the forms that it has:
//
//   dist/src/          the modules as `tsc` compiles them, which tests import
//   dist/agent-forum/  the bundle, which is installed (build/bundle.ts)
//   one file           the executable, whose assets they are (build/executable.ts)
//
// F1. A path is the same in all forms. It counts from the folder that holds the rooms.
// F2. A process of the program is started here, so that the executable can start itself: its first
//     argument then names the module (cli/executable.ts).

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { getRawAsset, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'
import { Worker } from 'node:worker_threads'

/** The modules that are started by their paths: the entry points of the bundle. */
export const startedModules = {
  command: 'cli/main.js',
  reader: 'node/reader-process.js',
  search: 'search/process.js',
  /** A thread. */
  textReader: 'text/reader-worker.js',
} as const

/** The modules that are processes of their own beside that of the command. */
export type ProcessName = 'reader' | 'search'

/** Before the name of a module, as the first argument of the executable. */
export const processPrefix = 'process:'

/** Whether this is the executable, which is one file. */
export const isExecutable = isSea()

const top = new URL('../', import.meta.url)
const require = createRequire(import.meta.url)

/** Where a file lies. Not for the executable. */
export function urlOf(path: string): URL {
  return new URL(path, top)
}

/** The bytes of a file, or null where this form of the program does not have it. */
function bytesOf(path: string): Buffer | null {
  if (!isExecutable) return existsSync(urlOf(path)) ? readFileSync(urlOf(path)) : null
  try {
    return Buffer.from(getRawAsset(path) as ArrayBuffer)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_SINGLE_EXECUTABLE_APPLICATION_ASSET_NOT_FOUND') return null
    throw error
  }
}

/** The text of a file, or null where this form of the program does not have it. */
export function textOf(path: string): string | null {
  return bytesOf(path)?.toString() ?? null
}

/** The text of a file that every form of the program has. */
export function ownText(path: string): string {
  const text = textOf(path)
  if (text === null) throw new Error(`the program lacks its file ${path}`)
  return text
}

/** The exports of a CommonJS module, which in the executable loads no other; null: it is absent. */
export function loadModule(path: string): unknown {
  if (!isExecutable) return existsSync(urlOf(path)) ? require(fileURLToPath(urlOf(path))) : null
  const text = textOf(path)
  if (text === null) return null
  const module = { exports: {} }
  compileFunction(text, ['module', 'exports'], { filename: path })(module, module.exports)
  return module.exports
}

/** The exports of a native addon, which the executable writes to a file; null: it is absent. */
export function loadAddon(path: string): unknown {
  if (!isExecutable) return existsSync(urlOf(path)) ? require(fileURLToPath(urlOf(path))) : null
  const bytes = bytesOf(path)
  if (bytes === null) return null
  const directory = mkdtempSync(join(tmpdir(), 'agent-forum-'))
  try {
    const file = join(directory, basename(path))
    writeFileSync(file, bytes)
    const module = { exports: {} }
    process.dlopen(module, file)
    return module.exports
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Starts a process of the program, with flags for Node. */
export function startProcess(
  name: ProcessName,
  flags: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  if (!isExecutable) {
    const args = [...flags, fileURLToPath(urlOf(startedModules[name]))]
    return spawn(process.execPath, args, options)
  }
  // Node leaves all arguments of an executable to the program.
  const env = { ...(options.env ?? process.env), NODE_OPTIONS: flags.join(' ') }
  return spawn(process.execPath, [processPrefix + name], { ...options, env })
}

/** Starts a thread of the program. */
export function startThread(workerData: unknown): Worker {
  const path = startedModules.textReader
  if (!isExecutable) return new Worker(urlOf(path), { workerData })
  return new Worker(ownText(path), { workerData, eval: true })
}
