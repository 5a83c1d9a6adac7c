import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const program = fileURLToPath(new URL('../../bench/attacks.js', import.meta.url))

t.test('bench: attacks: run small: every request and every attack is reported', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--smoke'])
  const lines = stdout.trimEnd().split('\n')
  t.equal(lines.filter((line) => /^\S.* {2,}\d+\.\d\d ms$/.test(line)).length, 19, stdout)
  const polls = /: \d+\/s, p50 [\d.]+ ms, p99 [\d.]+ ms, longest [\d.]+ ms, \d+ % of a core$/
  t.equal(lines.filter((line) => polls.test(line)).length, 4, stdout)
})
