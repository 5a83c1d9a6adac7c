import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { openPercentiles } from '../../bench/generator.ts'
import type { LatencyRun } from '../../bench/latency.ts'
import { has } from '../../bench/process.ts'
import { isDeep } from '../depth.ts'

t.setTimeout(180_000)

const program = join(import.meta.dirname, '../../bench/main.js')

const skip = isDeep ? false : 'a minute; npm run test:deep runs it'

t.test('bench latency: run small: every rate of every side, in a table', { skip }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const [json, markdown] = ['json', 'md'].map((kind) => join(dir, `results.${kind}`))
  const flags = ['--smoke', '--only', 'latency', '--dir', dir, '--json', json]
  const args = [program, ...flags, '--markdown', markdown]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { latency } = JSON.parse(readFileSync(json, 'utf8')) as { latency: LatencyRun[] }
  const hasRedis = ['redis-server', 'redis-benchmark', 'redis-cli'].every(has)
  t.equal(latency.length, hasRedis ? 15 : 12)
  for (const { side, scenario, share, latencyMs, requests, errors, rate, seconds } of latency) {
    const name = `${side}: ${scenario} at ${share}`
    t.same([errors, requests], [0, Math.round(rate * seconds)], `${name}: each is answered`)
    const values = openPercentiles.map((p) => latencyMs[p])
    t.ok(
      values.every((value, i) => value > 0 && (i === 0 || value >= values[i - 1])),
      name,
    )
  }
  t.match(stdout, /syncs: \d+, [\d.]+ % of the time, longest [\d.]+ ms/)
  const table = readFileSync(markdown, 'utf8')
  t.notMatch(table, /NaN|undefined|Infinity/)
  t.equal(table.match(/^\| .* \| (reply|mixed) \|/gm)!.length, latency.length)
})
