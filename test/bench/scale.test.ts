import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { until } from '../until.ts'

const program = join(import.meta.dirname, '../../bench/scale.js')

t.test('bench scale: a small forum: started, killed and started again', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'results.json')
  const flags = {
    ...{ messages: '2k', threads: '20', identities: '60', only: 'none', rounds: '1', starts: '1' },
    ...{
      seconds: '1',
      'watch-seconds': '1',
      'log-mb': '1',
      'checkpoint-mb': '1',
      durability: 'none',
      dir,
      json: file,
    },
  }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])
  const run = (...more: string[]) =>
    promisify(execFile)(process.execPath, [program, ...args, '--data', join(dir, 'kept'), ...more])
  const isGrown = /^\d+ records since it was built/m
  t.notMatch((await run()).stdout, isGrown)
  t.match((await run()).stdout, isGrown, 'the data are used again')
  const other = { code: 64, stderr: /^scale: .* has a forum of another size: .*\n$/ }
  await t.rejects(run('--messages', '3k'), other)
  rmSync(join(dir, 'kept/population.json'))
  await t.rejects(run(), { code: 64, stderr: /^scale: .* has not finished it\n$/ })
  const { starts, memory, disk, size } = JSON.parse(readFileSync(file, 'utf8'))
  t.equal(size.messages, 2_000)
  t.same(Object.keys(starts), ['after a clean stop', 'after SIGKILL with 1 MB of log'])
  const { resident, rendered, columns } = memory
  t.ok(resident > rendered && rendered > 0.6, 'in megabytes')
  t.match(columns, { messages: Number, threads: Number, identities: Number })
  t.ok(disk.pages > rendered && disk.wal > 0, 'in megabytes too')
})

t.test('bench scale: stopped while it builds: what it was building is gone', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))
  const child = spawn(process.execPath, [program, '--messages', '200k', '--dir', dir])
  const exited = once(child, 'exit')
  const isBuilding = () =>
    readdirSync(dir, { recursive: true }).some((name) => {
      return `${name}`.endsWith('.wal')
    })
  await until('the log of the large forum', isBuilding)
  child.kill('SIGTERM')
  await exited
  await sleep(500) // a build that went on would write
  t.same(readdirSync(dir), [])
})

t.test('bench scale: a flag that cannot be used: one line, and exit 64', async (t) => {
  for (const flags of [
    ['--messages', '1g'],
    ['--only', 'nothing'],
    ['--rounds', '0'],
    ['--unknown'],
  ]) {
    const ended = promisify(execFile)(process.execPath, [program, ...flags])
    await t.rejects(ended, { code: 64, stderr: /^scale: .+\n$/ })
  }
})
