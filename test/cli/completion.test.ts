// agent-forum completion: run in its own shell, each script offers commands, flags and values.

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { settingFlags } from '../../src/config/config.ts'
import { run } from '../api/process.ts'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** Returns the candidates for the last word of each command line. */
type Complete = (lines: readonly string[][]) => string[][]

async function completionIn(t: Test, shell: Shell): Promise<Complete> {
  const { code, stdout, stderr } = await run(['completion', shell])
  t.strictSame([code, stderr], [0, ''])
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-completion-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'script'), stdout)
  mkdirSync(join(dir, 'work/a directory'), { recursive: true })
  writeFileSync(join(dir, 'work/a file.json'), '')
  return (lines) => {
    const [command, ...args] = commandOf[shell]
    const given = lines.map(argumentOf[shell])
    const options = { cwd: join(dir, 'work'), encoding: 'utf8', timeout: 60_000 } as const
    const ran = spawnSync(command!, [...args, join(dir, 'script'), ...given], options)
    if (ran.status !== 0 || ran.stderr !== '') throw new Error(`${ran.stderr}${ran.error ?? ''}`)
    const offers = ran.stdout.split(/^<next>\r?\n/m).slice(0, -1)
    return offers.map((offer) => offer.split(/\r?\n/).filter((line) => line !== ''))
  }
}

// The command that makes each shell complete without a terminal. It takes the script and the
// command lines, and prints the candidates for each line, followed by `<next>`.
const commandOf: Record<Shell, string[]> = {
  bash: [
    'bash',
    '--norc',
    '-c',
    `source "$1"; shift
    [[ "$(complete -p agent-forum)" == *' -F _agent_forum '* ]] || exit 1
    for line; do
      IFS=$'\\x1f' read -ra COMP_WORDS <<< "$line"
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) COMPREPLY=(); _agent_forum
      printf '%s\\n' "\${COMPREPLY[@]}" '<next>'
    done`,
    'bash',
  ],
  fish: [
    'fish',
    '--no-config',
    '-c',
    `source $argv[1]
    for line in $argv[2..]
      complete -C $line | string replace -r '\\t.*' ''
      echo '<next>'
    end`,
  ],
  zsh: [
    'zsh',
    '-f',
    '-c',
    readFileSync(join(import.meta.dirname, '../../../test/cli/complete.zsh'), 'utf8'),
    'zsh',
  ],
}

const typed = (words: string[]) => `agent-forum ${words.join(' ')}`
const argumentOf: Record<Shell, (words: string[]) => string> = {
  // Readline also splits words at `=`. `read` drops the last separator.
  bash(words) {
    const split = ['agent-forum', ...words].flatMap((word) => word.split(/(?==)|(?<==)/))
    return `${split.join('\x1f')}\x1f`
  },
  fish: typed,
  zsh: typed,
}

/** Strips what shells may or may not show: the flag before a value, a slash after a directory. */
const bare = (values: string[]) => [
  ...new Set(values.map((value) => value.replace(/^--[\w-]+=/, '').replace(/\/$/, ''))),
]

const settings = Object.keys(settingFlags).map((name) => `--${name}`)
const commands = ['serve', 'swarm', 'backup', 'status', 'wal', 'completion', 'help', 'version']
const cases: [words: string[], expected: string[], not: string[]][] = [
  [[''], commands, ['verify']],
  [['se'], ['serve'], ['swarm']],
  [['wal', ''], ['verify', 'inspect', 'export', 'repair'], ['serve']],
  [['help', 'b'], ['backup'], ['serve']],
  [['completion', ''], [...shells], ['serve']],
  [['serve', '--'], settings, ['--to']],
  [
    ['wal', 'repair', '--'],
    ['--copy-to', '--data', '--json'],
    ['--out', '--port'],
  ],
  [['serve', '--port', '80', '--http', ''], ['auto', 'uws', 'node'], ['serve']],
  [['serve', '--http=n'], ['node'], ['uws']],
  [['serve', '--trust-proxy', ''], ['xff', 'cf-connecting-ip'], ['serve']],
  [['mcp', ''], ['setup'], ['serve']],
  [['mcp', 'setup', '--client', ''], ['codex', 'cursor', 'vscode'], ['serve']],
  [['re'], ['register', 'read', 'reply'], ['serve']],
  [['post', '--'], ['--private', '--with', '--identity', '--json'], ['--port']],
  [['register', '--kind', ''], ['persistent', 'guest'], ['serve']],
  [['serve', '--port', ''], [], ['serve', 'auto', '--http', 'a directory']],
]

for (const shell of shells) {
  const isThere = spawnSync(shell, ['--version']).status === 0
  // The shells are Debian packages, which .ci/tools installs.
  const skip = isThere ? false : `${shell} is not installed`
  t.test(`completion: ${shell}: this version's commands, flags and values`, { skip }, async (t) => {
    const complete = await completionIn(t, shell)
    const offers = complete(cases.map(([words]) => words)).map(bare)
    t.equal(offers.length, cases.length)
    for (const [i, [words, expected, not]] of cases.entries()) {
      const offered = offers[i]!
      for (const word of expected) t.ok(offered.includes(word), `${words}: ${word} in ${offered}`)
      for (const word of not) t.notOk(offered.includes(word), `${words}: no ${word} in ${offered}`)
    }
  })

  t.test(`completion: ${shell}: directories and files, also with spaces`, { skip }, async (t) => {
    const complete = await completionIn(t, shell)
    // Here bash's function runs outside of readline, which would otherwise remove the backslash.
    const begun = shell === 'bash' ? 'a f' : 'a\\ f'
    const offers = complete([
      ['serve', '--data', 'a'],
      ['serve', '--config', 'a'],
      ['wal', 'export', '--data', 'data', '--out', begun],
    ])
    const names = offers.map((offer) =>
      bare(offer)
        .map((name) => name.replace('\\', ''))
        .sort(),
    )
    t.same(names, [['a directory'], ['a directory', 'a file.json'], ['a file.json']])
  })
}

t.test('completion: every command of the help: is completed', async (t) => {
  const [{ stdout: help }, { stdout: script }] = await Promise.all([
    run(['help']),
    run(['completion', 'bash']),
  ])
  const commands = [...help.matchAll(/^ {2}agent-forum (\w+(?: \w+)?) +[[a-z(]/gm)]
  t.ok(commands.length > 8, 'the help names commands')
  for (const [, command] of commands) {
    const [name] = command!.split(' ')
    t.match(script, new RegExp(`^ +' ${name}'\\) path='${name}'`, 'm'), name)
  }
})

t.test('completion: without a shell, or for another one: refused in one line', async (t) => {
  const sentences: [string[], RegExp][] = [
    [[], /^agent-forum: completion takes bash, zsh or fish; try completion --help\n$/],
    [['bsh'], /takes bash, zsh or fish \(did you mean bash\?\); /],
    [['bash', 'zsh'], /takes bash, zsh or fish/],
    [['bash', '--json'], /unknown flag --json; /],
  ]
  for (const [args, sentence] of sentences) {
    const { code, stdout, stderr } = await run(['completion', ...args])
    t.strictSame([code, stdout], [64, ''])
    t.match(stderr, sentence)
  }
})
