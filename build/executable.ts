// npm run build:executable: makes dist/executable/agent-forum, a single file for this platform that
// needs nothing installed, not even Node
// (https://nodejs.org/api/single-executable-applications.html).
//
//   the binary of Node 22, or of Node 24 where its binding of uWebSockets.js loads
//     └── a blob: cli/executable.ts with everything that it imports, as one CommonJS script
//           └── assets: the files that the program reads by their paths, among them the binding of
//               uWebSockets.js, which is loaded from a temporary file
//
// --node FILE names the binary of Node. The default is the one that runs this script, or that of
// .ci/nodes if this one has no binding or no search engine.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { type BuildOptions, build } from 'esbuild'
import { startedModules } from '../src/base/program-files.ts'
import { repackagings, unsuited } from '../src/edge/http/uws-binding.ts'
import { common, programFiles, top } from './parts.ts'
import { nodePart, thirdParty } from './third-party.ts'

const directory = join(top, 'dist/executable')
const executable = join(directory, 'agent-forum')
/** Occurs in every binary of Node; the first byte after it says whether there is a blob. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

const options = {
  ...common,
  format: 'cjs',
  target: 'node22.16',
  outdir: join(directory, 'parts'),
  outbase: 'src',
  define: { 'import.meta.url': 'ownUrl', 'import.meta.resolve': 'undefined' },
  banner: { js: `const ownUrl = require('node:url').pathToFileURL(process.execPath).href` },
} satisfies BuildOptions

/** Returns the version and ABI. Throws unless the binding suits both, and node:sqlite has FTS5. */
function checkNode(node: string): { version: string; abi: string } {
  const script = 'process.versions.modules + " " + process.versions.node'
  const output = execFileSync(node, ['-p', script], { encoding: 'utf8' })
  const [abi, version] = output.trim().split(' ') as [string, string]
  const [major, minor] = version.split('.').map(Number)
  const packed = repackagings.find(({ abis }) => abis.includes(abi))
  const hasSearch = major! > 22 || (major === 22 && minor! >= 16)
  if (hasSearch && packed !== undefined && unsuited(packed) === null) return { version, abi }
  const usable = 'Node 22.16 or newer 22, or of Node 24 on glibc 2.38 or newer'
  throw new Error(`${node} is Node ${version}, and an executable is made of ${usable}`)
}

function findNode(): string {
  const { values } = parseArgs({ options: { node: { type: 'string' } } })
  if (values.node !== undefined) return values.node
  try {
    checkNode(process.execPath)
    return process.execPath
  } catch (error) {
    const nodes = join(top, '.ci/nodes')
    const node = join(nodes, 'node_modules/node-22/bin/node')
    if (process.platform !== 'linux' || process.arch !== 'x64') throw error
    if (!existsSync(node)) execFileSync('npm', ['ci', '--silent', '--prefix', nodes])
    return node
  }
}

/** Writes a file of the program to where the blob takes it from. Returns its path. */
function put(path: string, contents: string | Uint8Array): string {
  const file = join(directory, 'parts', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, contents)
  return file
}

const node = findNode()
const { version, abi } = checkNode(node)
const script = await build({ ...options, entryPoints: ['src/cli/executable.ts'] })
const thread = await build({
  ...options,
  entryPoints: [join('src', startedModules.textReader.replace(/js$/, 'ts'))],
})
const { files, inputs } = await programFiles(abi)
files.set(startedModules.textReader, thread.outputFiles[0]!.contents)
const listed: { path: string }[] = JSON.parse(`${files.get('docs/index.json')}`)
for (const path of ['package.json', ...listed.map(({ path }) => path)]) {
  files.set(`../../${path}`, readFileSync(join(top, path)))
}
const all = [...Object.keys({ ...script.metafile.inputs, ...thread.metafile.inputs }), ...inputs]
files.set('THIRD-PARTY', Buffer.from(thirdParty(all, [nodePart(node, version)])))

const assets = Object.fromEntries(
  Array.from(files, ([path, contents]) => [path, put(path.replaceAll('../', ''), contents)]),
)
const blob = join(directory, 'parts/blob')
const settings = {
  main: put('main.cjs', script.outputFiles[0]!.contents),
  output: blob,
  assets,
  disableExperimentalSEAWarning: true,
  useCodeCache: true,
}
const config = put('blob.json', JSON.stringify(settings))
execFileSync(node, ['--experimental-sea-config', config], {
  stdio: ['ignore', 'ignore', 'inherit'],
})
copyFileSync(node, executable)
chmodSync(executable, 0o755)
// The package has no types.
const { inject } = createRequire(import.meta.url)('postject')
await inject(executable, 'NODE_SEA_BLOB', readFileSync(blob), {
  sentinelFuse: fuse,
  ...(process.platform === 'darwin' && { machoSegmentName: 'NODE_SEA' }),
})
process.stdout.write(`${executable}\n`)
