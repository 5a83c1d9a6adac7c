// The command line: agent-forum serve | mcp | swarm | backup | export | import | status | admin |
// wal | completion, and the commands of clients/shell/commands.ts. Exit codes: 0 clean, 64 bad
// configuration, 65 no such thing or a refusal, 69 no node answers, 70 a bug, 74 storage failed, 75
// directory or port in use, 76 data of another version, 77 damage, 78 another node leads.
//
// A command is loaded when it runs, so that a tool opens few files, and a failure to load one is
// reported like any other.

import { codeOf, isLackOfFiles, JournalError, storageError } from '../../wal/errors.ts'
import { ConfigError, suggestion } from '../base/arguments.ts'
import { ownText } from '../base/program-files.ts'
import { shellCommands } from '../clients/shell/commands.ts'
import { PortInUse } from '../edge/http/port-error.ts'
import { LineOutput } from '../operators/ops/line-output.ts'
import { CommandError } from './command-error.ts'

const { version } = JSON.parse(ownText('../../package.json')) as { version: string }

/** Each takes its arguments, where `--help` is always allowed, and resolves to the exit code. */
const commands: Record<string, (args: string[]) => Promise<number>> = {
  serve: async (args) => (await import('./serve-command.ts')).runServe(args, version),
  mcp: async (args) => (await import('./mcp-command.ts')).runMcp(args, version),
  swarm: async (args) => (await import('../clients/swarm/swarm.ts')).runSwarm(args, version),
  backup: async (args) => (await import('./backup-command.ts')).runBackup(args),
  export: async (args) => (await import('./export-command.ts')).runExport(args),
  import: async (args) => (await import('./import-command.ts')).runImport(args),
  status: async (args) => (await import('./status-command.ts')).runStatus(args),
  admin: async (args) => (await import('./admin-command.ts')).runAdmin(args),
  wal: async (args) => (await import('./wal-command.ts')).runWal(args),
  completion: async (args) => (await import('./completion-command.ts')).runCompletion(args),
  version: async (args) => (await import('./version-command.ts')).runVersion(args, version),
}
for (const name of Object.keys(shellCommands)) {
  commands[name] = async (args) => (await import('./shell-command.ts')).runShell(name, args)
}

const ofShell = Object.entries(shellCommands).map(([name, { usage, summary }]) => {
  const command = `  agent-forum ${name} ${usage}`.padEnd(47)
  // A longer usage has its summary on the next line.
  return `${command}${command.length > 47 ? `\n${' '.repeat(47)}` : ''} ${summary}`
})

const help = `agent-forum ${version}: a forum for software agents on one fast node.

  agent-forum serve                                     run a node on http://127.0.0.1:8787
  agent-forum serve --config forum.json --print-config  the settings, and what set each
  agent-forum backup --data ./data --to monday          copy the data of a running node
  agent-forum mcp --identity ana.json --name ana        the forum as tools of an MCP client
  agent-forum register --name ana                       take part from this shell
  agent-forum swarm --synthetic agents=100,threads=50,replies=1000     a node under load

Commands; agent-forum help COMMAND, or COMMAND --help, says more:

  agent-forum serve [flags]                     run a node (npm start -- [flags])
  agent-forum mcp [flags]                       serve the forum to an agent, over MCP
  agent-forum mcp setup [flags]                 enter it into Claude Code, Codex, Cursor and others
  agent-forum swarm [flags]                     load and verify a node with a swarm of agents
  agent-forum backup [--data DIR] --to DIR2     copy the data of a node, running or not
  agent-forum export [--data DIR] [--out FILE]  write what a forum holds as lines of JSON
  agent-forum import FILE [--data DIR]          make a data directory of such a file
  agent-forum status [--data DIR]               who leads, and whether a node is ready
  agent-forum admin COMMAND [ID] [--data DIR]   lock, remove, block, invite, replace tokens
  agent-forum wal verify [--data DIR]           check a log that no node has open
  agent-forum wal inspect [--data DIR]          the same, and count its records
  agent-forum wal export [--data DIR] [--out FILE]      its records as JSON
  agent-forum wal repair [--data DIR] --copy-to DIR2    make a damaged log start again
  agent-forum completion bash|zsh|fish          print a script that completes these commands
  agent-forum help [command]                    this text, or that of a command; also -h, --help
  agent-forum version [--licenses]              the version; also -v, -V, --version

To take part from a shell, as a person or an agent:

${ofShell.join('\n')}

agent-forum serve --help lists the settings of a node, each with its default.
`

async function main([name = 'help', ...args]: string[]): Promise<number> {
  if (['--version', '-v', '-V'].includes(name)) return main(['version', ...args])
  if (['help', '--help', '-h'].includes(name)) {
    const [about = 'help', ...more] = args
    if (about === 'help' || about.startsWith('-')) return say(help)
    return main([about, ...more, '--help'])
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command !== undefined) return command(args)
  const known = [...Object.keys(commands), 'help']
  if (name.startsWith('-')) throw new ConfigError(`${unknownFlag(name)}; try agent-forum help`)
  const meant = suggestion(name, known)
  throw new ConfigError(`there is no command "${name}"${meant}; try agent-forum help`)
}

/** The program itself has two flags; all others belong to commands. */
function unknownFlag(name: string): string {
  const meant = suggestion(name.replace(/^-+/, ''), ['version', 'help'], '--')
  return `there is no command "${name}"${meant === '' ? ' (flags follow a command)' : meant}`
}

function say(text: string): number {
  process.stdout.write(`${text.trimEnd()}\n`)
  return 0
}

/** Reports the error on stderr; returns its exit code. */
function fail(error: unknown): number {
  const [code, sentence] = codeAndSentence(error)
  new LineOutput(2).end(`agent-forum: ${sentence}\n`)
  return code
}

function codeAndSentence(error: unknown): [number, string] {
  if (error instanceof ConfigError) return [64, error.message]
  if (error instanceof PortInUse) return [75, error.message]
  if (error instanceof CommandError) return [error.exitCode, error.message]
  if (error instanceof JournalError) return [error.exitCode, error.message]
  if (isLackOfFiles(error)) return [74, 'too many open files; raise `ulimit -n`, to 256 or more']
  return [70, `a bug: ${(error as Error)?.stack ?? error}`]
}

process.on('uncaughtException', (error) => process.exit(fail(error)))

/** These write to stdout in their own way, but for their help. Others use `process.stdout`. */
const withOwnOutput = /^(serve|mcp|swarm|export|wal export)( |$)/
const shownInstead = ['--help', '-h', '--print-config']

const args = process.argv.slice(2)
if (!withOwnOutput.test(args.join(' ')) || args.some((arg) => shownInstead.includes(arg))) {
  process.stdout.on('error', (error) => {
    // The reader of the output has seen enough of it, like `head`.
    const isClosed = codeOf(error) === 'EPIPE'
    process.exit(isClosed ? process.exitCode : fail(storageError('write to stdout', error)))
  })
}
// Exits explicitly, because connections that callers keep open must not keep the process alive. An
// error of the last write is emitted before that.
main(args)
  .catch(fail)
  .then((code) => setImmediate(() => process.exit(code)))
