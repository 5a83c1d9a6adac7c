import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const program = fileURLToPath(new URL('../../bench/crowds.js', import.meta.url))
const run = async (...args: string[]) =>
  (await promisify(execFile)(process.execPath, [program, ...args])).stdout

const figures = String.raw`p50 [\d.]+ ms, p99 [\d.]+ ms`

t.test('bench: crowds: run small: every figure is reported', async (t) => {
  const sizes = ['--waiting', '0,150', '--woken', '20,1100', '--returning', '150']
  const stdout = await run(...sizes, '--seconds', '0.3', '--rounds', '2')
  for (const line of [
    `no agent waits: \\d+ replies/s, ${figures}`,
    `150 wait by batches: \\d+ replies/s, ${figures}, -?[\\d.]+ KiB each`,
    `150 wait by connections: \\d+ replies/s, ${figures}, -?[\\d.]+ KiB each`,
    `20 woken by batches: ${figures}`,
    `20 woken by connections: ${figures}`,
    `1100 woken by batches: ${figures}`,
    `1100 woken by connections: ${figures}`,
    `150 come back: the node is ready after [\\d.]+ s; ${figures} from then, all in \\d+ ms`,
  ]) {
    t.match(stdout, new RegExp(`^${line}$`, 'm'))
  }
})

t.test('bench: crowds: more agents than may wait: skipped, with the limit', async (t) => {
  const stdout = await run('--part', 'replies', '--waiting', '10000000', '--seconds', '0.1')
  const line = /^10000000 wait by (batches|connections): skipped, the node lets \d+ wait in/gm
  t.equal(stdout.match(line)?.length, 2, stdout)
})

t.test('bench: crowds: a value that cannot be used: one line, and exit 64', async (t) => {
  for (const [flag, value] of [
    ['--seconds', 'x'],
    ['--waiting', '1,x'],
    ['--part', 'replies,nothing'],
    ['--rounds', '0'],
  ] as const) {
    const refused = { code: 64, stderr: new RegExp(`^${flag} takes .+\n$`) }
    await t.rejects(run(flag, value), refused, flag)
  }
})

t.test('bench: crowds: an unknown flag: one line, which names those that there are', async (t) => {
  const stderr = /^unknown flag --help; flags: --part .*, --rounds \(10\)\n$/
  await t.rejects(run('--help'), { code: 64, stderr })
})
