// The parts of which the bundle (bundle.ts) and the executable (executable.ts) are made: esbuild
// options, and the files beside the modules.

import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build, type Metafile } from 'esbuild'
import { compiledFile } from '../src/edge/api/compiled-schemas.ts'

export const top = join(import.meta.dirname, '../..')
/** The output of `tsc`. */
const compiled = join(top, 'dist/src')
const modules = join(top, 'node_modules')

export const common = {
  absWorkingDir: top,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  // Leaves out the native addon of msgpackr, because reading a log takes as long with it: 1.72 s
  // and 1.73 s of processor time for 66,000 records, in six starts of each, which alternated.
  // The main file of jsonc-parser requires its parts in a way that cannot be bundled.
  alias: { msgpackr: 'msgpackr/pack', 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  metafile: true,
  write: false,
  logLevel: 'warning',
} satisfies BuildOptions

/** Files of the program that are not modules of their own, by path (program-files.ts, F1). */
type ProgramFiles = Map<string, Uint8Array>

/** Returns the files that the program reads, and the inputs of those that were bundled. */
export async function programFiles(): Promise<{ files: ProgramFiles; inputs: Metafile['inputs'] }> {
  copyPlot()
  const files: ProgramFiles = new Map()
  for (const path of [...browserFiles(), 'commit']) {
    const file = join(compiled, path)
    if (existsSync(file)) files.set(path, readFileSync(file))
  }
  for (const path of ['package.json', join('dist/bin', bindingName)]) {
    const file = join(modules, 'uws-pack', path)
    if (existsSync(file)) files.set(join('uws-pack', path), readFileSync(file))
  }
  const entryPoints = [join(compiled, compiledFile)]
  const schemas = await build({ ...common, entryPoints, format: 'cjs', outdir: compiled })
  files.set(compiledFile, schemas.outputFiles[0]!.contents)
  return { files, inputs: schemas.metafile.inputs }
}

/** The only binding of uWebSockets.js that is packed: that of Node 22 for this platform. */
const bindingName = `uws_${process.platform}_${process.arch}_127.node`

/** Copies the package files of the dashboard to where it looks for them, in dist/src/ as well. */
function copyPlot(): void {
  const dist = join(modules, 'uplot/dist')
  copyFileSync(join(dist, 'uPlot.iife.min.js'), join(compiled, plotFiles[0]))
  copyFileSync(join(dist, 'uPlot.min.css'), join(compiled, plotFiles[1]))
}

const plotFiles = ['people/browser/uplot.js', 'people/browser/uplot.css'] as const

/** Returns the files that have sources: an earlier build may have left others. */
function browserFiles(): string[] {
  const sources = readdirSync(join(top, 'src/people/browser'), {
    recursive: true,
    encoding: 'utf8',
  })
  const scripts = sources.filter((name) => name.endsWith('.ts'))
  return [...scripts.map((name) => join('people/browser', name.replace(/ts$/, 'js'))), ...plotFiles]
}
