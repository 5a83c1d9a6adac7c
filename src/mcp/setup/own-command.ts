// The command that starts this program again from anywhere: with absolute paths, since a client
// with windows does not have the PATH of a shell.
//
//   the executable   /opt/agent-forum
//   npx              /usr/bin/node …/npm-cli.js exec --yes --package=/opt/agent-forum.tgz -- …
//   anything else    /usr/bin/node …/cli/main.js

import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isExecutable, startedModules, urlOf } from '../../base/program-files.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The words of the command. */
export function ownCommand(environment: Environment = process.env): string[] {
  if (isExecutable) return [process.execPath]
  const file = fileURLToPath(urlOf(startedModules.command))
  return byNpx(file, environment) ?? [process.execPath, file]
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
