// npm test, npm run test:deep: runs compiled test files, each in its own process. It runs two files
// more at a time than there are processors, because many tests mostly wait: for a limit of the node
// to pass, a disk to sync or another process to start. Arguments are the files to run instead of
// all.
//
// A file prints TAP and ends with a line that counts its assertions. The output of a file that
// fails is printed, indented; of the others only the skipped tests are listed. The last line is the
// sum:
//
//   # { total: N, pass: N, fail: N }
//
// They do not inherit NODE_EXTRA_CA_CERTS: nothing here leaves the machine, and on Node 20 each
// process parses those certificates when it starts, which takes longer than all the rest of a start
// (68 ms of processor time with a list of the usual ones, 30 without).
//
// Files do not run under the `tap` command, because it loads coverage hooks into every process,
// which take a third of the time of all tests.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { counted } from '../wal/counted.ts'
import { isDeep, sizes, timeoutMs } from './depth.ts'

const here = import.meta.dirname
/** What takes longest comes first, so that small files fill the gaps at the end. */
const first = [
  ...['mcp/', 'replication/fault', 'replication/nodes', 'install', 'pages/reader', 'simulate/'],
  ...['faults/', 'bench/', 'api/', 'browser/', 'replication/', 'wal/', 'cli/', 'client/', ''],
]

// Some API suites run a second time over Node's own HTTP server, which serves where uWebSockets.js
// does not run: those that exercise the wire, where the adapters differ. The deep run repeats all
// suites except those that send no requests, wait long for webhooks, or test the code behind the
// edge.
// `npm run test:node -- 24` runs them too. `limits` is left to the deep run: how far node:http
// grows before the heap is collected (up to 193 MiB were seen, 100 are allowed) depends on the
// machine.
const wire = ['bodies', 'connections', 'hostile', 'methods', 'slow-clients', 'threads', 'waiting']
const behindTheEdge = ['document', 'openapi', 'wakeups', 'checkpoints', 'restart']

// Some also run with their text on disk as soon as possible (api/everything-cold.ts): a sample, and
// in the deep run all but those that count checkpoints or memory.
const cold = ['idempotency', 'lists', 'proposals', 'threads']
const neverCold = ['document', 'openapi', 'checkpoints', 'limits', 'ops']

// And over nodes with readers: a sample, and in the deep run the tests of kills and of faults of a
// replicated log, and all but those that look at one process. Not where the port cannot be shared
// (http/node.ts).
const ofReaders = ['feed', 'threads']
const neverOfReaders = [
  ...['document', 'openapi', 'checkpoints', 'limits', 'ops', 'proxy-headers'],
  ...['slow-clients', 'waiting'],
]

interface Job {
  name: string
  file: string
  environment: Record<string, string>
}

interface Count {
  total: number
  pass: number
  fail: number
}

function allJobs(): Job[] {
  const names = readdirSync(here, { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => name.endsWith('.test.js')).sort()
  const rankOf = (name: string) => first.findIndex((beginning) => name.startsWith(beginning))
  files.sort((a, b) => rankOf(a) - rankOf(b))
  const again = (sample: readonly string[], never: readonly string[]) =>
    files.filter((name) => {
      const suite = /^api\/(.*)\.test\.js$/.exec(name)?.[1]
      if (suite === undefined) return false
      return isDeep ? !never.includes(suite) : sample.includes(suite)
    })
  const overNode = { AGENT_FORUM_HTTP: 'node' }
  const onDisk = { TEST_TEXT: 'cold' }
  const withReaders = { TEST_READERS: '2' }
  const shared = again(ofReaders, neverOfReaders)
  if (isDeep) shared.push('faults/kill.test.js', 'replication/fault-matrix.test.js')
  return [
    ...again(wire, behindTheEdge).map((name) => jobOf(name, overNode, ' over node:http')),
    ...again(cold, neverCold).map((name) => jobOf(name, onDisk, ' with its text on disk')),
    ...shared.map((name) => jobOf(name, withReaders, ' with readers')),
    ...files.map((name) => jobOf(name)),
  ]
}

function jobOf(file: string, environment: Record<string, string> = {}, how = ''): Job {
  return { name: file + how, file: join(here, file), environment }
}

/**
 * Runs one file, and resolves to its counts. A file with an unexpected exit code counts as failed.
 */
async function run({ name, file, environment }: Job): Promise<Count> {
  const begun = performance.now()
  const { NODE_EXTRA_CA_CERTS: _, ...inherited } = process.env
  const env = { TAP_TIMEOUT: `${timeoutMs / 1000}`, ...inherited, ...environment }
  const child = spawn(process.execPath, ['--enable-source-maps', file], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs * 2,
    killSignal: 'SIGKILL',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const [code, signal] = await once(child, 'close')
  const count = countOf(output)
  const isGood = code === 0 && count.fail === 0 && count.total > 0
  if (!isGood) count.fail = Math.max(count.fail, 1)
  const seconds = ((performance.now() - begun) / 1000).toFixed(1).padStart(6)
  console.log(`${isGood ? 'ok    ' : 'not ok'} ${seconds} s  ${name}`)
  const indented = output.replace(/^/gm, '    ')
  if (!isGood) console.log(`${indented}\n${name} ended with ${signal ?? code}\n`)
  for (const [skipped] of output.matchAll(/^.*# SKIP.*$/gm)) console.log(skipped)
  return count
}

function countOf(output: string): Count {
  const [line] = /^# \{ total: .*\}$/m.exec(output) ?? ['']
  const numberOf = (word: string) => Number(new RegExp(`${word}: (\\d+)`).exec(line)?.[1] ?? 0)
  return { total: numberOf('total'), pass: numberOf('pass'), fail: numberOf('fail') }
}

async function runAll(jobs: readonly Job[]): Promise<Count> {
  const sum: Count = { total: 0, pass: 0, fail: 0 }
  const queue = jobs.values()
  const worker = async () => {
    for (const job of queue) {
      const { total, pass, fail } = await run(job)
      sum.total += total
      sum.pass += pass
      sum.fail += fail
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() + 2 }, worker))
  return sum
}

if (isDeep) {
  for (const [name, { deep, of }] of Object.entries(sizes)) {
    console.log(`${name}=${process.env[name] ?? deep}`.padEnd(24), of)
  }
}
const begun = performance.now()
const named = process.argv.slice(2)
const jobs = named.length === 0 ? allJobs() : named.map((file) => jobOf(relative(here, file)))
const { total, pass, fail } = await runAll(jobs)
const minutes = ((performance.now() - begun) / 60_000).toFixed(1)
console.log(`${counted(jobs.length, 'file')} in ${minutes} minutes`)
console.log(`# { total: ${total}, pass: ${pass}, fail: ${fail} }`)
process.exitCode = fail === 0 ? 0 : 1
