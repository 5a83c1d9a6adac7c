// The command line: flags and variables, exit codes, signals.

import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { dataDirectory, Program, run } from '../api/process.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

const serve = (t: Test, ...flags: string[]) => [
  'serve',
  '--port',
  '0',
  '--data',
  dataDirectory(t),
  ...flags,
]

/** Starts a node, and resolves to it with its URL. The node is stopped at the end of the test. */
async function started(t: Test, args: string[], environment: Record<string, string> = {}) {
  const program = new Program(args, environment)
  t.teardown(() => program.stop('SIGKILL'))
  const { url, ...fields } = await program.logged('started')
  return { program, url: url!, fields }
}

const wrong: [string, string[], string][] = [
  ['an unknown command', ['serves'], 'there is no command "serves" (did you mean serve?)'],
  ['a misspelled flag', ['--verison'], 'there is no command "--verison" (did you mean --version?)'],
  ['a flag without a command', ['--port', '0'], 'flags follow a command'],
  ['an impossible value', ['serve', '--port', '65536'], '--port takes a whole number'],
  [
    'an address of another machine',
    ['serve', '--port', '0', '--host', '203.0.113.7'],
    '203.0.113.7 is not an address of this machine',
  ],
  [
    'a host name that does not exist',
    ['serve', '--port', '0', '--host', 'forum.invalid'],
    'the host name forum.invalid cannot be resolved',
  ],
]
for (const [what, args, sentence] of wrong) {
  t.test(`arguments: ${what}: one line on stderr, exit 64`, async (t) => {
    const { code, stdout, stderr } = await run(args, { AGENT_FORUM_DATA: dataDirectory(t) })
    t.equal(code, 64)
    t.match(stderr, /^agent-forum: [^\n]+\n$/)
    t.match(stderr, sentence)
    t.notMatch(stderr, /a bug|\bat .*:\d/)
    t.notMatch(stdout, 'started')
  })
}

t.test('environment: a variable counts, a flag wins over it', async (t) => {
  const environment = {
    AGENT_FORUM_PORT: '0',
    AGENT_FORUM_DATA: dataDirectory(t),
    AGENT_FORUM_DURABILITY: 'none',
    AGENT_FORUM_PUBLIC_URL: 'https://forum.example',
  }
  const args = ['serve', '--durability', 'interval:5']
  const { url, fields } = await started(t, args, environment)
  t.match(fields, { durability: 'interval:5', data: environment.AGENT_FORUM_DATA })
  t.match(await (await fetch(`${url}/api/status`)).json(), { durability: 'interval:5' })
  const document = await (await fetch(`${url}/openapi.json`)).json()
  t.match(document, { servers: [{ url: 'https://forum.example' }] })
})

t.test('environment: an unknown variable: a warning, without its value', async (t) => {
  const { program } = await started(t, serve(t), { AGENT_FORUM_PROT: '8080' })
  const warnings = program.log.filter(({ level }) => Number(level) >= 40)
  t.match(warnings, [
    {
      level: 40,
      msg: 'unknown_environment_variable',
      variable: 'AGENT_FORUM_PROT (did you mean AGENT_FORUM_PORT?)',
    },
  ])
})

t.test('host: an IPv6 address: the URL has brackets, and works', async (t) => {
  const args = serve(t, '--host', '::1')
  const { url } = await started(t, args)
  t.match(url, /^http:\/\/\[::1\]:\d+$/)
  t.equal((await fetch(`${url}/api/status`)).status, 200)
})

t.test('log level: silent: no output, and the node serves', async (t) => {
  const port = await freePort()
  const program = new Program([...serve(t, '--log-level', 'silent'), '--port', `${port}`])
  t.teardown(() => program.stop('SIGKILL'))
  const isServing = () => fetch(`http://127.0.0.1:${port}/api/status`).then(({ ok }) => ok)
  await until('it to serve', () => program.hasEnded || isServing().catch(() => false))
  const { code, stdout, stderr } = await program.stop('SIGTERM')
  t.strictSame([code, stdout, stderr], [0, '', ''])
})

t.test(
  'a second node on its port or its data: one line, exit 75, and no log is made',
  async (t) => {
    const args = serve(t)
    const { program, url } = await started(t, args)
    t.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
    const { port } = new URL(url)
    const elsewhere = serve(t, '--port', port)
    const [onPort, onData] = [await run(elsewhere), await run(args)]
    t.equal(onPort.code, 75)
    t.match(
      onPort.stderr,
      new RegExp(
        `^agent-forum: 127\\.0\\.0\\.1:${port} is in use by another process; end the process ` +
          'that has it, or choose another --host or --port, such as --port \\d+\n$',
      ),
    )
    t.strictSame(readdirSync(elsewhere.at(-3)!), [], 'no log, and no lock')
    t.equal(onData.code, 75)
    t.match(
      onData.stderr,
      /^agent-forum: [^\n]+ is in use by process \d+; stop it, or choose another directory\n$/,
    )
    t.equal((await fetch(`${url}/api/status`)).status, 200)
    t.equal(program.log.filter(({ msg }) => msg === 'started').length, 1)
    await started(t, [...elsewhere, '--port', '0']) // its directory was released
  },
)

t.test('data directory: others may write to it: a warning, and it is used', async (t) => {
  const data = dataDirectory(t)
  mkdirSync(data)
  for (const [mode, count] of [
    [0o777, 1],
    [0o770, 1],
    [0o755, 0],
    [0o700, 0],
  ] as const) {
    chmodSync(data, mode)
    const { program } = await started(t, ['serve', '--port', '0', '--data', data])
    await program.stop('SIGTERM')
    const warnings = program.log.filter(({ msg }) => msg === 'data_directory_open')
    t.equal(warnings.length, count, mode.toString(8))
    if (count === 1) t.match(warnings, [{ level: 40, data, mode: mode.toString(8) }])
  }
})

t.test('data directory: impossible: one line, exit 74', async (t) => {
  const parent = dataDirectory(t)
  mkdirSync(parent)
  writeFileSync(`${parent}/file`, '')
  for (const data of [`${parent}/file`, `${parent}/a/b`]) {
    const { code, stderr } = await run(['serve', '--port', '0', '--data', data])
    t.equal(code, 74, data)
    t.match(stderr, /^agent-forum: [^\n]+\n$/)
  }
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal}: twice, connections open: says that it stops, and exits with 0`, async (t) => {
    const { program, url } = await started(t, serve(t))
    const open = await Promise.all(Array.from({ length: 5 }, () => fetch(`${url}/api/status`)))
    t.ok(open.every(({ ok }) => ok))
    program.child.kill(signal)
    await program.logged('stopping')
    const { code, stderr } = await program.stop(signal)
    t.strictSame([code, stderr], [0, ''])
    t.match(program.log.at(-2), { msg: 'stopping', signal })
    t.match(program.log.at(-1), { msg: 'stopped' })
  })
}

t.test('log: at any level: no token, no content', async (t) => {
  const { program, url } = await started(t, serve(t, '--log-level', 'debug'))
  const post = (path: string, body: object, headers = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const { token } = (await (await post('/api/identities', {})).json()) as { token: string }
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'a-secret-key' }
  const newThread = { title: 'a secret title', content: 'a secret text' }
  t.equal((await post('/api/threads', newThread, headers)).status, 201)
  t.equal((await post('/api/threads', { ...newThread, title: '' }, headers)).status, 400)
  const { stdout, stderr } = await program.stop('SIGTERM')
  t.notMatch(stdout + stderr, /secret|aic_/)
})
