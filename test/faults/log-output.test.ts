// Goal:   whether standard output is a full disk, a full pipe or a pipe without a reader, the node
//         starts, serves and stops. Lines that are lost are counted, and a later line reports their
//         number.
// Method: the real program with such a standard output, observed through its operators' port. The
//         test fills the pipe before the node starts.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ask, sample } from '../api/operators.ts'
import { dataDirectory, Program, program, run } from '../api/process.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { fill, smallDisk, tryTo } from './small-disk.ts'

const counted = 'agent_forum_log_lines_dropped_total'
/** The number of lines that a node logs when it starts. */
const linesOfStart = await countLinesOfStart(t)

async function countLinesOfStart(t: Test): Promise<number> {
  const node = new Program(['serve', '--port', '0', '--data', dataDirectory(t)])
  await node.logged('started')
  await node.stop('SIGKILL')
  return node.log.length
}

/**
 * Starts a node whose log goes to `stdout`, which takes no lines, and waits until it serves and has
 * lost the last line of its start, which it logs when it is ready already.
 */
async function serving(t: Test, stdout: number | 'pipe', isRead = true) {
  const [port, opsPort] = [await freePort(), await freePort()]
  const flags = ['--port', `${port}`, '--ops-port', `${opsPort}`, '--data', dataDirectory(t)]
  const node = new Program(['serve', ...flags], {}, { stdout })
  t.teardown(() => node.stop('SIGKILL'))
  if (!isRead) node.child.stdout!.destroy()
  const isReady = () =>
    ask(opsPort, '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    )
  await until('the node to serve', async () => node.hasEnded || (await isReady()))
  if (node.hasEnded) throw new Error(`the node has ended: ${node.stderr}`)
  const hasLost = async () => (await sample(opsPort, counted)) === linesOfStart
  await until(`the loss of ${linesOfStart} lines`, hasLost)
  return { node, opsPort, url: `http://127.0.0.1:${port}` }
}

/** Checks that such a node still answers, serves and stops. */
async function serves(t: Test, { node, opsPort, url }: Awaited<ReturnType<typeof serving>>) {
  const answers = await Promise.all([ask(opsPort, '/livez'), ask(opsPort, '/metrics')])
  t.same(
    answers.map(({ status }) => status),
    [200, 200],
  )
  t.equal((await fetch(`${url}/api/status`)).status, 200)
  const { code, stderr } = await node.stop('SIGTERM')
  t.same([code, stderr], [0, ''])
}

t.test('log: standard output is /dev/full: starts, serves, counts lost lines', async (t) => {
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const served = await serving(t, full)
  t.match(
    (await ask(served.opsPort, '/readyz')).text,
    /^degraded: log: standard output accepts no lines \(ENOSPC\), \d+ dropped\n$/,
  )
  await serves(t, served)
})

t.test('log: its disk is full, then it is not: one line says how many were lost', async (t) => {
  const disk = smallDisk(t, 2)
  if (disk === null) return t.comment('skipped: mounting a tmpfs needs root')
  const file = openSync(join(disk, 'log'), 'a')
  t.teardown(() => closeSync(file))
  const ballast = fill(disk)
  const served = await serving(t, file)
  rmSync(ballast)
  await until('readiness', async () => (await ask(served.opsPort, '/readyz')).text === 'ok\n')
  await serves(t, served)
  const log = linesIn(readFileSync(join(disk, 'log'), 'utf8'))
  t.match(log[0], { level: 40, lines: linesOfStart, msg: 'log_lines_dropped' })
  t.same(
    log.map(({ msg }) => msg),
    ['log_lines_dropped', 'stopping', 'stopped'],
  )
})

t.test('log: a pipe that nobody reads is full: serves, and goes on when it is read', async (t) => {
  const pipe = fullPipe(t)
  if (pipe === null) return t.comment('skipped: there is no mkfifo')
  const served = await serving(t, pipe.writer)
  const { O_NONBLOCK } = constants
  const [, flags] = /^flags:\s+(\d+)$/m.exec(
    readFileSync(`/proc/${served.node.child.pid}/fdinfo/1`, 'utf8'),
  )!
  t.equal(Number.parseInt(flags!, 8) & O_NONBLOCK, 0, 'the shared descriptor is still blocking')
  // The node may write already while the pipe is being emptied.
  let log = pipe.read()
  await until('readiness', async () => (await ask(served.opsPort, '/readyz')).text === 'ok\n')
  await serves(t, served)
  log += pipe.read()
  const [dropped, ...rest] = linesIn(log)
  t.match(dropped, { lines: linesOfStart, msg: 'log_lines_dropped' })
  t.same(
    rest.map(({ msg }) => msg),
    ['stopping', 'stopped'],
  )
})

t.test('log: standard output lost its reader: starts, serves, counts lost lines', async (t) => {
  const served = await serving(t, 'pipe', false)
  await serves(t, served)
})

t.test('log: a socket that nobody reads: only whole lines are dropped or written', async (t) => {
  const module = new URL('../../src/operators/ops/log.js', import.meta.url).href
  const script = `
    import { openLog } from '${module}'
    const { log, output } = openLog('info')
    for (let n = 0; n < 20_000; n++) log.info({ n }, 'x'.repeat(100))
    process.send(output.linesDropped)
    process.once('message', () => {
      output.end()
      process.exit()
    })
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [dropped] = await once(child, 'message')
  t.ok(dropped > 0, `${dropped} of 20000 dropped`)
  let text = ''
  child.stdout!.setEncoding('utf8').on('data', (more) => {
    text += more
  })
  // When it ends, the process waits half a second for room to write the last report.
  await until('some of the log to be read', () => text !== '')
  child.send('end')
  await once(child, 'close')
  const log = linesIn(text)
  const reports = log.filter(({ msg }) => msg === 'log_lines_dropped')
  t.equal(
    reports.reduce((sum, { lines }) => sum + lines, 0),
    dropped,
  )
  t.equal(log.length - reports.length, 20_000 - dropped)
})

t.test('a last line longer than its pipe: it ends when the reader has all of it', async (t) => {
  const module = new URL('../../src/operators/ops/line-output.js', import.meta.url).href
  const script = `
    import { LineOutput } from '${module}'
    new LineOutput(1).end('x'.repeat(199_999) + '\\n')
  `
  const piped = '"$0" --input-type=module -e "$1" | cat'
  t.equal(execFileSync('sh', ['-c', piped, process.execPath, script]).length, 200_000)
})

t.test('standard error is /dev/full: the exit code is the same', async (t) => {
  const { code } = await run(['serve', '--port', '65536'])
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const child = spawn(process.execPath, [program, 'serve', '--port', '65536'], {
    stdio: ['ignore', 'ignore', full],
  })
  t.same((await once(child, 'exit'))[0], code)
})

/** Returns a pipe that is full, or null where the system has no mkfifo. */
function fullPipe(t: Test): { writer: number; read(): string } | null {
  const name = dataDirectory(t)
  if (!tryTo(() => execFileSync('mkfifo', [name]))) return null
  const reader = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK)
  const filler = openSync(name, constants.O_WRONLY | constants.O_NONBLOCK)
  const writer = openSync(name, constants.O_WRONLY)
  t.teardown(() => [reader, filler, writer].forEach((file) => void closeSync(file)))
  while (tryTo(() => writeSync(filler, Buffer.alloc(4096, '\n'))));
  const piece = Buffer.alloc(1 << 20)
  const read = () => {
    let text = ''
    const more = () => {
      text += piece.toString('utf8', 0, readSync(reader, piece))
    }
    while (tryTo(more)); // until the pipe is empty
    return text
  }
  return { writer, read }
}

function linesIn(text: string): { msg: string; lines: number }[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
