import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const program = fileURLToPath(new URL('../../bench/cold.js', import.meta.url))

t.test('bench: cold: run small: every load is reported, without errors', async (t) => {
  const args = ['--threads', '400', '--messages', '8000', '--seconds', '1', '--rounds', '1']
  const small = [...args, '--text-memory-mb', '1']
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...small])
  t.equal(stdout.match(/^p(?:ages|olls) .*longest delay/gm)?.length, 5, stdout)
  t.match(stdout, /pages by 64 clients: \d+ pages\/s, p50 [\d.]+ ms/)
  t.match(stdout, /[1-9][\d.]* blocks read for a page/)
  t.equal(stdout.match(/polls have [\d.]+ of the loop's processor time/g)?.length, 3, stdout)
  t.notMatch(stdout, /errors/)
})
