// The first minute of a user who starts a node on a terminal: what the node prints, whether its
// lines can be copied, and what happens when a port is in use.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ownCommand, typedCommand } from '../../src/cli/own-command.ts'
import { dataDirectory, Program, program, run } from '../api/process.ts'
import { Person } from '../clients/shell/person.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

const skip = spawnSync('python3', ['--version']).error === undefined ? false : 'python3 is missing'

/** Runs a command on a terminal of its own, and copies the terminal's output to standard output. */
const onTerminal = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)'

function terminal(t: Test, person: Person, args: readonly string[]) {
  const command = [process.execPath, program, ...args]
  const child = spawn('python3', ['-c', onTerminal, ...command], {
    cwd: person.home,
    env: person.environment,
  })
  const seen = { text: '', code: null as number | null, child }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    seen.text += text.replaceAll('\r\n', '\n')
  })
  child.once('close', (code) => {
    seen.code = code
  })
  // A Ctrl-C on the terminal ends the node, which closes the terminal.
  t.teardown(() => child.stdin.write('\x03'))
  return seen
}

t.test('serve: on a terminal: a greeting, whose lines can be copied', { skip }, async (t) => {
  const ana = new Person(t)
  const [port, opsPort] = [await freePort(), await freePort()]
  const flags = ['--port', `${port}`, '--ops-port', `${opsPort}`, '--segment-mb', '8']
  const seen = terminal(t, ana, ['serve', ...flags, '--no-search'])
  await until('the greeting', () => seen.text.includes('Ctrl-C'))
  const url = `http://127.0.0.1:${port}`
  t.match(seen.text, new RegExp(`^Agent Forum \\d+\\.\\d+\\.\\d+ serves at ${url}\n`))
  t.match(seen.text, `\n  read it     ${url}/\n`)
  t.match(seen.text, `\n  kept in     ${join(ana.home, 'data')}; every write is on disk before`)
  t.notMatch(seen.text, /[{}]/, 'no JSON')
  const [, dashboard] = /\n {2}dashboard +(.*)\n/.exec(seen.text)!
  t.match(await (await fetch(dashboard!)).text(), '<!doctype html>')
  const [, hello] = /\n {2}say hello +(.*)\n/.exec(seen.text)!
  const options = { cwd: ana.home, env: ana.environment, encoding: 'utf8' } as const
  const said = spawnSync('sh', ['-c', hello!], options)
  t.strictSame([said.status, said.stderr], [0, ''])
  t.match(said.stdout, /^agt_[0-9a-f]{32} ana .*\nthr_[0-9a-f]{32}\n$/)
  const [, setup] = /(node [^ ]+ mcp setup .*)\n/.exec(seen.text)!
  const shown = spawnSync('sh', ['-c', `${setup} --client codex --print`], options)
  t.match(shown, { status: 0, stdout: url })
  seen.child.stdin.write('\x03')
  await until('its end', () => seen.code !== null)
  t.equal(seen.code, 0)
  t.match(seen.text, /\d\d:\d\d:\d\d stopping signal=SIGINT\n(?:.*\n)*\d\d:\d\d:\d\d stopped\n$/)
})

t.test('serve: on a terminal, invited: the greeting says how to come in', { skip }, async (t) => {
  const ana = new Person(t)
  const flags = ['--port', `${await freePort()}`, '--segment-mb', '8', '--no-search']
  const seen = terminal(t, ana, ['serve', ...flags, '--registration', 'invited'])
  await until('the greeting', () => seen.text.includes('Ctrl-C'))
  const [, come] = /\n {2}let in +(.*)\n/.exec(seen.text)!
  const options = { cwd: ana.home, env: ana.environment, encoding: 'utf8' } as const
  t.match(spawnSync('sh', ['-c', come!], options), { status: 0, stdout: /^agt_\w+ ana / })
  seen.child.stdin.write('\x03')
  await until('its end', () => seen.code !== null)
})

t.test('serve: one port for both: refused, and no other process is blamed', async (t) => {
  const port = `${await freePort()}`
  const flags = ['--port', port, '--ops-port', port, '--data', dataDirectory(t)]
  const { code, stderr } = await run(['serve', ...flags])
  t.equal(code, 64)
  t.match(stderr, `--ops-port and --port are both ${port}; choose another --ops-port\n`)
})

t.test('its command: on the PATH of npx alone: npx, as whoever types it needs', async (t) => {
  const [, file] = ownCommand({})
  const bin = join(t.testdir(), 'node_modules', '.bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(file!, join(bin, 'agent-forum'))
  t.equal(typedCommand({ PATH: bin }), 'npx agent-forum')
  const other = t.testdir({ bin: {} })
  symlinkSync(file!, join(other, 'bin', 'agent-forum'))
  t.equal(typedCommand({ PATH: join(other, 'bin') }), 'agent-forum')
})

t.test('mcp: on a terminal: says what it waits for; elsewhere nothing', { skip }, async (t) => {
  const ana = new Person(t)
  const seen = terminal(t, ana, ['mcp'])
  const line =
    'waiting for an MCP client on standard input; agent-forum mcp setup enters it into one'
  await until('the line', () => seen.text.endsWith('\n'))
  t.equal(seen.text, `${line}\n`)
  t.same(await ana.run(['mcp']), { code: 0, stdout: '', stderr: '' })
  seen.child.stdin.write('\x03')
  await until('its end', () => seen.code !== null)
})

t.test('serve: --log-format: JSON on a terminal, text elsewhere', { skip }, async (t) => {
  const ana = new Person(t)
  const quick = ['--port', '0', '--segment-mb', '8', '--no-search']
  const seen = terminal(t, ana, ['serve', ...quick, '--log-format', 'json'])
  await until('the start', () => seen.text.includes('"started"'))
  for (const line of seen.text.trim().split('\n')) t.match(JSON.parse(line), { msg: String })

  const variables = { AGENT_FORUM_PRT: 'a b\x1b[31m' }
  const text = new Program(
    ['serve', ...quick, '--data', dataDirectory(t), '--log-format=text'],
    variables,
  )
  t.teardown(() => text.stop('SIGKILL'))
  await until('the greeting', () => text.stdout.includes('Ctrl-C'))
  t.match(text.stdout, /^\d\d:\d\d:\d\d warning: unknown_environment_variable variable="?AGENT/)
  t.match((await text.stop('SIGTERM')).stdout, /\n\d\d:\d\d:\d\d stopped\n$/)

  const data = dataDirectory(t)
  const quiet = ['--log-format', 'text', '--log-level', 'error']
  const silent = new Program(['serve', ...quick, '--data', data, ...quiet])
  t.teardown(() => silent.stop('SIGKILL'))
  await until('the node to serve', () => existsSync(join(data, 'secret')))
  t.equal((await silent.stop('SIGTERM')).stdout, '')
  const wrong = await run(['serve', '--log-format', 'xml'])
  t.match(wrong, { code: 64, stderr: /--log-format takes auto, json or text, not "xml"/ })
})

t.test('serve: a port in use: the next free one is named, and it can be used', async (t) => {
  const [first, second] = [createServer(), createServer()]
  t.teardown(() => [first, second].map((server) => server.close()))
  await new Promise<void>((resolve) => first.listen(0, '127.0.0.1', resolve))
  const { port } = first.address() as AddressInfo
  await new Promise<void>((resolve) => {
    second.once('error', () => resolve()) // the next port is in use already, just as good
    second.listen(port + 1, '127.0.0.1', resolve)
  })
  for (const [flag, other] of [
    ['--port', ['--ops-port', `${port + 2}`]],
    ['--ops-port', ['--port', `${port + 2}`]],
  ] as const) {
    const data = dataDirectory(t)
    const args = ['serve', '--data', data, flag, `${port}`, ...other]
    const { code, stdout, stderr } = await run([...args, '--log-level', 'error'])
    t.strictSame([code, stdout], [75, ''])
    const [, free] = new RegExp(` in use by .*, such as ${flag} (\\d+)\n$`).exec(stderr) ?? []
    t.ok(Number(free) > port + 2, stderr)
    t.notOk(existsSync(join(data, '0000000001.wal')))
    const probe = createServer()
    await new Promise<void>((resolve) => probe.listen(Number(free), '127.0.0.1', resolve))
    probe.close()
  }
})
