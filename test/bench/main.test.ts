import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const program = join(import.meta.dirname, '../../bench/main.js')
const run = (...flags: string[]) => promisify(execFile)(process.execPath, [program, ...flags])

t.test('bench main: two scenarios, without peers: tables and JSON', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const [json, table] = ['json', 'md'].map((kind) => join(dir, `results.${kind}`))
  const what = ['--smoke', '--no-peers', '--only', 'page,mixed', '--connections', '4']
  const files = ['--json', json, '--markdown', table]
  const { stdout } = await run(...what, '--dir', dir, ...files)
  t.match(stdout, 'durability always')
  const { scenarios, sweeps, stalls } = JSON.parse(readFileSync(json, 'utf8'))
  t.same(
    scenarios.map(({ name }: { name: string }) => name),
    ['page', 'mixed'],
  )
  for (const { name, sides } of scenarios) {
    for (const { side, perSecond, errors } of sides) {
      t.ok(perSecond > 0, `${name}: ${side}`)
      t.equal(errors, 0, `${name}: ${side}`)
    }
  }
  t.equal(sweeps.length, 1)
  t.ok(stalls.length > 0)
  t.match(stdout, 'read a page of 50 messages')
  t.match(stdout, /^ {4}forum +2: [\d,]+\/s$/m)
  t.match(readFileSync(table, 'utf8'), /^\| `mixed` \| [\d,]+\/s \|/m)
})

t.test('bench main: a flag that cannot be used: one line, and exit 64', async (t) => {
  const wrong = [
    ...[['--only', 'nothing'], ['--connections', '0'], ['--load', 'ab'], ['--unknown']],
    ...[
      ['--durability', 'often'],
      ['--dir', '/nowhere'],
      ['--json', '/nowhere/results'],
    ],
  ]
  for (const flags of wrong) {
    await t.rejects(run(...flags), { code: 64, stderr: /^bench: .+\n$/ }, flags.join(' '))
  }
})

t.test('bench main: its terminal is closed: no server and no file is left behind', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const args = [program, '--smoke', '--only', 'reply', '--connections', '4', '--dir', dir]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  for await (const text of child.stdout) {
    if (`${text}`.includes('post a reply')) child.kill('SIGHUP') // its sweep would follow
  }
  t.same(readdirSync(dir), [])
  const commands = readdirSync('/proc').map((pid) => {
    return /^\d+$/.test(pid) ? commandOf(pid) : ''
  })
  t.same(
    commands.filter((command) => command.includes(dir)),
    [],
  )
})

/** Returns the command line of a process, or '' if it has ended. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
