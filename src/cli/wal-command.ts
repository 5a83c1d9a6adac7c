// agent-forum wal verify | inspect | export | repair: tools for a log that no process has open. All
// but repair only read.

import { describeReport } from '../../wal/tools/inspect.ts'
import { ConfigError, dataOf, helpFlag, readArgs, suggestion } from '../config/arguments.ts'
import { decode } from '../forum/records.ts'
import { progressBar } from './progress-bar.ts'
import { readLog } from './read-log.ts'
import { exportLog } from './wal-export.ts'
import { repairLog } from './wal-repair.ts'

const walHelp = `\
agent-forum wal verify [--data DIR]     check every byte; say where it is damaged
agent-forum wal inspect [--data DIR]    the same, and how many records of each kind
agent-forum wal export [--data DIR] [--out FILE]
                                        the records as JSON, one a line, on stdout or in a new
                                        file; of a damaged log those before the damage
agent-forum wal repair [--data DIR] --copy-to DIR2
                                        copies everything to the new directory DIR2, then keeps
                                        the part of a damaged log before the damage, and reports
                                        what is lost
  -h, --help

Without --data, DIR is AGENT_FORUM_DATA or ./data. Exit codes: 0 whole, 64 a flag that cannot be
used, 74 it cannot be read, 75 a process has it open, 76 a newer version wrote it, 77 damage.
`

const options = {
  data: { type: 'string' },
  out: { type: 'string' },
  'copy-to': { type: 'string' },
  help: helpFlag,
} as const

interface WalCommand {
  command: 'verify' | 'inspect' | 'export' | 'repair' | 'help'
  data: string
  out: string | undefined
  copyTo: string | undefined
}

// The flags that a command takes besides --data.
const flagsOf: Record<WalCommand['command'], (keyof typeof options)[]> = {
  verify: [],
  inspect: [],
  export: ['out'],
  repair: ['copy-to'],
  help: ['out', 'copy-to'],
}

/** Runs the command; returns its exit code. Throws a ConfigError for unusable arguments. */
export async function runWal(args: string[]): Promise<number> {
  const { command, data, out, copyTo } = parse(args)
  if (command === 'export') return exportLog(data, out)
  if (command === 'repair') return repairLog(data, copyTo)
  if (command !== 'help') return check(data, command === 'inspect')
  process.stdout.write(walHelp)
  return 0
}

async function check(data: string, counting: boolean): Promise<number> {
  const counts = new Map<string, number>()
  const bar = progressBar('read')
  const report = await readLog(data, {
    onRecord(_, row) {
      const { type } = decode(row)
      counts.set(type, (counts.get(type) ?? 0) + 1)
    },
    onProgress: bar.at,
  }).finally(bar.stop)
  const { error } = report
  if (error !== null && error.exitCode !== 77) throw error
  const lines = describeReport(report)
  if (counting) {
    for (const [type, count] of counts) lines.push(`${type}: ${count}`)
  }
  process.stdout.write(`${lines.join('\n')}\n`)
  return error?.exitCode ?? 0
}

function parse(args: string[]): WalCommand {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try wal --help`)
  const { values, positionals } = readArgs({ args, options, allowPositionals: true }, refuse)
  const [name = 'help', ...more] = values.help ? ['help'] : positionals
  if (more.length > 0 || !Object.hasOwn(flagsOf, name)) {
    const meant = suggestion(name, Object.keys(flagsOf), 'wal ')
    throw refuse(`there is no command "wal ${positionals.join(' ')}"${meant}`)
  }
  const command = name as WalCommand['command']
  for (const flag of Object.keys(values) as (keyof typeof options)[]) {
    if (['data', 'help', ...flagsOf[command]].includes(flag)) continue
    throw refuse(`wal ${command} takes no --${flag}`)
  }
  return { command, data: dataOf(values.data), out: values.out, copyTo: values['copy-to'] }
}
