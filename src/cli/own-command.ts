// The command that starts this program again from anywhere. It has absolute paths, because a
// desktop client does not have the PATH of a shell.
//
//   the executable   /opt/agent-forum
//   npx              /usr/bin/node …/npm-cli.js exec --yes --package=/opt/agent-forum.tgz -- …
//   anything else    /usr/bin/node …/cli/main.js

import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isExecutable, startedModules, urlOf } from '../base/program-files.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the words of the command, for programs. */
export function ownCommand(environment: Environment = process.env): string[] {
  if (isExecutable) return [process.execPath]
  const file = fileURLToPath(urlOf(startedModules.command))
  return byNpx(file, environment) ?? [process.execPath, file]
}

/** Returns the command for people, who type it into a shell where the program was started. */
export function typedCommand(environment: Environment = process.env): string {
  const words = ownCommand(environment)
  const [program, npm, , ...npx] = words
  if (npx.length > 0) return ['npx', ...npx].map(quoted).join(' ')
  const file = npm ?? program
  const folders = (environment.PATH ?? '').split(delimiter)
  const onPath = folders.find((folder) => {
    return folder !== '' && isSameFile(join(folder, 'agent-forum'), file)
  })
  // npx puts the commands of the nearest package on the PATH for as long as it runs.
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

const quoted = (word: string) => {
  return /^[\w./:@+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/**
 * Returns the npx command that runs the program in this file, or null if npx did not start it. The
 * file is then in a cache, which may be cleaned, so the command names what was installed into it.
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
