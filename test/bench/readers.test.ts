import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { isDeep } from '../depth.ts'

t.setTimeout(180_000)

const program = fileURLToPath(new URL('../../bench/readers.js', import.meta.url))

const skip = isDeep ? false : 'half a minute; npm run test:deep runs it'

t.test('bench: readers: run small: every figure is reported', { skip }, async (t) => {
  const args = ['--messages', '2000', '--seconds', '1', '--rounds', '1', '--connections', '16,64']
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args])
  t.equal(
    stdout.match(/^(?:reply|page|feed-empty), \d readers +main process/gm)?.length,
    18,
    stdout,
  )
  t.match(stdout, /a record applied by a reader: +[-\d.]+/)
  t.match(stdout, /age of positions at 4 readers: p50 at most [\d.]+ ms/)
  t.match(stdout, /memory with 2000 messages: reader \d+ MB/)
  t.equal(stdout.match(/32 cores [\d,]+\/s/g)?.length, 8, stdout)
})
