// agent-forum completion bash | zsh | fish: prints a script that completes the commands, their
// flags and what can be listed of the values. completion-scripts.ts makes it from the flag tables
// by which the commands read their arguments, so it knows every flag of this version.

import { ConfigError, type Flags, readFlags, suggestion } from '../base/arguments.ts'
import { serveSwitches, settingFlags } from '../config/config.ts'
import { swarmFlags } from '../swarm/options.ts'
import { adminCommands } from './admin-command.ts'
import { backupFlags } from './backup-command.ts'
import { bashScript, type CommandTable, fishScript, zshScript } from './completion-scripts.ts'
import { mcpFlags } from './mcp-command.ts'
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

Exit codes: 0 printed, 64 there is no such shell here.
`

const leaf = (path: string, summary: string, flags: Flags): CommandTable => ({
  path,
  summary,
  flags,
  words: {},
})

/** Every command, by its words; '' is the program itself. */
function commandTables(): CommandTable[] {
  const wal = Object.entries(walCommands).map(([name, { summary, flags }]) => {
    return leaf(`wal ${name}`, summary, flags)
  })
  const admin = Object.entries(adminCommands).map(([name, { summary, flags }]) => {
    return leaf(`admin ${name}`, summary, flags)
  })
  const commands = [
    leaf('serve', 'run a node', { ...settingFlags, ...serveSwitches }),
    leaf('mcp', 'serve the forum to an agent, over MCP', mcpFlags),
    leaf('swarm', 'load and verify a node with a swarm of agents', swarmFlags),
    leaf('backup', 'copy the data of a node, running or not', backupFlags),
    {
      ...leaf('admin', 'lock threads, remove messages, block identities', {}),
      words: wordsOf(admin),
    },
    { ...leaf('wal', 'check, export or repair a log', {}), words: wordsOf(wal) },
    {
      ...leaf('completion', 'print a script that completes these commands', {}),
      words: Object.fromEntries(shells.map((shell) => [shell, `for ${shell}`])),
    },
    leaf('version', 'print the version', {}),
  ]
  const help = { ...leaf('help', 'explain a command', {}), words: wordsOf(commands) }
  const all = [...commands, help]
  return [{ ...leaf('', '', {}), words: wordsOf(all) }, ...all, ...wal, ...admin]
}

/** The last words of the commands, with what they do. */
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
