// Finds and loads the native binding of uWebSockets.js: one file for each platform, processor
// architecture and ABI of Node.
//
// B1. The package `uWebSockets.js` is preferred. This project does not depend on it, so it is
//     present only if the operator installed it: upstream's own build, from where upstream
//     publishes it.
// B2. Otherwise the binding comes from the repackaging of upstream's binaries on the npm registry
//     that is for this version of Node, pinned by its integrity in the lock file (SECURITY.md).
// B3. The binding reads the size limit of request heads from the environment while it loads, and
//     never again, so this module sets it first.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type * as Uws from 'uws-pack'
import { isExecutable, loadAddon, ownText } from '../../base/program-files.ts'
import { headBytesMax } from './exchange.ts'

export type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uws-pack'

export interface Binding {
  uws: typeof Uws
  /** The package, its version, and the file that was loaded. */
  name: string
  version: string
  file: string
}

export interface Repackaging {
  name: string
  /** The folder of its bindings, below that of the package. */
  folder: string
  /** The way to the folder of the package from its main module. */
  home: string
  /** `process.versions.modules` of the versions of Node whose bindings are taken from it. */
  abis: readonly string[]
  /** The oldest GNU C library on which its bindings for Linux load. */
  glibcMin: string
}

export const repackagings: readonly Repackaging[] = [
  // Node 20 and 22.
  { name: 'uws-pack', folder: 'dist/bin/', home: '../', abis: ['115', '127'], glibcMin: '2.27' },
  // Node 24.
  {
    name: '@btc-vision/uwebsockets.js',
    folder: '',
    home: './',
    abis: ['137'],
    glibcMin: '2.38',
  },
]

/** Returns the name of a binding's file. */
export function bindingFile(abi: string): string {
  return `uws_${process.platform}_${process.arch}_${abi}.node`
}

/** Returns the version of the GNU C library, or null if Node runs without it. */
export function glibcVersion(): string | null {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime ?? null
}

/** Returns why none of its bindings loads on this machine, or null if they load. */
export function unsuited({ glibcMin }: Repackaging): string | null {
  if (process.platform !== 'linux') return null
  const glibc = glibcVersion()
  if (glibc === null) return `it needs glibc ${glibcMin}, and here is another C library`
  const isOld = glibc.localeCompare(glibcMin, 'en', { numeric: true }) < 0
  return isOld ? `it needs glibc ${glibcMin}, and here is ${glibc}` : null
}

/** Called once for each package whose binding cannot be loaded, and once if there is none. */
type OnUnusable = (name: string, reason: string) => void

const require = createRequire(import.meta.url)

/** Returns the binding for this Node and machine, or null if there is none. */
export function loadBinding(onUnusable: OnUnusable = () => {}): Binding | null {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = `${headBytesMax}`
  try {
    return loadUpstream()
  } catch (error) {
    if (!isAbsent(error, upstream)) onUnusable(upstream, reasonOf(error))
  }
  const packed = repackagings.find(({ abis }) => abis.includes(versions.modules))
  try {
    if (packed !== undefined) return loadPacked(packed)
    onUnusable(upstream, noBinding())
  } catch (error) {
    // The packed program contains a binding for one version of Node, but not the package.
    const { name } = packed!
    const reason = isAbsent(error, name) ? noBinding() : reasonOf(error)
    onUnusable(name, unsuited(packed!) ?? reason)
  }
  return null
}

const upstream = 'uWebSockets.js'
const { platform, arch, versions } = process

function noBinding(): string {
  return `no binding for Node ${versions.node} on ${platform} ${arch}`
}

/** Returns the first line: Node adds the modules that required a file. */
function reasonOf(error: unknown): string {
  return (error as Error).message.split('\n', 1)[0]
}

type Manifest = { name: string; version: string }

/** Releases differ in where the binding is, so upstream's main module loads it. */
function loadUpstream(): Binding {
  const { name, version } = require(`${upstream}/package.json`) as Manifest
  // Two bindings in one process would share variables, so an unusable one must not be loaded.
  if (name !== upstream) throw new Error(`it is ${name}, not upstream's package`)
  if (!isRecent(version)) throw new Error(`${version} is older than ${upstreamMin.join('.')}`)
  const uws = require(upstream) as typeof Uws
  const file = Object.keys(require.cache).find((path) => /uws_[^/\\]*\.node$/.test(path)) ?? ''
  return { uws, name, version, file }
}

/** Earlier releases cannot count connections, or they answer 505 to a split request line. */
const upstreamMin = [20, 51]

function isRecent(version: string): boolean {
  const [major, minor] = version.split('.').map(Number)
  return major > upstreamMin[0] || (major === upstreamMin[0] && minor >= upstreamMin[1])
}

/**
 * Loads the binding's file itself, because the main module of a repackaging is an ES module, which
 * cannot be loaded synchronously. The file is the program's own, or the package's if it has none.
 */
function loadPacked({ name, folder, home }: Repackaging): Binding {
  const binary = folder + bindingFile(versions.modules)
  const own = loadAddon(`${name}/${binary}`)
  if (own !== null) {
    const { version } = JSON.parse(ownText(`${name}/package.json`)) as Manifest
    return { uws: own as typeof Uws, name, version, file: `${name}/${binary}` }
  }
  const top = isExecutable ? null : new URL(home, import.meta.resolve(name))
  const file = top === null ? '' : fileURLToPath(new URL(binary, top))
  if (top === null || !existsSync(file)) throw new Error(noBinding())
  const { version } = JSON.parse(readFileSync(new URL('package.json', top), 'utf8')) as Manifest
  return { uws: require(file) as typeof Uws, name, version, file }
}

/** Returns whether the package is not installed, as opposed to installed but broken. */
function isAbsent(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException
  const isMissing = code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND'
  return isMissing && message.includes(`'${name}`)
}
