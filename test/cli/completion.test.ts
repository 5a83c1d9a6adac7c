// agent-forum completion: each script in its own shell offers commands, flags and values.

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { settingFlags } from '../../src/config/config.ts'
import { run } from '../api/process.ts'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** Completes the last word of a command line in the current directory, in a new shell. */
type Complete = (...words: string[]) => string[]

async function completionIn(t: Test, shell: Shell): Promise<Complete> {
  const { code, stdout, stderr } = await run(['completion', shell])
  t.strictSame([code, stderr], [0, ''])
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-completion-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'script'), stdout)
  mkdirSync(join(dir, 'work/a directory'), { recursive: true })
  writeFileSync(join(dir, 'work/a file.json'), '')
  return (...words) => {
    const [command, ...args] = commandOf[shell](join(dir, 'script'), words)
    const cwd = join(dir, 'work')
    const ran = spawnSync(command!, args, { cwd, encoding: 'utf8', timeout: 60_000 })
    if (ran.status !== 0 || ran.stderr !== '') throw new Error(`${ran.stderr}${ran.error ?? ''}`)
    return ran.stdout.split(/\r?\n/).filter((line) => line !== '')
  }
}

// The command with which each shell completes without a terminal.
const commandOf: Record<Shell, (script: string, words: string[]) => string[]> = {
  bash: (script, words) => [
    'bash',
    '--norc',
    '-c',
    `source "$1"; shift
    [[ "$(complete -p agent-forum)" == *' -F _agent_forum '* ]] || exit 1
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _agent_forum
    printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash',
    script,
    // Readline splits words at `=`, too.
    ...['agent-forum', ...words].flatMap((word) => word.split(/(?==)|(?<==)/)),
  ],
  fish: (script, words) => [
    'fish',
    '--no-config',
    '-c',
    `source ${script}
    complete -C 'agent-forum ${words.join(' ')}' | string replace -r '\\t.*' ''
    true`,
  ],
  zsh: (script, words) => [
    'zsh',
    '-f',
    '-c',
    readFileSync(join(import.meta.dirname, '../../../test/cli/complete.zsh'), 'utf8'),
    'zsh',
    script,
    `agent-forum ${words.join(' ')}`,
  ],
}

/** A value as the shells show it: with its flag or alone; a directory with or without a slash. */
const bare = (values: string[]) => [
  ...new Set(values.map((value) => value.replace(/^--[\w-]+=/, '').replace(/\/$/, ''))),
]

for (const shell of shells) {
  const isThere = spawnSync(shell, ['--version']).status === 0
  // The shells are Debian packages, which .ci/run installs.
  const skip = isThere ? false : `${shell} is not installed`
  t.test(
    `completion: ${shell}: commands, flags and values of this version`,
    { skip },
    async (t) => {
      const complete = await completionIn(t, shell)
      const has = (words: string[], expected: string[], not: string[] = []) => {
        const offered = bare(complete(...words))
        for (const word of expected) t.ok(offered.includes(word), `${words}: ${word} in ${offered}`)
        for (const word of not)
          t.notOk(offered.includes(word), `${words}: no ${word} in ${offered}`)
      }
      has([''], ['serve', 'swarm', 'backup', 'wal', 'completion', 'help', 'version'], ['verify'])
      has(['se'], ['serve'], ['swarm'])
      has(['wal', ''], ['verify', 'inspect', 'export', 'repair'], ['serve'])
      has(['help', 'b'], ['backup'])
      has(['completion', ''], [...shells])
      has(
        ['serve', '--'],
        Object.keys(settingFlags).map((name) => `--${name}`),
        ['--to'],
      )
      has(['wal', 'repair', '--'], ['--copy-to', '--data', '--json'], ['--out', '--port'])
      has(['serve', '--port', '80', '--http', ''], ['auto', 'uws', 'node'], ['serve'])
      has(['serve', '--http=n'], ['node'], ['uws'])
      has(['serve', '--trust-proxy', ''], ['xff', 'cf-connecting-ip'])
      has(['serve', '--port', ''], [], ['serve', 'auto', '--http', 'a directory'])
    },
  )

  t.test(`completion: ${shell}: directories and files, also with spaces`, { skip }, async (t) => {
    const complete = await completionIn(t, shell)
    const plain = (words: string[]) =>
      bare(complete(...words)).map((name) => name.replace('\\', ''))
    t.same(plain(['serve', '--data', 'a']), ['a directory'])
    t.match(plain(['serve', '--config', 'a']).sort(), ['a directory', 'a file.json'])
    // Here bash's function runs outside of readline, which would remove the backslash.
    const begun = shell === 'bash' ? 'a f' : 'a\\ f'
    t.same(plain(['wal', 'export', '--data', 'data', '--out', begun]), ['a file.json'])
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
