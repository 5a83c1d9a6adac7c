import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { isDeep } from '../depth.ts'

const program = fileURLToPath(new URL('../../bench/search.js', import.meta.url))

const skip = isDeep ? false : 'a minute; npm run test:deep runs it'

t.test('bench: search: run small: every part is reported, without errors', { skip }, async (t) => {
  const small = ['--messages', '4000', '--seconds', '1', '--rounds', '1']
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...small])
  t.match(stdout, /^index of [\d,]+ messages, alone: [\d.]+ s, [\d,]+\/s/m)
  t.equal(stdout.match(/^ {2}.+: p50 [\d.]+ ms, p99 [\d.]+ ms, [\d.]+ hits/gm)?.length, 9, stdout)
  t.match(stdout, /rare word: .* [1-9][\d.]* hits/)
  t.match(stdout, /8 clients, all kinds: [1-9][\d,]* searches\/s.* 0 errors/)
  t.match(stdout, /^cold: served after/m)
  t.equal(stdout.match(/of those without, [\d.]+ of the loop's .* 0 errors/g)?.length, 3, stdout)
  t.match(stdout, /^index beside the swarm, [\d,]+ requests\/s/m)
})
