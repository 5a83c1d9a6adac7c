import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const program = fileURLToPath(new URL('../../bench/appends.js', import.meta.url))

t.test('bench: appends: run small: every side is reported, or what it lacks', async (t) => {
  const args = ['--seconds', '0.2', '--rounds', '1']
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args])
  for (const name of ['node', 'redis', 'durable streams']) {
    const figures = `${name}, (?:alone|100 at a time): \\d+/s, [\\d.]+ us of the server`
    const lines = new RegExp(`^(?:${figures}|${name}: skipped, .* is not installed)$`, 'gm')
    const found = stdout.match(lines) ?? []
    t.equal(found.length, found[0]?.includes('skipped') ? 1 : 2, `${name}: ${stdout}`)
  }
})
