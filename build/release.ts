// npm run release: makes release/ anew, which has everything that is published of a version:
//
//   agent-forum-1.0.0.tgz                  the program for Node, and the JavaScript client
//   agent-forum-client-1.0.0.tgz           the JavaScript client alone
//   agent_forum-1.0.0-py3-none-any.whl     the Python client
//   agent-forum-1.0.0-linux-x64            the executable, of the system and processor that made it
//   agent-forum-1.0.0.cdx.json             the bill of materials (bill-of-materials.ts)
//   SHA256SUMS                             checksums of these files: sha256sum --check SHA256SUMS
//
// R1. Two runs of one commit on one machine make the same bytes. On another machine the binding of
//     uWebSockets.js, Node, npm, Python and zlib decide, too (docs/install.md, "Releases").
// R2. A release is of a commit: a tree with changes is refused.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { billOfMaterials } from './bill-of-materials.ts'
import { top } from './parts.ts'

const release = join(top, 'release')
const { name, version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))

/** Runs a program, and returns what it prints. */
function run(program: string, args: readonly string[], cwd = top): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8' }).trim()
}

/** Runs another script of the build, and returns what it prints. */
function build(script: string, ...args: string[]): string {
  return run(process.execPath, [join(import.meta.dirname, script), ...args])
}

function makePackages(): void {
  for (const what of ['program', 'client']) {
    const file = build('package.js', what)
    renameSync(join(top, file), join(release, file))
  }
}

function makeWheel(): void {
  const program = 'import sys, build_backend; build_backend.build_wheel(sys.argv[1])'
  run('python3', ['-B', '-c', program, release], join(top, 'clients/python'))
}

/** Returns the version of the Node that the executable contains. */
function makeExecutable(): string {
  const made = build('executable.js')
  const { platform, arch } = process
  const file = join(release, `${name}-${version}-${platform}-${arch}`)
  copyFileSync(made, platform === 'win32' ? `${file}.exe` : file)
  return /Node (\S+),/.exec(run(made, ['version']))![1]!
}

function sumFiles(): void {
  const lines = readdirSync(release)
    .sort()
    .map((file) => {
      const hash = createHash('sha256').update(readFileSync(join(release, file)))
      return `${hash.digest('hex')}  ${basename(file)}\n`
    })
  writeFileSync(join(release, 'SHA256SUMS'), lines.join(''))
}

const changes = run('git', ['status', '--porcelain'])
if (changes !== '') {
  process.stderr.write(`release: the tree has changes; commit them first:\n${changes}\n`)
  process.exit(64)
}
rmSync(release, { recursive: true, force: true })
mkdirSync(release)
makePackages()
makeWheel()
const bill = billOfMaterials(makeExecutable())
writeFileSync(join(release, `${name}-${version}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`)
sumFiles()
process.stdout.write(readFileSync(join(release, 'SHA256SUMS'), 'utf8'))
