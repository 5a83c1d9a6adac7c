// The package from which the native binding of uWebSockets.js is loaded. Each test lays out an
// installation: the compiled loader, and the packages beside it.

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { bindingFile, loadBinding, repackagings } from '../../../src/edge/http/uws-binding.ts'

/** The package for this version of Node, with its folder. */
const packed = repackagings.find(({ abis }) => abis.includes(process.versions.modules))
const name = packed?.name ?? 'uWebSockets.js'
const home = join(import.meta.dirname, '../../../../node_modules', name)
/** Whether its binding loads on this machine. */
const hasPacked = loadBinding() !== null

const program = `
  const { loadBinding } = await import('./edge/http/uws-binding.js')
  const unusable = []
  const binding = loadBinding((name, reason) => unusable.push([name, reason]))
  const { name, version, file } = binding ?? {}
  console.log(JSON.stringify({ name, version, file, unusable }))
`

interface Outcome {
  name?: string
  version?: string
  file?: string
  unusable: [name: string, reason: string][]
}

interface Package {
  name?: string
  version?: string
  /** The source of the package's main module, in CommonJS. */
  main?: string
}

const binary = bindingFile(process.versions.modules)
const loadsBinary = `module.exports = require('./${binary}')`

interface Installation {
  upstream?: Package
  isPacked?: boolean
  /** Runs before the program. */
  before?: string
}

/** Returns the outcome of loading the binding with these packages installed. */
function load(t: Test, { upstream, isPacked = true, before = '' }: Installation): Outcome {
  const place = mkdtempSync(join(tmpdir(), 'agent-forum-binding-'))
  t.teardown(() => rmSync(place, { recursive: true, force: true }))
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(place, path)), { recursive: true })
    writeFileSync(join(place, path), text)
  }
  put('package.json', '{"type":"module"}')
  for (const folder of ['base', 'edge/http', 'node_modules']) {
    mkdirSync(join(place, folder), { recursive: true })
  }
  for (const file of [
    'base/program-files.js',
    'edge/http/uws-binding.js',
    'edge/http/exchange.js',
  ]) {
    const compiled = fileURLToPath(new URL(`../../../src/${file}`, import.meta.url))
    copyFileSync(compiled, join(place, file))
  }
  if (isPacked && packed !== undefined) {
    mkdirSync(dirname(join(place, 'node_modules', name)), { recursive: true })
    symlinkSync(home, join(place, 'node_modules', name))
  }
  if (upstream !== undefined) {
    const { name = 'uWebSockets.js', version = '20.51.0', main = loadsBinary } = upstream
    const manifest = JSON.stringify({ name, version, main: 'uws.js' })
    put('node_modules/uWebSockets.js/package.json', manifest)
    put('node_modules/uWebSockets.js/uws.js', main)
    if (hasPacked) {
      const to = join(place, 'node_modules/uWebSockets.js', binary)
      copyFileSync(join(home, packed!.folder, binary), to)
    }
  }
  const flags = ['--input-type=module', '--eval', before + program]
  const output = execFileSync(process.execPath, flags, { cwd: place, encoding: 'utf8' })
  return JSON.parse(output) as Outcome
}

/** Checks that the packed binding was loaded after these packages had been skipped. */
function fromPacked(t: Test, outcome: Outcome, passedBy: [name: string, reason: RegExp][]): void {
  const none: [string, RegExp] = [name, /^(?:no binding for Node \d+|it needs glibc)/]
  t.equal(outcome.name, hasPacked ? name : undefined)
  t.match(outcome.unusable, hasPacked ? passedBy : [...passedBy, none])
  t.equal(outcome.unusable.length, passedBy.length + (hasPacked ? 0 : 1))
}

t.test(
  'binding: nothing else is installed: from the package for this Node, with version and file',
  (t) => {
    const outcome = load(t, {})
    fromPacked(t, outcome, [])
    if (hasPacked) t.match(outcome, { version: /^20\./, file: join(name, packed!.folder, binary) })
    t.end()
  },
)

t.test("binding: upstream's package is installed: preferred", (t) => {
  const main = hasPacked ? loadsBinary : 'module.exports = {}'
  const outcome = load(t, { upstream: { version: '20.61.0', main } })
  t.match(outcome, { name: 'uWebSockets.js', version: '20.61.0', unusable: [] })
  if (hasPacked) t.match(outcome.file, join('uWebSockets.js', binary))
  t.end()
})

t.test("binding: upstream's package has none for this Node: reported and skipped", (t) => {
  const main = "throw new Error('This version supports only Node.js 18\\n\\nError: no file')"
  const outcome = load(t, { upstream: { main } })
  fromPacked(t, outcome, [['uWebSockets.js', /^This version supports only Node.js 18$/]])
  t.end()
})

t.test('binding: an older release, or a repacking of that name: never loaded', (t) => {
  const main = "process.stdout.write('loaded'); module.exports = {}"
  const old = load(t, { upstream: { version: '20.48.0', main } })
  fromPacked(t, old, [['uWebSockets.js', /^20\.48\.0 is older than 20\.51$/]])
  const other = load(t, { upstream: { name: '@somebody/uws', main } })
  fromPacked(t, other, [['uWebSockets.js', /^it is @somebody\/uws/]])
  t.end()
})

t.test('binding: nothing is installed: none, and the report says for which Node', (t) => {
  const outcome = load(t, { isPacked: false })
  t.equal(outcome.name, undefined)
  t.equal(outcome.unusable.length, 1)
  t.match(outcome.unusable, [[name, /^(?:no binding for Node \d|it needs glibc)/]])
  t.end()
})

/** Has the program run on another version of Node, or with another C library. */
function pretending(changes: { versions?: object; glibc?: string | undefined }): string {
  const { versions = {}, glibc } = changes
  const all = JSON.stringify({ ...process.versions, ...versions })
  const report = JSON.stringify({ header: { glibcVersionRuntime: glibc } })
  return `
    Object.defineProperty(process, 'versions', { value: ${all} })
    process.report.getReport = () => (${report})`
}

t.test('binding: Node 26: none, and one report', (t) => {
  const before = pretending({ versions: { node: '26.1.0', modules: '147' } })
  const { unusable, ...binding } = load(t, { before })
  t.same(binding, {})
  const { platform, arch } = process
  t.same(unusable, [['uWebSockets.js', `no binding for Node 26.1.0 on ${platform} ${arch}`]])
  t.end()
})

// Only bindings for Linux need a C library.
const onLinux = { skip: process.platform === 'linux' ? false : 'it is for Linux' }

t.test(
  'binding: Node 24 on an older C library, or another one: the report says so',
  onLinux,
  (t) => {
    const versions = { node: '24.21.0', modules: '137' }
    for (const [glibc, here] of [
      ['2.36', '2.36'],
      ['2.4', '2.4'],
      [undefined, 'another C library'],
    ]) {
      const { unusable } = load(t, { before: pretending({ versions, glibc }), isPacked: false })
      const reason = `it needs glibc 2.38, and here is ${here}`
      t.same(unusable, [['@btc-vision/uwebsockets.js', reason]])
    }
    const { unusable } = load(t, {
      before: pretending({ versions, glibc: '2.41' }),
      isPacked: false,
    })
    t.match(unusable, [['@btc-vision/uwebsockets.js', /^no binding for Node 24\.21\.0 on linux/]])
    t.end()
  },
)
