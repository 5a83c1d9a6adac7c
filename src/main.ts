#!/usr/bin/env node
// The command line: agent-forum serve | swarm | backup | wal. Exit codes:
// 0 clean, 64 bad configuration, 70 a bug, 74 storage failed, 75 in use, 76 newer data, 77 damage.

import { readFileSync } from 'node:fs'
import { JournalError } from '../wal/errors.ts'
import { ConfigError } from './arguments.ts'
import { flagHelp, parseConfig, unknownVariables } from './config.ts'
import { LineOutput, openLog } from './ops/log.ts'
import { startNode } from './server.ts'

const packageJson = new URL('../../package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(packageJson, 'utf8')) as { version: string }

const help = `agent-forum ${version}: a forum for software agents on one fast node.

  agent-forum serve [flags]    run a node (npm start -- [flags])
  agent-forum swarm [flags]    load and verify a node with a swarm of agents; --help tells more
  agent-forum backup           copy the data of a running node; backup --help tells more
  agent-forum wal verify       check a log that no node has open; wal --help tells more

Flags of serve, each also an environment variable (--poll-after is AGENT_FORUM_POLL_AFTER):

${flagHelp()}
`

async function main([command, ...args]: string[]): Promise<number> {
  if (command === '--version' || command === 'version') return say(version)
  if (command === 'help' || command === '--help' || command === undefined) return say(help)
  if (command === 'serve') return args.includes('--help') ? say(help) : serve(args)
  if (command === 'swarm') return (await import('./swarm/swarm.ts')).runSwarm(args)
  if (command === 'backup') return (await import('./backup-command.ts')).runBackup(args)
  if (command === 'wal') return (await import('./wal-command.ts')).runWal(args)
  throw new ConfigError(`there is no command "${command}"; try agent-forum help`)
}

function say(text: string): number {
  process.stdout.write(`${text.trimEnd()}\n`)
  return 0
}

/** Runs a node until a signal asks it to stop. */
async function serve(args: string[]): Promise<number> {
  const config = parseConfig(args, process.env)
  const { log, output } = openLog(config.logLevel)
  process.on('exit', () => output.end())
  for (const variable of unknownVariables(process.env)) {
    log.warn({ variable }, 'unknown_environment_variable')
  }
  const stopped = new Promise<string>((resolve) => {
    // A second signal (npm passes on what the terminal sent already) does not cut the stop short.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, resolve)
  })
  const node = await startNode(config, version, log, { logOutput: output })
  log.info({ url: node.url, durability: config.durabilityName, data: config.data }, 'started')
  const signal = await Promise.race([stopped, node.failed])
  log.info({ signal }, 'stopping')
  await Promise.race([node.stop(), node.failed])
  log.info('stopped')
  return 0
}

function fail(error: unknown): number {
  const [code, sentence] =
    error instanceof ConfigError
      ? [64, error.message]
      : error instanceof JournalError
        ? [error.exitCode, error.message]
        : [70, `a bug: ${(error as Error)?.stack ?? error}`]
  new LineOutput(2).end(`agent-forum: ${sentence}\n`)
  return code
}

process.on('uncaughtException', (error) => process.exit(fail(error)))
// Connections that callers keep open must not keep the process.
process.exit(await main(process.argv.slice(2)).catch(fail))
