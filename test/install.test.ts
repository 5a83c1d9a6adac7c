// Installation: a node needs only the packed files. A clone without packages starts the existing
// build, or says what to do. Nothing is downloaded: a build takes what it needs from this checkout.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Program } from './api/process.ts'
import { freePort } from './free-port.ts'

const top = join(import.meta.dirname, '../..')
const modules = join(top, 'node_modules')
/** The maximum size in bytes of a server with everything that it needs except Node. */
const bytesMax = 15_000_000
const main = 'dist/agent-forum/cli/main.js'

function npm(cwd: string, ...args: string[]) {
  return spawnSync('npm', args, { cwd, encoding: 'utf8' })
}

/** Creates a directory that is removed after the test. */
function directory(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'agent-forum-install-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Copies those files of a fresh clone that are needed to build and start. */
function clone(t: Test): string {
  const path = directory(t)
  const names = [
    'src',
    'wal',
    'build',
    'deploy',
    'docs',
    // `.git` is a file if a clone has several working trees.
    ...readdirSync(top).filter((name) => name !== '.git' && statSync(join(top, name)).isFile()),
  ]
  for (const name of names) cpSync(join(top, name), join(path, name), { recursive: true })
  return path
}

/** Starts the program `file`, requests its status and the files of the dashboard, and stops it. */
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

/** Returns the path of the file that a script of this clone packs. */
function packed(cloned: string, script: string): string {
  const { status, stdout, stderr } = npm(cloned, 'run', '--silent', script)
  if (status !== 0) throw new Error(stderr)
  return join(cloned, stdout.trim())
}

/** Creates a directory in which npm has installed a packed file, offline and without a warning. */
function installed(t: Test, file: string): string {
  const home = directory(t)
  writeFileSync(join(home, 'package.json'), '{}')
  const { status, stderr } = npm(home, 'install', '--offline', '--no-audit', file)
  if (status !== 0) throw new Error(stderr)
  t.notMatch(stderr, /install-scripts/)
  return home
}

/** Returns the total size in bytes. */
function sizeOf(path: string): number {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return names.reduce((sum, name) => sum + lstatSync(join(path, name)).size, 0)
}

t.test('install: the packed program: alone, in 15 MB, it runs, serves and calls', async (t) => {
  const cloned = clone(t)
  symlinkSync(modules, join(cloned, 'node_modules'))
  const filename = packed(cloned, 'build:package')
  t.ok(statSync(join(cloned, main)).mode & 0o100, 'a build is executable')

  const home = installed(t, filename)
  const names = readdirSync(join(home, 'node_modules')).filter((name) => !name.startsWith('.'))
  t.same(names, ['agent-forum'], 'it needs no other package')
  t.ok(sizeOf(join(home, 'node_modules')) < bytesMax)
  const own = join(home, 'node_modules/agent-forum')
  const { version } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'))
  const command = join(home, 'node_modules/.bin/agent-forum')
  const printed = execFileSync(command, ['--version'], { encoding: 'utf8' })
  t.equal(printed.split('\n')[0], version)
  t.ok(existsSync(join(own, 'deploy/agent-forum.service')), 'the unit of systemd comes along')
  await serves(t, command, home)
  const importing =
    "import('agent-forum/client').then(({ AgentForum }) => console.log(AgentForum.name))"
  const imported = spawnSync(process.execPath, ['-e', importing], { cwd: home, encoding: 'utf8' })
  t.match(imported, { status: 0, stdout: 'AgentForum\n' })
  t.ok(existsSync(join(own, 'dist/src/client/index.d.ts')), 'with its types')
  const url = spawnSync(command, ['mcp', '--url', 'x'], { encoding: 'utf8' })
  t.match(url, { status: 64, stderr: /--url takes/ })
})

t.test(
  'install: the client alone: in 150 KB, under the name in the documents, with its types',
  async (t) => {
    const cloned = clone(t)
    symlinkSync(modules, join(cloned, 'node_modules'))
    const home = installed(t, packed(cloned, 'build:client'))
    t.ok(sizeOf(join(home, 'node_modules/agent-forum')) < 150_000)
    const program = `
    import { AgentForum, type Message } from 'agent-forum/client'
    const read = async (id: string): Promise<Message[]> =>
      (await new AgentForum({ url: 'http://127.0.0.1:1' }).messages(id)).messages
    console.log(typeof read)
  `
    writeFileSync(join(home, 'main.mts'), program)
    const target = [
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
      '--types',
      '',
    ]
    const compiler = join(modules, 'typescript/bin/tsc')
    const node = (...args: string[]) =>
      spawnSync(process.execPath, args, { cwd: home, encoding: 'utf8' })
    t.match(node(compiler, '--strict', ...target, 'main.mts'), { status: 0, stdout: '' })
    t.match(node('main.mjs'), { status: 0, stdout: 'function\n', stderr: '' })
  },
)

t.test(
  'install: npm start: builds what is older than its sources, once for two starts',
  async (t) => {
    const cloned = clone(t)
    mkdirSync(join(cloned, 'node_modules/typescript'), { recursive: true })
    // A build that takes a moment, and counts.
    const bin = t.testdir({
      npm: `#!/bin/sh
echo built >> builds; mkdir -p dist/agent-forum/cli; sleep 1; touch ${main}
`,
    })
    chmodSync(join(bin, 'npm'), 0o755)
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` }
    const prestart = async () => {
      const [code] = await once(spawn('sh', ['prestart.sh'], { cwd: cloned, env }), 'close')
      return code
    }
    const builds = () => readFileSync(join(cloned, 'builds'), 'utf8')
    t.same(await Promise.all([prestart(), prestart()]), [0, 0])
    t.equal(await prestart(), 0)
    t.equal(builds(), 'built\n')

    // A build that was killed an hour ago left its lock; then a file was renamed.
    const lock = join(cloned, 'dist/.building')
    mkdirSync(lock)
    utimesSync(lock, Date.now() / 1000 - 3600, Date.now() / 1000 - 3600)
    const later = new Date(statSync(join(cloned, main)).mtimeMs + 1000)
    utimesSync(join(cloned, 'src/cli'), later, later)
    t.equal(await prestart(), 0)
    t.equal(builds(), 'built\nbuilt\n')
  },
)

t.test('install: a clone without packages: starts the build if it is up to date', async (t) => {
  const cloned = clone(t)
  const unbuilt = spawnSync('sh', ['prestart.sh'], { cwd: cloned, encoding: 'utf8' })
  t.equal(unbuilt.status, 1)
  t.match(unbuilt.stderr, /^agent-forum: dist\/ is missing [^\n]+ run `npm ci`[^\n]+\n$/)

  cpSync(join(top, 'dist/agent-forum'), join(cloned, 'dist/agent-forum'), { recursive: true })
  t.match(spawnSync('sh', ['prestart.sh'], { cwd: cloned }), { status: 0 })
  await serves(t, join(cloned, main), cloned)

  const later = new Date(statSync(join(cloned, main)).mtimeMs + 1000)
  utimesSync(join(cloned, 'package-lock.json'), later, later)
  const pruned = spawnSync('sh', ['prestart.sh'], { cwd: cloned })
  t.match(pruned, { status: 0 }, 'npm prune writes the lock file')
  utimesSync(join(cloned, 'wal/journal/journal.ts'), later, later)
  const stale = spawnSync('sh', ['prestart.sh'], { cwd: cloned, encoding: 'utf8' })
  t.strictSame([stale.status, stale.stderr], [1, unbuilt.stderr])
})
