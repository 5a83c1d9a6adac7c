// Installation: a node needs only the packed files and the production dependencies. A clone without
// TypeScript starts the existing build, or says what to do. Nothing is downloaded: the dependencies
// are those of this checkout.

import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { Program } from './api/process.ts'
import { freePort } from './free-port.ts'

const top = join(import.meta.dirname, '../..')
const modules = join(top, 'node_modules')

function npm(cwd: string, ...args: string[]) {
  return spawnSync('npm', args, { cwd, encoding: 'utf8' })
}

/** A directory that is removed after the test. */
function directory(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'agent-forum-install-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Copies the files of a fresh clone that building and starting need. */
function clone(t: Test): string {
  const path = directory(t)
  const names = [
    'src',
    'wal',
    'deploy',
    // `.git` is a file where a clone has several working trees.
    ...readdirSync(top).filter((name) => name !== '.git' && statSync(join(top, name)).isFile()),
  ]
  for (const name of names) cpSync(join(top, name), join(path, name), { recursive: true })
  return path
}

/** Links the dependencies that `npm ci --omit=dev` installs into `path`/node_modules. */
function linkProduction(path: string): void {
  const listed = npm(top, 'ls', '--all', '--parseable', '--omit=dev').stdout.trim().split('\n')
  for (const each of listed.slice(1).map((line) => relative(modules, line))) {
    if (each.includes('node_modules')) continue // comes with the package that it is nested in
    const link = join(path, 'node_modules', each)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(modules, each), link)
  }
}

/** Starts the program `file`, requests its status and what the dashboard loads, and stops it. */
async function serves(t: Test, file: string, cwd: string): Promise<void> {
  const ops = await freePort()
  const flags = ['--port', '0', '--data', join(cwd, 'data'), '--ops-port', `${ops}`]
  const program = new Program(['serve', ...flags], {}, { file })
  t.teardown(() => program.stop('SIGKILL'))
  const { url } = await program.logged('started')
  t.equal((await fetch(`${url}/api/status`)).status, 200)
  for (const path of ['', 'uplot.js', 'dashboard/main.js']) {
    t.equal((await fetch(`http://127.0.0.1:${ops}/${path}`)).status, 200, path)
  }
  t.match(await program.stop('SIGTERM'), { code: 0, stderr: '' })
}

t.test('install: from a packed clone: the command runs, and serves', async (t) => {
  const cloned = clone(t)
  symlinkSync(modules, join(cloned, 'node_modules'))
  const packed = npm(cloned, 'pack', '--json')
  if (packed.status !== 0) throw new Error(packed.stderr)
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[')))
  t.ok(statSync(join(cloned, 'dist/src/cli/main.js')).mode & 0o100, 'a build is executable')

  const home = directory(t)
  linkProduction(home)
  t.notOk(existsSync(join(home, 'node_modules/typescript')), 'TypeScript is for development')
  const installed = join(home, 'node_modules/agent-forum')
  mkdirSync(installed)
  execFileSync('tar', ['-xzf', join(cloned, filename), '-C', installed, '--strip-components=1'])
  const { bin, version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  const command = join(installed, bin['agent-forum'])
  t.equal(execFileSync(command, ['--version'], { encoding: 'utf8' }), `${version}\n`)
  t.ok(existsSync(join(installed, 'deploy/agent-forum.service')), 'the unit of systemd comes along')
  await serves(t, command, home)
  const importing =
    "import('agent-forum/client').then(({ AgentForum }) => console.log(AgentForum.name))"
  const imported = spawnSync(process.execPath, ['-e', importing], { cwd: home, encoding: 'utf8' })
  t.match(imported, { status: 0, stdout: 'AgentForum\n' })
  t.ok(existsSync(join(installed, 'dist/src/client/index.d.ts')), 'with its types')
  const url = spawnSync(command, ['mcp', '--url', 'x'], { encoding: 'utf8' })
  t.match(url, { status: 64, stderr: /--url takes/ })
})

t.test('install: a clone without TypeScript: starts the build if it is up to date', async (t) => {
  const cloned = clone(t)
  linkProduction(cloned)
  const unbuilt = spawnSync('sh', ['prestart.sh'], { cwd: cloned, encoding: 'utf8' })
  t.equal(unbuilt.status, 1)
  t.match(unbuilt.stderr, /^agent-forum: dist\/ is missing [^\n]+ run `npm ci`[^\n]+\n$/)

  cpSync(join(top, 'dist/src'), join(cloned, 'dist/src'), { recursive: true })
  cpSync(join(top, 'dist/wal'), join(cloned, 'dist/wal'), { recursive: true })
  t.match(spawnSync('sh', ['prestart.sh'], { cwd: cloned }), { status: 0 })
  await serves(t, join(cloned, 'dist/src/cli/main.js'), cloned)

  const later = new Date(statSync(join(cloned, 'dist/src/cli/main.js')).mtimeMs + 1000)
  utimesSync(join(cloned, 'wal/journal/journal.ts'), later, later)
  const stale = spawnSync('sh', ['prestart.sh'], { cwd: cloned, encoding: 'utf8' })
  t.strictSame([stale.status, stale.stderr], [1, unbuilt.stderr])
})
