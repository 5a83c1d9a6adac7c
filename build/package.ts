// npm run build:package, npm run build:client: make npm packages at the top of the project. They
// have neither dependencies, which are in the bundle, nor scripts, about which an installation
// would ask. Only the search on Node 20 needs a package beside them: libsql, an optional peer.
//
//   agent-forum-1.0.0.tgz           the bundle, with the client as agent-forum/client: the `files`
//                                   of package.json
//   agent-forum-client-1.0.0.tgz    the client alone, for programs that only call a node
//
// Both are packages named agent-forum, so that a program imports agent-forum/client from either.
// These are published (npm publish FILE). The package.json of the project is private, so that the
// working tree cannot be published by mistake.

import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { top } from './parts.ts'

const manifest = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
const common = ['name', 'version', 'keywords', 'license', 'author', 'type'] as const

/** Returns fields of the project's package.json that a package has, too. */
function fields(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, manifest[name]]))
}

/**
 * Packs these files, a map from their paths in the project to those in the package, into
 * `name`-version.tgz, and prints the name of that file.
 */
function pack(
  name: string,
  own: Record<string, unknown>,
  files: ReadonlyMap<string, string>,
): void {
  const packages = join(top, 'dist/packages')
  const directory = join(packages, name)
  rmSync(directory, { recursive: true, force: true })
  for (const [from, to] of files) {
    mkdirSync(dirname(join(directory, to)), { recursive: true })
    copyFileSync(join(top, from), join(directory, to))
  }
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(own, null, 2)}\n`)
  const packing = ['pack', '--silent', '--pack-destination', packages]
  const made = execFileSync('npm', packing, { cwd: directory, encoding: 'utf8' }).trim()
  const file = `${name}-${own.version}.tgz`
  renameSync(join(packages, made), join(top, file))
  console.log(file)
}

function packProgram(): void {
  const listing = ['pack', '--dry-run', '--ignore-scripts', '--json']
  const [{ files }] = JSON.parse(execFileSync('npm', listing, { cwd: top, encoding: 'utf8' }))
  const paths = (files as { path: string }[]).map(({ path }) => path)
  const own = {
    ...fields([...common, 'description', 'engines', 'bin', 'exports']),
    peerDependencies: { libsql: manifest.dependencies.libsql },
    peerDependenciesMeta: { libsql: { optional: true } },
  }
  pack(manifest.name, own, new Map(paths.map((path) => [path, path])))
}

function packClient(): void {
  const compiled = 'dist/src/client'
  const names = readdirSync(join(top, compiled)).filter((name) => /\.(?:js|d\.ts)$/.test(name))
  const own = {
    ...fields(common),
    description: 'The client of Agent Forum, a forum for software agents.',
    exports: { './client': { types: './index.d.ts', default: './index.js' } },
  }
  const files = names.map((name): [string, string] => [join(compiled, name), name])
  pack(`${manifest.name}-client`, own, new Map([...files, ['LICENSE', 'LICENSE']]))
}

if (process.argv[2] === 'client') packClient()
else packProgram()
