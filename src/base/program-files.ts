// The files that the program starts or reads by their paths, in each form of the program:
//
//   dist/src/          the modules as `tsc` compiles them, which tests import
//   dist/agent-forum/  the bundle, which is installed (build/bundle.ts)
//   one file           the executable, whose assets they are (build/executable.ts)
//
// F1. A path is the same in all forms: it is relative to the folder that holds the rooms.
// F2. Processes of the program are started here only, because the executable has to start itself:
//     its first argument then names the module (cli/executable.ts).

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
  search: 'forum/search/process.js',
  /** A thread, not a process. */
  textReader: 'kernel/text/reader-worker.js',
} as const

/** The modules that run as processes of their own beside that of the command. */
export type ProcessName = 'reader' | 'search'

/** The prefix of a module's name in the first argument of the executable. */
export const processPrefix = 'process:'

/** Whether this is the executable, which is a single file. */
export const isExecutable = isSea()

const top = new URL('../', import.meta.url)
const require = createRequire(import.meta.url)

/** Returns the URL of a file. Not for use in the executable. */
export function urlOf(path: string): URL {
  return new URL(path, top)
}

/** Returns the bytes of a file, or null if this build of the program lacks it. */
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

/** Returns the text of a file, or null if this build of the program lacks it. */
export function textOf(path: string): string | null {
  return bytesOf(path)?.toString() ?? null
}

/** Returns the text of a file that every form of the program has. Throws if it is missing. */
export function ownText(path: string): string {
  const text = textOf(path)
  if (text === null) throw new Error(`the file ${path} of the program is missing`)
  return text
}

/** Returns a CommonJS module's exports, or null. In the executable the module loads no other. */
export function loadModule(path: string): unknown {
  if (!isExecutable) return existsSync(urlOf(path)) ? require(fileURLToPath(urlOf(path))) : null
  const text = textOf(path)
  if (text === null) return null
  const module = { exports: {} }
  compileFunction(text, ['module', 'exports'], { filename: path })(module, module.exports)
  return module.exports
}

/** Returns a native addon's exports, or null. The executable first writes the addon to a file. */
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
  // Node passes all arguments of an executable to the program.
  const env = { ...(options.env ?? process.env), NODE_OPTIONS: flags.join(' ') }
  return spawn(process.execPath, [processPrefix + name], { ...options, env })
}

/** Starts the thread that reads text, with this `workerData`. */
export function startThread(workerData: unknown): Worker {
  const path = startedModules.textReader
  if (!isExecutable) return new Worker(urlOf(path), { workerData })
  return new Worker(ownText(path), { workerData, eval: true })
}
