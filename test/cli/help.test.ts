// --help and --version of the program, of each command, and of the scripts in this repository.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Program, type Run, run } from '../api/process.ts'

const flags = [
  'host',
  'port',
  'data',
  'durability',
  'public-url',
  'poll-after',
  'idempotency-hours',
  'log-level',
]

t.test('help: of the program: requested in any way, and short enough to be read', async (t) => {
  const ways = [[], ['-h'], ['--help'], ['help'], ['help', 'help'], ['--help', '-h']]
  for (const { code, stdout, stderr } of await Promise.all(ways.map((args) => run(args)))) {
    t.strictSame([code, stderr], [0, ''])
    t.match(stdout, 'agent-forum serve --help')
    t.ok(stdout.split('\n').length < 60)
  }
})

t.test('help: of serve: requested in any way: every flag on stdout, exit 0', async (t) => {
  const ways = [
    ['help', 'serve'],
    ['serve', '--port', '0', '--help'],
    ['serve', '-h'],
  ]
  for (const { code, stdout, stderr } of await Promise.all(ways.map((args) => run(args)))) {
    t.strictSame([code, stderr], [0, ''])
    for (const flag of flags) t.match(stdout, `\n  --${flag} `)
    t.match(stdout, 'AGENT_FORUM_SECRET')
    for (const line of stdout.split('\n')) t.notMatch(line, /\s$/)
  }
})

const commands = [
  'serve',
  'mcp',
  'mcp setup',
  'swarm',
  'backup',
  'status',
  'admin',
  'wal verify',
  'wal inspect',
  'wal export',
  'wal repair',
  'completion',
]

const helps = new Map<string, Promise<Run>>()
/** What `agent-forum help NAME` prints, which runs once for each name. */
function helpOf(name: string): Promise<Run> {
  if (!helps.has(name)) helps.set(name, run(['help', ...name.split(' ')]))
  return helps.get(name)!
}

const ofShell = ['register', 'threads', 'read', 'post', 'reply', 'follow', 'feed', 'search']

t.test('help: of the program: every command; of a command: all its flags', async (t) => {
  const { stdout } = await run(['--help'])
  for (const name of commands) t.match(stdout, new RegExp(`\\n  agent-forum ${name} +[[bC]`))
  for (const name of ofShell) t.match(stdout, new RegExp(`\\n  agent-forum ${name} +[[A-Z]`))
  const flagsOf: Record<string, string[]> = {
    mcp: ['--url', '--identity', '--name', '--kind', '--http', '-h, --help'],
    'mcp setup': ['--client', '--print', '-h, --help'],
    backup: ['--data', '--to', '-h, --help'],
    status: ['--data', '--json', '-h, --help'],
    admin: ['--data', '--reason', '--no-wait', '--json', '-h, --help'],
    wal: ['--data', '--out', '--copy-to', '-h, --help'],
    swarm: ['--corpus', '--synthetic', '--url', '--connections', '--verify', '-h, --help'],
  }
  for (const [name, flags] of Object.entries(flagsOf)) {
    const [short, long, help] = await Promise.all([
      run([...name.split(' '), '-h']),
      run([...name.split(' '), '--help']),
      helpOf(name),
    ])
    t.strictSame([short.code, short.stderr], [0, ''], name)
    for (const flag of flags) t.match(short.stdout, flag)
    t.strictSame([long.stdout, help.stdout], [short.stdout, short.stdout])
  }
})

t.test('help: of each command: examples come before flags', async (t) => {
  const ofProgram = ['serve', 'swarm', 'backup', 'status', 'admin', 'wal', 'completion', 'version']
  const names = [...ofProgram, ...ofShell]
  const texts = await Promise.all(names.map(helpOf))
  for (const [i, { stdout }] of texts.entries()) {
    const example = stdout.search(/^ {2}(?:agent-forum|source|make)/m)
    const flag = stdout.search(/^ {2}-/m)
    t.ok(example > 0 && example < flag, `${names[i]}: ${example} before ${flag}`)
  }
})

t.test('output: to people and programs: without colours, whatever the environment', async (t) => {
  const lines = [['help'], ['serve', '--print-config'], ['wal', 'verfy']]
  const environments = [{ NO_COLOR: '1' }, { FORCE_COLOR: '1', TERM: 'xterm-256color' }]
  const runs = lines.flatMap((args) => environments.map((environment) => run(args, environment)))
  for (const { stdout, stderr } of await Promise.all(runs)) {
    t.ok((stdout + stderr).length > 0)
    t.notOk((stdout + stderr).includes('\x1b'))
  }
})

t.test('serve --json without --print-config: refused, and nothing is started', async (t) => {
  const { code, stdout, stderr } = await run(['serve', '--port', '0', '--memory', '--json'])
  t.strictSame([code, stdout], [64, ''])
  t.match(stderr, '--json needs --print-config')
})

const scripts = {
  '../simulate/simulate.js': ['--seeds N', '--seed S'],
  '../fuzz/main.js': ['--seconds N', '--seed S', '--rounds N', '--http SERVER'],
  '../../bench/main.js': ['--quick', '--only NAMES'],
}
for (const [script, flags] of Object.entries(scripts)) {
  t.test(`help: ${script}: its flags, and nothing is run`, async (t) => {
    const file = join(import.meta.dirname, script)
    const [short, long, wrong] = await Promise.all(
      ['-h', '--help', '--hlep'].map((flag) => new Program([flag], {}, { file }).ended),
    )
    t.strictSame([short.code, short.stderr], [0, ''])
    for (const flag of flags) t.match(short.stdout, `\n  ${flag} `)
    t.strictSame(long, short)
    t.equal(wrong.code, 64)
    t.match(wrong.stderr, /unknown flag --hlep \(did you mean --help\?\)/)
  })
}

t.test('version: with --licenses: every package of the bundle, with its licence', async (t) => {
  const { code, stdout } = await run(['version', '--licenses'])
  t.equal(code, 0)
  for (const [name, license] of [
    ['xstate', 'MIT'],
    ['uws-pack', 'MIT'],
    ['uplot', 'MIT'],
    ['@nats-io/jetstream', 'Apache-2.0'],
  ] as const) {
    t.match(stdout, new RegExp(`^  ${name} \\d+\\.\\d+\\.\\d+ +${license}$`, 'm'))
    t.match(stdout, new RegExp(`^---+\\n${name} \\d.*\\n\\n.{80}`, 'ms'))
  }
})

t.test(
  'version: a version, with the commit of a clone, the native parts, and formats',
  async (t) => {
    const top = join(import.meta.dirname, '../../..')
    const { version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
    const git = spawnSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: top,
      encoding: 'utf8',
    })
    const isClone = existsSync(join(top, '.git')) && git.status === 0
    const build = isClone ? /^\+[0-9a-f]{12,}(?:\.changed)?$/ : /^$/
    for (const args of ['--version', '-v', '-V', 'version']) {
      const { code, stdout, stderr } = await run([args])
      t.strictSame([code, stderr], [0, ''])
      t.ok(stdout.startsWith(version), args)
      const [first, second, third, ...rest] = stdout.split('\n')
      t.match(first!.slice(version.length), build)
      t.ok(
        second!.startsWith(`${process.platform} ${process.arch}, Node ${process.versions.node},`),
      )
      t.match(second, /, HTTP by (?:\S+ \d+\.\d+\.\d+|node:http; \S+: .+)$/)
      t.equal(third, 'formats on disk: log 3, checkpoint 2, state 4')
      t.same(rest, [''])
    }
  },
)
