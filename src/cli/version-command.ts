// agent-forum version: prints the version, what an executable consists of, and all licences.

import { ConfigError, type Flags, flagHelp, readFlags } from '../base/arguments.ts'
import { isExecutable, ownText, textOf } from '../base/program-files.ts'
import { withCommit } from '../operators/ops/commit.ts'
import { CommandError } from './command-error.ts'

export const versionFlags = {
  licenses: { value: null, help: 'list the third-party software in the program, with licences' },
} satisfies Flags

const versionHelp = `\
agent-forum version [--licenses]        also -v, -V, --version

  agent-forum version --licenses | less

Prints the version, with the commit where it is known. An executable, which is one file, also names
the Node and the native parts in it.

${flagHelp(versionFlags)}
  -h, --help
`

/** Runs the command; returns its exit code. */
export function runVersion(args: string[], version: string): number {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try version --help`)
  const { values } = readFlags(args, versionFlags, refuse)
  if (values.help) return say(versionHelp)
  if (values.licenses) return say(licenses())
  return say(`${withCommit(version)}\n${isExecutable ? partsOfExecutable() : ''}`)
}

function licenses(): string {
  const list = textOf('THIRD-PARTY')
  if (list !== null) return list
  throw new CommandError(65, 'only the bundle and the executable have the list of licences')
}

function partsOfExecutable(): string {
  const { node, v8, sqlite } = process.versions
  const uws = JSON.parse(ownText('uws-pack/package.json')) as { version: string }
  return `${process.platform} ${process.arch}, Node ${node}, V8 ${v8}, SQLite ${sqlite}, \
uws-pack ${uws.version}; version --licenses prints all parts
`
}

function say(text: string): number {
  process.stdout.write(text)
  return 0
}
