// agent-forum wal verify | inspect: checks a log that no process has open, byte by byte, and shows
// how it lies on disk. It reads; it changes nothing.

import { parseArgs } from 'node:util'
import { describeReport, inspectLog } from '../wal/inspect.ts'
import { ConfigError } from './config.ts'
import { decode } from './forum/records.ts'

export const walHelp = `\
agent-forum wal verify [--data DIR]     check every byte; say where it is damaged
agent-forum wal inspect [--data DIR]    the same, and how many records of each kind

DIR is ./data unless given. Exit codes: 0 whole, 64 a flag that cannot be used, 74 it cannot be
read, 75 a process has it open, 76 a newer version wrote it, 77 damage.
`

/** Runs the command; returns its exit code. Throws a ConfigError for what cannot be used. */
export async function runWal(args: string[]): Promise<number> {
  const { command, data } = parse(args)
  if (command === 'help') {
    process.stdout.write(walHelp)
    return 0
  }
  const counts = new Map<string, number>()
  const report = await inspectLog(data, (_, row) => {
    const { type } = decode(row)
    counts.set(type, (counts.get(type) ?? 0) + 1)
  })
  const lines = describeReport(report)
  if (command === 'inspect') {
    for (const [type, count] of counts) lines.push(`${type}: ${count}`)
  }
  process.stdout.write(`${lines.join('\n')}\n`)
  return report.error?.exitCode ?? 0
}

function parse(args: string[]): { command: string; data: string } {
  const options = { data: { type: 'string' }, help: { type: 'boolean' } } as const
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const [command = 'help', ...more] = values.help ? ['help'] : positionals
    if (more.length === 0 && ['verify', 'inspect', 'help'].includes(command)) {
      return { command, data: values.data ?? './data' }
    }
    throw new ConfigError(`there is no command "wal ${positionals.join(' ')}"; try wal --help`)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${(error as Error).message.split(/\. |\n/, 1)[0]}; try wal --help`)
  }
}
