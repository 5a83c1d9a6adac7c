// Goal:   an index process that outlives its node writes no more files: the next index process
//         would not know of such a file, and messages that are removed later would stay in it.
// Method: a process that has built a shard seals it, once after its parent was killed, and once
//         while the parent is alive.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'

t.setTimeout(timeoutMs)

/** Builds a shard. Once `go` exists, seals the shard and writes the result to `outcome`. */
const child = `
  import { existsSync, writeFileSync } from 'node:fs'
  import { findEngine } from '${new URL('../../../src/forum/search/engine.js', import.meta.url)}'
  import { newShard } from '${new URL('../../../src/forum/search/shard.js', import.meta.url)}'
  const shard = newShard(findEngine(), 'index', 0, 1 << 20)
  shard.add([{ message: 0, isPublic: true, words: 'a word' }])
  writeFileSync('pid', String(process.pid))
  setInterval(() => {
    if (!existsSync('go')) return
    let outcome = 'sealed'
    try {
      shard.seal('index', { identity: 'a forum', first: 0, end: 1, lastId: 'x', erased: 0 })
    } catch (error) {
      outcome = error.message
    }
    writeFileSync('outcome', outcome)
    process.exit()
  }, 10)
`
const parent = `
  const { spawn } = require('node:child_process')
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e']
  spawn(process.execPath, [...flags, process.env.CHILD], { stdio: 'inherit' })
`

async function sealing(t: Test, isKilled: boolean): Promise<{ outcome: string; files: string[] }> {
  const dir = mkdtempSync(path.join(tmpdir(), 'agent-forum-outlived-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(path.join(dir, 'index'))
  const env = { ...process.env, CHILD: child }
  const node = spawn(process.execPath, ['-e', parent], { cwd: dir, env, stdio: 'inherit' })
  const ended = once(node, 'close')
  await until('a shard that is built', () => existsSync(path.join(dir, 'pid')))
  if (isKilled) {
    node.kill('SIGKILL')
    await ended
  }
  execFileSync('touch', [path.join(dir, 'go')])
  const written = path.join(dir, 'outcome')
  const outcome = await until('an outcome', () => {
    return existsSync(written) ? readFileSync(written, 'utf8') : null
  })
  return { outcome, files: readdirSync(path.join(dir, 'index')) }
}

t.test('search: a process that outlives its node: seals no shard', async (t) => {
  t.same(await sealing(t, true), { outcome: 'the node has ended', files: [] })
  t.match(await sealing(t, false), {
    outcome: 'sealed',
    files: [/^0000000000-[0-9a-f]{8}\.shard$/],
  })
})
