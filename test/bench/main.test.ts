import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
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
  const wrong = [['--only', 'nothing'], ['--connections', '0'], ['--load', 'ab'], ['--unknown']]
  for (const flags of wrong) {
    await t.rejects(run(...flags), { code: 64, stderr: /^bench: .+\n$/ }, flags.join(' '))
  }
})
