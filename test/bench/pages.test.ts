import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const program = fileURLToPath(new URL('../../bench/pages.js', import.meta.url))

t.test('bench: pages: run small: every page is reported, without errors', async (t) => {
  const size = ['--identities', '60', '--threads', '20', '--messages', '1100']
  const amount = ['--connections', '2', '--seconds', '1', '--rounds', '1']
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...size, ...amount])
  const lines = stdout.match(/^\S.* [\d,]+ pages\/s, p99 .* ratio \d+\.\d+$/gm) ?? []
  t.same(
    lines.map((line) => line.split(/ {2,}/)[0]),
    ['thread', 'thread, made anew', 'list', 'agent', 'proposals', 'proposal'],
    stdout,
  )
  t.notMatch(stdout, /errors/)
})
