// The command that starts this program again from anywhere: with absolute paths, since a client
// with windows does not have the PATH of a shell.
//
//   the executable   /opt/agent-forum
//   npx              /usr/bin/node …/npm-cli.js exec --yes --package=/opt/agent-forum.tgz -- …
//   anything else    /usr/bin/node …/cli/main.js

import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isExecutable, startedModules, urlOf } from '../base/program-files.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The words of the command, for programs. */
export function ownCommand(environment: Environment = process.env): string[] {
  if (isExecutable) return [process.execPath]
  const file = fileURLToPath(urlOf(startedModules.command))
  return byNpx(file, environment) ?? [process.execPath, file]
}

/** The same for people, who type it where the program was started, into a shell. */
export function typedCommand(environment: Environment = process.env): string {
  const words = ownCommand(environment)
  const [program, npm, , ...npx] = words
  if (npx.length > 0) return ['npx', ...npx].map(quoted).join(' ')
  const file = npm ?? program
  const folders = (environment.PATH ?? '').split(delimiter)
  const onPath = folders.find((folder) => {
    return folder !== '' && isSameFile(join(folder, 'agent-forum'), file)
  })
  // npx puts the commands of the nearest package onto the PATH, for as long as it runs.
  if (onPath?.endsWith(join('node_modules', '.bin'))) return 'npx agent-forum'
  if (onPath !== undefined) return 'agent-forum'
  const near = relative('.', file)
  const shown = quoted(near.startsWith('..') ? file : `./${near}`)
  return npm === undefined ? shown : `node ${shown}`
}

function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}

/** A word for a POSIX shell. */
const quoted = (word: string) => {
  return /^[\w./:@+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/**
 * How npx is told to run the program in this file; null where it was not started by npx. The file
 * is then in a cache, which may be cleaned: the entry names what was installed into it.
 */
export function byNpx(file: string, { npm_execpath: npm }: Environment): string[] | null {
  const [, cache, name] =
    /^(.*[\\/]_npx[\\/][^\\/]+)[\\/]node_modules[\\/]([^\\/]+)/.exec(file) ?? []
  if (cache === undefined || name === undefined || !npm || !existsSync(npm)) return null
  const { dependencies } = JSON.parse(readFileSync(join(cache, 'package.json'), 'utf8'))
  const version: unknown = dependencies?.[name]
  if (typeof version !== 'string') return null
  const spec = version.startsWith('file:')
    ? resolve(cache, version.slice('file:'.length))
    : `${name}@${version}`
  return [process.execPath, npm, 'exec', '--yes', `--package=${spec}`, '--', 'agent-forum']
}
