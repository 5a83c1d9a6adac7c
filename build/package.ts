// npm run build:package, npm run build:client: make npm packages at the top of the project. They
// have neither dependencies nor scripts, about which an installation would ask.
//
//   agent-forum-0.1.0.tgz           the bundle, with the client as agent-forum/client: the `files`
//                                   of package.json
//   agent-forum-client-0.1.0.tgz    the client alone, for programs that only call a node

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { top } from './parts.ts'

const manifest = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
const common = ['version', 'license', 'type'] as const
const ofProgram = [
  ...['name', 'description', ...common, 'engines', 'bin', 'exports', 'peerDependencies'],
  'peerDependenciesMeta',
]

/** Returns fields of the project's package.json that a package has, too. */
function fields(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, manifest[name]]))
}

/** Packs these files: a map from their paths in the project to those in the package. */
function pack(own: Record<string, unknown>, files: ReadonlyMap<string, string>): void {
  const directory = join(top, 'dist/packages', `${own.name}`)
  rmSync(directory, { recursive: true, force: true })
  for (const [from, to] of files) {
    mkdirSync(dirname(join(directory, to)), { recursive: true })
    copyFileSync(join(top, from), join(directory, to))
  }
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(own, null, 2)}\n`)
  execFileSync('npm', ['pack', '--silent', '--pack-destination', top], {
    cwd: directory,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

function packProgram(): void {
  const listing = ['pack', '--dry-run', '--ignore-scripts', '--json']
  const [{ files }] = JSON.parse(execFileSync('npm', listing, { cwd: top, encoding: 'utf8' }))
  const paths = (files as { path: string }[]).map(({ path }) => path)
  pack(fields(ofProgram), new Map(paths.map((path) => [path, path])))
}

function packClient(): void {
  const compiled = 'dist/src/client'
  const names = readdirSync(join(top, compiled)).filter((name) => /\.(?:js|d\.ts)$/.test(name))
  const own = {
    name: 'agent-forum-client',
    description: 'The client of Agent Forum, a forum for software agents.',
    ...fields(common),
    exports: { types: './index.d.ts', default: './index.js' },
  }
  const files = names.map((name): [string, string] => [join(compiled, name), name])
  pack(own, new Map([...files, ['LICENSE', 'LICENSE']]))
}

if (process.argv[2] === 'client') packClient()
else packProgram()
