// Finds and loads the native binding of uWebSockets.js: one file for each platform, processor
// architecture and ABI of Node.
//
// B1. The package `uWebSockets.js` is preferred. This project does not depend on it, so it is
//     present only if the operator installed it: upstream's own build, from where upstream
//     publishes it.
// B2. Otherwise `uws-pack` is used, a repackaging of upstream's binaries on the npm registry, which
//     is pinned by its integrity in the lock file (SECURITY.md).
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

/** Called if a package has no binding that loads here, unless it is upstream's and is absent. */
type OnUnusable = (name: string, reason: string) => void

const require = createRequire(import.meta.url)

/** Returns the binding for this Node and machine, or null if there is none. */
export function loadBinding(onUnusable: OnUnusable = () => {}): Binding | null {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = `${headBytesMax}`
  for (const [name, load] of [
    ['uWebSockets.js', loadUpstream],
    ['uws-pack', loadPacked],
  ] as const) {
    try {
      return { name, ...load(name) }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (!isAbsent(code, message, name)) onUnusable(name, message.split('\n', 1)[0])
      // The packed program contains the bindings for some machines, but not the package.
      else if (name === 'uws-pack') onUnusable(name, noBinding)
    }
  }
  return null
}

const { platform, arch, versions } = process
const noBinding = `no binding for Node ${versions.node}, ${platform} ${arch}`

type Loaded = Omit<Binding, 'name'>
type Manifest = { name: string; version: string }

/** Releases differ in where the binding is, so upstream's main module loads it. */
function loadUpstream(name: string): Loaded {
  const { name: realName, version } = require(`${name}/package.json`) as Manifest
  // Two bindings in one process would share variables, so an unusable one must not be loaded.
  if (realName !== name) throw new Error(`it is ${realName}, not upstream's package`)
  if (!isRecent(version)) throw new Error(`${version} is older than ${upstreamMin.join('.')}`)
  const uws = require(name) as typeof Uws
  const file = Object.keys(require.cache).find((path) => /uws_[^/\\]*\.node$/.test(path)) ?? ''
  return { uws, version, file }
}

/** Earlier releases cannot count connections, or they answer 505 to a split request line. */
const upstreamMin = [20, 51]

function isRecent(version: string): boolean {
  const [major, minor] = version.split('.').map(Number)
  return major > upstreamMin[0] || (major === upstreamMin[0] && minor >= upstreamMin[1])
}

/**
 * Loads the binding's file itself, because the main module of the package is an ES module, which
 * cannot be loaded synchronously. The file is the program's own, or the package's if it has none.
 */
function loadPacked(name: string): Loaded {
  const binary = `dist/bin/uws_${platform}_${arch}_${versions.modules}.node`
  const own = loadAddon(`${name}/${binary}`)
  if (own !== null) {
    const { version } = JSON.parse(ownText(`${name}/package.json`)) as Manifest
    return { uws: own as typeof Uws, version, file: `${name}/${binary}` }
  }
  const home = isExecutable ? null : new URL('../', import.meta.resolve(name))
  const file = home === null ? '' : fileURLToPath(new URL(binary, home))
  if (home === null || !existsSync(file)) {
    throw new Error(noBinding)
  }
  const { version } = JSON.parse(readFileSync(new URL('package.json', home), 'utf8')) as Manifest
  return { uws: require(file) as typeof Uws, version, file }
}

/** Returns whether the package is not installed, as opposed to installed but broken. */
function isAbsent(code: string | undefined, message: string, name: string): boolean {
  const isMissing = code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND'
  return isMissing && message.includes(`'${name}`)
}
