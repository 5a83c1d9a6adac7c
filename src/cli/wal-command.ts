// agent-forum wal verify | inspect | export | repair: tools for a log that no process has open. All
// but repair only read. Each tool is loaded when it runs.

import {
  ConfigError,
  dataOf,
  type Flags,
  flagHelp,
  readFlags,
  suggestion,
} from '../base/arguments.ts'

const flags = {
  data: { value: 'DIR', help: 'the directory; default: AGENT_FORUM_DATA or ./data' },
  out: { value: 'FILE', help: 'export: write to a new file instead of stdout' },
  'copy-to': {
    value: 'DIR2',
    help: 'repair: the new directory that everything is copied to first',
  },
  json: { value: null, help: 'verify, inspect, repair: report the findings as JSON' },
} satisfies Flags

const { data, out, json } = flags

export const walCommands = {
  verify: { summary: 'check every byte of a log that no node has open', flags: { data, json } },
  inspect: { summary: 'the same, and count its records of each kind', flags: { data, json } },
  export: { summary: 'its records as JSON, one a line', flags: { data, out } },
  repair: {
    summary: 'make a damaged log start again, after a full copy',
    flags: { data, 'copy-to': flags['copy-to'], json },
  },
} satisfies Record<string, { summary: string; flags: Flags }>

const walHelp = `\
agent-forum wal verify | inspect | export | repair [flags]

  agent-forum wal verify --data ./data
  agent-forum wal export --data ./data --out records.ndjson
  agent-forum wal repair --data ./data --copy-to before-repair

${commandHelp()}

For a damaged log, export writes the records before the damage, and repair keeps the part of the log
before it, and reports what is lost.

${flagHelp(flags)}
  -h, --help

Exit codes: 0 whole, 64 a flag that cannot be used or no log, 74 it cannot be read, 75 a process has
it open, 76 another version wrote it, 77 damage.
`

function commandHelp(): string {
  const lines = Object.entries(walCommands).map(([name, { summary }]) => {
    return `  ${name.padEnd(8)} ${summary}`
  })
  return lines.join('\n')
}

interface WalCommand {
  command: keyof typeof walCommands | 'help'
  data: string
  out: string | undefined
  copyTo: string | undefined
  json: boolean
}

/** Runs the command; returns its exit code. Throws a ConfigError for unusable arguments. */
export async function runWal(args: string[]): Promise<number> {
  const { command, data, out, copyTo, json } = parse(args)
  if (command === 'export') return (await import('./wal-export.ts')).exportLog(data, out)
  if (command === 'repair') return (await import('./wal-repair.ts')).repairLog(data, copyTo, json)
  if (command !== 'help') {
    const { checkLog } = await import('./wal-check.ts')
    return checkLog(data, { counting: command === 'inspect', json })
  }
  process.stdout.write(walHelp)
  return 0
}

function parse(args: string[]): WalCommand {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try wal --help`)
  const { values, positionals } = readFlags(args, flags, refuse, { allowPositionals: true })
  const [name = 'help', ...more] = values.help ? ['help'] : positionals
  const known = Object.keys(walCommands)
  if (more.length > 0 || ![...known, 'help'].includes(name)) {
    const meant = suggestion(name, known, 'wal ')
    throw refuse(`there is no command "wal ${positionals.join(' ')}"${meant}`)
  }
  const command = name as WalCommand['command']
  const taken = command === 'help' ? flags : walCommands[command].flags
  for (const flag of Object.keys(values)) {
    if (flag !== 'help' && !(flag in taken)) throw refuse(`wal ${command} takes no --${flag}`)
  }
  const { data, out, json = false } = values
  return { command, data: dataOf(data), out, copyTo: values['copy-to'], json }
}
