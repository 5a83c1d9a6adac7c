// The parts of which the bundle (bundle.ts) and the executable (executable.ts) are made: esbuild
// options, and the files beside the modules.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { compiledFile } from '../src/edge/api/compiled-schemas.ts'
import { bindingFile, repackagings } from '../src/edge/http/uws-binding.ts'
import { documentList } from './documents.ts'

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

/**
 * Returns the files that the program reads, with the binding for Node of this ABI, and the paths of
 * the files of which they are made.
 */
export async function programFiles(
  abi: string,
): Promise<{ files: ProgramFiles; inputs: string[] }> {
  copyPlot()
  const index = 'docs/index.json'
  const files: ProgramFiles = new Map([[index, Buffer.from(documentList(top))]])
  mkdirSync(join(compiled, 'docs'), { recursive: true })
  writeFileSync(join(compiled, index), files.get(index)!)
  for (const path of [...browserFiles(), 'commit']) {
    const file = join(compiled, path)
    if (existsSync(file)) files.set(path, readFileSync(file))
  }
  const binding = bindingOf(abi)
  for (const path of binding) files.set(path, readFileSync(join(modules, path)))
  const entryPoints = [join(compiled, compiledFile)]
  const schemas = await build({ ...common, entryPoints, format: 'cjs', outdir: compiled })
  files.set(compiledFile, schemas.outputFiles[0]!.contents)
  const inputs = binding.map((path) => join('node_modules', path))
  return { files, inputs: [...inputs, ...Object.keys(schemas.metafile.inputs)] }
}

/** Returns the paths in node_modules of the binding for this platform, or none. */
function bindingOf(abi: string): string[] {
  const packed = repackagings.find(({ abis }) => abis.includes(abi))
  if (packed === undefined) return []
  const paths = [`${packed.folder}${bindingFile(abi)}`, 'package.json']
  const files = paths.map((path) => `${packed.name}/${path}`)
  return files.every((path) => existsSync(join(modules, path))) ? files : []
}

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
