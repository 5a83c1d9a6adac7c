// agent-forum completion bash | zsh | fish: prints a script that completes the commands, their
// flags and those values that can be listed. It is derived from the flag tables with which the
// commands parse their arguments, so it knows every flag of this version.

import { ConfigError, type Flag, type Flags, readFlags, suggestion } from '../base/arguments.ts'
import { shellCommands } from '../clients/shell/commands.ts'
import { swarmFlags } from '../clients/swarm/options.ts'
import { serveSwitches, settingFlags } from '../config/config.ts'
import { adminCommands } from './admin-command.ts'
import { backupFlags } from './backup-command.ts'
import { exportFlags } from './export-command.ts'
import { importFlags } from './import-command.ts'
import { mcpFlags } from './mcp-command.ts'
import { mcpSetupFlags } from './mcp-setup-command.ts'
import { statusFlags } from './status-command.ts'
import { versionFlags } from './version-command.ts'
import { walCommands } from './wal-command.ts'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }
type Shell = keyof typeof scripts

const shells = Object.keys(scripts) as Shell[]

const completionHelp = `\
agent-forum completion bash | zsh | fish

  source <(agent-forum completion bash)                      in ~/.bashrc
  source <(agent-forum completion zsh)                       in ~/.zshrc, after compinit
  agent-forum completion fish > ~/.config/fish/completions/agent-forum.fish

Prints a script that completes the commands, their flags and values.

  -h, --help

Exit codes: 0 printed, 64 an unknown shell.
`

const leaf = (path: string, summary: string, flags: Flags): CommandTable => ({
  path,
  summary,
  flags,
  words: {},
})

/** Returns a table for each command; the path '' is that of the program itself. */
function commandTables(): CommandTable[] {
  const wal = Object.entries(walCommands).map(([name, { summary, flags }]) => {
    return leaf(`wal ${name}`, summary, flags)
  })
  const admin = Object.entries(adminCommands).map(([name, { summary, flags }]) => {
    return leaf(`admin ${name}`, summary, flags)
  })
  const setup = leaf('mcp setup', 'enter it into MCP clients', mcpSetupFlags)
  const commands = [
    leaf('serve', 'run a node', { ...settingFlags, ...serveSwitches }),
    { ...leaf('mcp', 'serve the forum to an agent, over MCP', mcpFlags), words: wordsOf([setup]) },
    leaf('swarm', 'load and verify a node with a swarm of agents', swarmFlags),
    leaf('backup', 'copy the data of a node, running or not', backupFlags),
    leaf('export', 'write what a forum holds as lines of JSON', exportFlags),
    leaf('import', 'make a data directory of such a file', importFlags),
    leaf('status', 'say who leads, and whether a node is ready', statusFlags),
    {
      ...leaf('admin', 'lock, remove, block, invite, replace tokens', {}),
      words: wordsOf(admin),
    },
    { ...leaf('wal', 'check, export or repair a log', {}), words: wordsOf(wal) },
    {
      ...leaf('completion', 'print a script that completes these commands', {}),
      words: Object.fromEntries(shells.map((shell) => [shell, `for ${shell}`])),
    },
    ...Object.entries(shellCommands).map(([name, { summary, flags }]) => {
      return leaf(name, summary, flags)
    }),
    leaf('version', 'print the version', versionFlags),
  ]
  const help = { ...leaf('help', 'explain a command', {}), words: wordsOf(commands) }
  const all = [...commands, help]
  return [{ ...leaf('', '', {}), words: wordsOf(all) }, ...all, setup, ...wal, ...admin]
}

/** Returns the last words of the commands, with their summaries. */
function wordsOf(tables: readonly CommandTable[]): Record<string, string> {
  return Object.fromEntries(tables.map(({ path, summary }) => [path.split(' ').at(-1)!, summary]))
}

/** Runs the command; returns its exit code. Throws a ConfigError for an unknown shell. */
export async function runCompletion(args: string[]): Promise<number> {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try completion --help`)
  const { values, positionals } = readFlags(args, {}, refuse, { allowPositionals: true })
  if (values.help) {
    process.stdout.write(completionHelp)
    return 0
  }
  const [name = '', ...more] = positionals
  const shell = shells.find((known) => known === name)
  if (shell === undefined || more.length > 0) {
    throw refuse(`completion takes bash, zsh or fish${suggestion(name, shells)}`)
  }
  process.stdout.write(scripts[shell](commandTables()))
  return 0
}

// The completion scripts of `agent-forum completion`, generated from tables of commands. Each
// script does the same in its shell's own terms:
//
//   1. The words before the cursor say which command is being written: ``, `wal`, `wal verify`.
//   2. After a flag that takes a value, offer directories, files, the flag's choices, or nothing.
//   3. Otherwise, offer the words that may follow the command, or its flags.
//
// No script runs the program, so a completion does not pay for a start of Node.

export interface CommandTable {
  /** The words of the command after the program's name, with single spaces; '' for none. */
  path: string
  summary: string
  flags: Flags
  /** What can follow the command, with descriptions: subcommands, or other words. */
  words: Record<string, string>
}

/** Returns what completes the value of a flag: the names of files, words, or nothing. */
function valuesOf({ value, choices = [] }: Flag): 'directories' | 'files' | readonly string[] {
  if (value?.startsWith('DIR')) return 'directories'
  return value === 'FILE' ? 'files' : choices
}

const flagNames = ({ flags }: CommandTable) => [...Object.keys(flags).map((name) => `--${name}`)]

/** Returns the words that lead from one command to the next. */
function steps(tables: readonly CommandTable[]): { from: string; word: string; to: string }[] {
  return tables
    .filter(({ path }) => path !== '')
    .map(({ path }) => {
      const word = path.split(' ').at(-1)!
      return { from: path.slice(0, -word.length).trimEnd(), word, to: path }
    })
}

/** For bash 3.2 and newer, without the package bash-completion. */
function bashScript(tables: readonly CommandTable[]): string {
  const words = tables.map((table) => {
    const offered = [...Object.keys(table.words), ...flagNames(table), '--help']
    return `    '${table.path}') words='${offered.join(' ')}' ;;`
  })
  const values = tables.flatMap(({ path, flags }) =>
    Object.entries(flags).flatMap(([name, flag]) => {
      if (flag.value === null) return []
      const known = valuesOf(flag)
      const what = typeof known === 'string' ? known : 'words'
      const set = what === 'words' ? `words='${(known as string[]).join(' ')}'` : ''
      return [`    '${path} --${name}') what=${what} ${set};;`]
    }),
  )
  return `\
# bash completion for agent-forum: source <(agent-forum completion bash)
_agent_forum() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" flag="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='' what=commands words='' i IFS=$'\\n'
  # bash splits --flag=value at the sign.
  if [ "$cur" = '=' ]; then
    cur=''
  elif [ "$flag" = '=' ]; then
    flag="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
${steps(tables)
  .map(({ from, word, to }) => `      '${from} ${word}') path='${to}' ;;`)
  .join('\n')}
    esac
  done
  case "$path" in
${words.join('\n')}
  esac
  case "$path $flag" in
${values.join('\n')}
  esac
  case "$what" in
    # Readline completes and quotes names; bash 3.2 cannot be told to.
    directories) compopt -o dirnames 2>/dev/null || COMPREPLY=($(compgen -d -- "$cur")) ;;
    files) compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$cur")) ;;
    *) IFS=' '; COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
  esac
}
complete -F _agent_forum agent-forum
`
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** For zsh: in a directory of \`fpath\` as _agent-forum, or sourced after compinit. */
function zshScript(tables: readonly CommandTable[]): string {
  const plain = (text: string) => text.replaceAll(/[\\[\]:]/g, '\\$&')
  const specOf = ([name, flag]: [string, Flag]) => {
    const { value, bare, help } = flag
    if (value === null) return quoted(`--${name}[${plain(help)}]`)
    const known = valuesOf(flag)
    const listed = typeof known === 'string' ? '' : known.length > 0 ? `(${known.join(' ')})` : ' '
    const action = known === 'directories' ? '_files -/' : known === 'files' ? '_files' : listed
    const colon = bare === undefined ? ':' : '::'
    return quoted(`--${name}=[${plain(help)}]${colon}${plain(value)}:${action}`)
  }
  const branches = tables.map((table) => {
    const words = Object.entries(table.words).map(([word, what]) => {
      return quoted(`${plain(word)}:${plain(what)}`)
    })
    const specs = Object.entries(table.flags).map(specOf)
    specs.push(quoted('(- *)--help[explain the command]'))
    const known = words.length === 0 ? '' : `words_known=(${words.join(' ')}); `
    const lines = ['flags=(', ...specs.map((spec) => `  ${spec}`), ') ;;'].join('\n    ')
    return `    ${quoted(table.path)}) ${known}${lines}`
  })
  return `\
#compdef agent-forum
# zsh completion for agent-forum: source <(agent-forum completion zsh), after compinit
_agent_forum() {
  local -a words_before=("\${(@)words[2,CURRENT-1]}") words_known flags
  local found='' word
  integer depth=0
  for word in $words_before; do
    case "$found $word" in
${steps(tables)
  .map(
    ({ from, word, to }) => `      ${quoted(`${from} ${word}`)}) found=${quoted(to)}; depth+=1 ;;`,
  )
  .join('\n')}
    esac
  done
  case "$found" in
${branches.join('\n')}
  esac
  # _arguments takes the word before those that it completes for the command.
  shift $depth words
  (( CURRENT -= depth ))
  if (( $#words_known && CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    _describe 'command' words_known
  else
    _arguments $flags
  fi
}
if [[ $funcstack[1] == _agent_forum || $funcstack[1] == _agent-forum ]]; then
  _agent_forum "$@"
else
  compdef _agent_forum agent-forum
fi
`
}

/** For fish 3.0 and newer. */
function fishScript(tables: readonly CommandTable[]): string {
  const lines = tables.flatMap(({ path, words, flags }) => {
    const start = `complete -c agent-forum -n ${quoted(`__agent_forum_at ${path}`.trimEnd())}`
    const named = Object.entries(words).map(([word, what]) => {
      return `${start} -a ${quoted(word)} -d ${quoted(what)}`
    })
    const flagged = Object.entries(flags).map(([name, flag]) => {
      const { value, help } = flag
      const known = valuesOf(flag)
      const files = known === 'directories' ? " -a '(__fish_complete_directories)'" : ''
      const listed = typeof known === 'string' ? files : ` -a ${quoted(known.join(' '))}`
      const argument = value === null ? '' : known === 'files' ? ' -r -F' : ` -x${listed}`
      return `${start} -l ${name}${argument} -d ${quoted(help)}`
    })
    return [...named, ...flagged, `${start} -l help -d 'explain the command'`]
  })
  return `\
# fish completion for agent-forum: ~/.config/fish/completions/agent-forum.fish
function __agent_forum_at
    set -l found ''
    for word in (commandline -opc)[2..-1]
        switch "$found $word"
${steps(tables)
  .map(
    ({ from, word, to }) => `            case '${from} ${word}'\n                set found '${to}'`,
  )
  .join('\n')}
        end
    end
    test "$found" = "$argv"
end
complete -c agent-forum -f
${lines.join('\n')}
`
}
