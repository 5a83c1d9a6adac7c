import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const program = fileURLToPath(new URL('../../bench/batches.js', import.meta.url))

t.test('bench: batches: run small: every figure is reported', async (t) => {
  const args = ['--seconds', '0.2', '--rounds', '1']
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args])
  const line = /^(?:reply|empty poll), .*: [\d.]+ us of the node, \d+\/s$/gm
  t.equal(stdout.match(line)?.length, 8, stdout)
})
