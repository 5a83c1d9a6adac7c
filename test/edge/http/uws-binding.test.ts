// The package from which the native binding of uWebSockets.js is loaded. Each test lays out an
// installation: the compiled loader, and the packages beside it.

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { loadBinding } from '../../../src/edge/http/uws-binding.ts'

const packed = dirname(dirname(fileURLToPath(import.meta.resolve('uws-pack'))))
/** Whether `uws-pack` has a binding for this version of Node. */
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

const binary = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`
const loadsBinary = `module.exports = require('./${binary}')`

/** Returns the outcome of loading the binding with these packages installed. */
function load(t: Test, { upstream, isPacked = true }: { upstream?: Package; isPacked?: boolean }) {
  const home = mkdtempSync(join(tmpdir(), 'agent-forum-binding-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  put('package.json', '{"type":"module"}')
  for (const folder of ['base', 'edge/http', 'node_modules']) {
    mkdirSync(join(home, folder), { recursive: true })
  }
  for (const file of [
    'base/program-files.js',
    'edge/http/uws-binding.js',
    'edge/http/exchange.js',
  ]) {
    const compiled = fileURLToPath(new URL(`../../../src/${file}`, import.meta.url))
    copyFileSync(compiled, join(home, file))
  }
  if (isPacked) symlinkSync(packed, join(home, 'node_modules/uws-pack'))
  if (upstream !== undefined) {
    const { name = 'uWebSockets.js', version = '20.51.0', main = loadsBinary } = upstream
    const manifest = JSON.stringify({ name, version, main: 'uws.js' })
    put('node_modules/uWebSockets.js/package.json', manifest)
    put('node_modules/uWebSockets.js/uws.js', main)
    if (hasPacked) {
      const to = join(home, 'node_modules/uWebSockets.js', binary)
      copyFileSync(join(packed, 'dist/bin', binary), to)
    }
  }
  const flags = ['--input-type=module', '--eval', program]
  const output = execFileSync(process.execPath, flags, { cwd: home, encoding: 'utf8' })
  return JSON.parse(output) as Outcome
}

/** Checks that `uws-pack` was loaded after these packages had been skipped. */
function fromPacked(t: Test, outcome: Outcome, passedBy: [name: string, reason: RegExp][]): void {
  const none: [string, RegExp] = ['uws-pack', /^no binding for Node \d+/]
  t.equal(outcome.name, hasPacked ? 'uws-pack' : undefined)
  t.match(outcome.unusable, hasPacked ? passedBy : [...passedBy, none])
  t.equal(outcome.unusable.length, passedBy.length + (hasPacked ? 0 : 1))
}

t.test('binding: nothing else is installed: from uws-pack, with version and file', (t) => {
  const outcome = load(t, {})
  fromPacked(t, outcome, [])
  if (hasPacked) t.match(outcome, { version: /^20\./, file: join('dist/bin', binary) })
  t.end()
})

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
  const { name, unusable } = load(t, { isPacked: false })
  t.match(
    { name, unusable },
    { name: undefined, unusable: [['uws-pack', /^no binding for Node \d/]] },
  )
  t.equal(unusable.length, 1)
  t.end()
})
