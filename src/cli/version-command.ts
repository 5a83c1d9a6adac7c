// agent-forum version: prints the version, the native parts that run here, and all licences.

import { checkpointVersion } from '../../wal/checkpoint/manifest.ts'
import { formatVersion } from '../../wal/journal/format.ts'
import { ConfigError, type Flags, flagHelp, readFlags } from '../base/arguments.ts'
import { textOf } from '../base/program-files.ts'
import { loadBinding } from '../edge/http/uws-binding.ts'
import { stateVersion } from '../kernel/saved.ts'
import { withCommit } from '../operators/ops/commit.ts'
import { CommandError } from './command-error.ts'

export const versionFlags = {
  licenses: { value: null, help: 'list the third-party software in the program, with licences' },
} satisfies Flags

const versionHelp = `\
agent-forum version [--licenses]        also -v, -V, --version

  agent-forum version --licenses | less

Prints the version, with the commit where it is known. The second line names the Node that runs the
program, and the package of uWebSockets.js that serves, or says why Node's own HTTP server does; the
third one the formats in which the program writes a data directory.

${flagHelp(versionFlags)}
  -h, --help
`

/** Runs the command; returns its exit code. */
export function runVersion(args: string[], version: string): number {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try version --help`)
  const { values } = readFlags(args, versionFlags, refuse)
  if (values.help) return say(versionHelp)
  if (values.licenses) return say(licenses())
  return say(`${withCommit(version)}\n${nativeParts()}\n${formats()}\n`)
}

function licenses(): string {
  const list = textOf('THIRD-PARTY')
  if (list !== null) return list
  throw new CommandError(65, 'only the bundle and the executable have the list of licences')
}

function nativeParts(): string {
  const { node, v8, sqlite } = process.versions
  const unusable: string[] = []
  const binding = loadBinding((name, reason) => unusable.push(`${name}: ${reason}`))
  const server = binding === null ? 'node:http' : `${binding.name} ${binding.version}`
  return [
    `${process.platform} ${process.arch}, Node ${node}, V8 ${v8}`,
    ...(sqlite === undefined ? [] : [`SQLite ${sqlite}`]),
    [`HTTP by ${server}`, ...unusable].join('; '),
  ].join(', ')
}

function formats(): string {
  const formats = `log ${formatVersion}, checkpoint ${checkpointVersion}, state ${stateVersion}`
  return `formats on disk: ${formats}`
}

function say(text: string): number {
  process.stdout.write(text)
  return 0
}
