// npm test, npm run test:system, npm run test:deep: runs compiled test files, each in its own
// process or in one with others (jobs.ts). It runs two processes more at a time than there are
// processors, because many tests mostly wait: for a limit of the node to pass, a disk to sync or
// another process to start. While processors are idle all the same, it starts more, up to twice as
// many. Arguments are the files to run; without them it runs the part that TEST_PART names: change,
// system, or all.
//
// A process prints TAP and ends with a line that counts its assertions. The output of a file that
// fails is printed, indented; of the others only the skipped tests are listed. The last line is the
// sum:
//
//   # { total: N, pass: N, fail: N }
//
// The processes do not inherit NODE_EXTRA_CA_CERTS: nothing here leaves the machine, and on Node 20
// each process parses those certificates when it starts, which takes longer than all the rest of a
// start (68 ms of processor time with a list of the usual ones, 30 without).
//
// Files do not run under the `tap` command, because it loads coverage hooks into every process,
// which take a third of the time of all tests.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism, cpus } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pluralize } from '../src/base/text.ts'
import { isDeep, sizes, timeoutMs } from './depth.ts'
import { type FileResult, fileResults } from './group-results.ts'
import { type Job, jobsOf, jobsOfParts, type Part, testsDirectory } from './jobs.ts'

/**
 * For every process. Its buffers for text start no garbage collections (uncounted-memory.ts), and
 * V8 has one helper thread: all processors are busy, and more threads cost a tenth more.
 */
const options = [
  '--enable-source-maps',
  '--v8-pool-size=1',
  '--import',
  new URL('uncounted-memory.js', import.meta.url).href,
]

/**
 * Without this, glibc's allocator fills all columns of each state in memory with zeros, of which a
 * test uses a few: a quarter of the processor time of http/access, and 1.2 of its 1.6 GB.
 */
const MALLOC_MMAP_THRESHOLD_ = `${128 << 10}`

interface Count {
  total: number
  pass: number
  fail: number
}

/** Runs one job and prints what each file has done; resolves to its counts. */
async function run({ name, files, environment }: Job): Promise<Count> {
  const begun = performance.now()
  const { NODE_EXTRA_CA_CERTS: _, ...inherited } = process.env
  const own = { TAP_TIMEOUT: `${timeoutMs / 1000}`, MALLOC_MMAP_THRESHOLD_ }
  const env = { ...own, ...inherited, ...environment }
  const paths = files.map((file) => join(testsDirectory, file))
  const programs = files.length === 1 ? paths : [join(testsDirectory, 'group.js'), ...paths]
  const child = spawn(process.execPath, [...options, ...programs], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs * (files.length + 1),
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
  const whole = { file: name, isGood, seconds: (performance.now() - begun) / 1000, output }
  const results = files.length === 1 ? [whole] : fileResults(output, files)
  // A process can fail when all of its files are done.
  if (!isGood && results.every(({ isGood }) => isGood)) results.push(whole)
  for (const result of results) print(result)
  const areGood = results.every(({ isGood }) => isGood)
  if (!areGood) console.log(`${name} ended with ${signal ?? code}\n`)
  if (!areGood) count.fail = Math.max(count.fail, 1)
  for (const [skipped] of output.matchAll(/^.*# SKIP.*$/gm)) console.log(skipped)
  return count
}

function print({ file, isGood, seconds, output }: FileResult): void {
  console.log(`${isGood ? 'ok    ' : 'not ok'} ${seconds.toFixed(1).padStart(6)} s  ${file}`)
  if (!isGood) console.log(output.replace(/^/gm, '    '))
}

function countOf(output: string): Count {
  const [line] = /^# \{ total: .*\}$/m.exec(output) ?? ['']
  const numberOf = (word: string) => Number(new RegExp(`${word}: (\\d+)`).exec(line)?.[1] ?? 0)
  return { total: numberOf('total'), pass: numberOf('pass'), fail: numberOf('fail') }
}

/** How many processes run at a time, and how many while processors are idle. */
const usual = availableParallelism() + 2
const most = 2 * usual
const lookMs = 1000
/** The part of the processors' time that one more process may use. */
const idleMin = 0.25

async function runAll(jobs: readonly Job[]): Promise<Count> {
  const sum: Count = { total: 0, pass: 0, fail: 0 }
  const queue = [...jobs]
  const running = new Set<Promise<void>>()
  const begin = (job: Job) => {
    const done = run(job).then(({ total, pass, fail }) => {
      sum.total += total
      sum.pass += pass
      sum.fail += fail
      running.delete(done)
    })
    running.add(done)
  }
  const looking = new AbortController()
  const look = async () => {
    const idleTime = idleShare()
    for (;;) {
      await sleep(lookMs, undefined, { signal: looking.signal })
      if (idleTime() < idleMin || running.size >= most) continue
      const job = queue.shift()
      if (job !== undefined) begin(job)
    }
  }
  look().catch((error) => {
    if (!looking.signal.aborted) throw error
  })
  while (queue.length > 0 || running.size > 0) {
    while (queue.length > 0 && running.size < usual) begin(queue.shift()!)
    await Promise.race(running)
  }
  looking.abort()
  return sum
}

/** Returns a function that returns the idle part of the processors' time since its last call. */
function idleShare(): () => number {
  const times = () => {
    const each = cpus().map(({ times }) => times)
    const idle = each.reduce((sum, { idle }) => sum + idle, 0)
    return { idle, all: each.reduce((sum, times) => sum + timeOf(times), 0) }
  }
  const timeOf = (times: object) => Object.values(times).reduce((a, b) => a + b, 0)
  let before = times()
  return () => {
    const now = times()
    const share = (now.idle - before.idle) / Math.max(1, now.all - before.all)
    before = now
    return share
  }
}

function partsToRun(): Part[] {
  const { TEST_PART = isDeep ? 'all' : 'change' } = process.env
  if (TEST_PART === 'all') return ['change', 'system']
  if (TEST_PART === 'change' || TEST_PART === 'system') return [TEST_PART]
  throw new Error(`TEST_PART is change, system or all, not ${TEST_PART}`)
}

if (isDeep) {
  for (const [name, { deep, of }] of Object.entries(sizes)) {
    console.log(`${name}=${process.env[name] ?? deep}`.padEnd(24), of)
  }
}
const begun = performance.now()
const named = process.argv.slice(2)
const jobs =
  named.length === 0
    ? jobsOfParts(partsToRun())
    : jobsOf(named.map((file) => relative(testsDirectory, file)))
const { total, pass, fail } = await runAll(jobs)
const minutes = ((performance.now() - begun) / 60_000).toFixed(1)
const files = jobs.reduce((sum, job) => sum + job.files.length, 0)
console.log(`${pluralize(files, 'file')} in ${minutes} minutes`)
console.log(`# { total: ${total}, pass: ${pass}, fail: ${fail} }`)
process.exitCode = fail === 0 ? 0 : 1
