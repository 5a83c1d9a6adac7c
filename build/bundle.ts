// Run by `npm run build`, after `tsc`: makes the bundle, which is what is started, packed and
// installed. It needs nothing but Node.
//
//   dist/agent-forum/
//     cli/  node/  forum/  kernel/    the modules that are started (src/base/program-files.ts)
//     chunks/                         what they import from the sources and from packages
//     edge/  people/  docs/  commit    files that they read, at their paths in dist/src/
//     THIRD-PARTY                     the packages in it, with their licences
//     uws-pack/                       the binding of uWebSockets.js for this platform and Node 22;
//                                     or for Node 24, in the folder of another package, if that
//                                     runs the build and its binding loads here
//
// G1. An unchanged file is not written: a build of the same sources does not disturb a running
//     node.
// G2. Chunks lie as deep as the modules of a room, so that a path from a module leads to the same
//     file in the bundle as in dist/src/.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { startedModules } from '../src/base/program-files.ts'
import { repackagings, unsuited } from '../src/edge/http/uws-binding.ts'
import { common, programFiles, top } from './parts.ts'
import { thirdParty } from './third-party.ts'

const directory = join(top, 'dist/agent-forum')

const options = {
  ...common,
  entryPoints: Object.values(startedModules).map((path) => join('src', path.replace(/js$/, 'ts'))),
  outbase: 'src',
  outdir: directory,
  chunkNames: 'chunks/[hash]',
  format: 'esm',
  splitting: true,
  // Source maps refer to the sources in a clone, and are not packed.
  sourcemap: 'linked',
  sourcesContent: false,
  // Packages in CommonJS require only modules of Node; everything else is in the bundle.
  banner: { js: 'const require = process.getBuiltinModule' },
} satisfies BuildOptions

const { outputFiles, metafile } = await build(options)
/** `process.versions.modules` of Node 22 and 24. */
const [abi22, abi24] = ['127', '137']
const has24 = repackagings.some((each) => each.abis.includes(abi24) && unsuited(each) === null)
const { files, inputs } = await programFiles(
  process.versions.modules === abi24 && has24 ? abi24 : abi22,
)
files.set('THIRD-PARTY', Buffer.from(thirdParty([...Object.keys(metafile.inputs), ...inputs])))
for (const { path, contents } of outputFiles) files.set(relative(directory, path), contents)

for (const [path, contents] of files) {
  const file = join(directory, path)
  if (existsSync(file) && readFileSync(file).equals(contents)) continue
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, contents)
}
for (const path of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
  const file = join(directory, path)
  if (!files.has(path) && statSync(file).isFile()) rmSync(file)
}
const command = join(directory, startedModules.command)
chmodSync(command, 0o755)
// Makes the command newer than the sources it was built from (prestart.sh).
utimesSync(command, new Date(), new Date())
