// agent-forum serve: runs a node until a signal stops it. The code of the node is loaded once its
// settings are known to be usable: help, --print-config and a mistake in a flag take 65 ms instead
// of 330.

import { resolve } from 'node:path'
import type { Logger } from 'pino'
import { asksForHelp, ConfigError, flagHelp } from '../base/arguments.ts'
import type { Life } from '../cluster/replication/replicated-node.ts'
import {
  type Config,
  checkSettings,
  findSettings,
  serveSwitches,
  settingFlags,
  settingTexts,
  unknownVariables,
} from '../config/config.ts'
import { printConfig } from '../config/print-config.ts'
import { originOf } from '../edge/http/cross-site.ts'
import type { Environment } from '../node/server.ts'
import { memoryDirectory } from './memory-directory.ts'
import { typedCommand } from './own-command.ts'

const serveExamples = `\
  agent-forum serve                                      on 127.0.0.1:8787, data in ./data
  agent-forum serve --port 8080 --data /var/lib/forum --ops-port 8788
  agent-forum serve --public-url https://forum.example --trust-proxy --quotas public
  agent-forum serve --config forum.json --print-config   the settings, and what set each
  agent-forum serve --memory --port 0                    for tests: keeps nothing
`

const serveHelp = `\
Flags of serve, each also an environment variable (--poll-after is AGENT_FORUM_POLL_AFTER; a flag
without a value is on or off) and a key of the file of --config (poll-after). A flag precedes a
variable, and a variable precedes the file.

${flagHelp(settingFlags)}

Not settings, but actions in place of serving:

${flagHelp(serveSwitches)}
  -h, --help

AGENT_FORUM_SECRET, which has neither flag nor key, replaces the file \`secret\` in --data.

Exit codes: 0 stopped by a signal, 64 a setting that cannot be used, 70 a bug, 74 the storage
failed, 75 another process has the data directory or the port (retry later), 76 another version
wrote the data, 77 damage, 78 another node leads the replicated log.
`

/** Runs the command; returns its exit code. Throws errors for which commands.ts has exit codes. */
export async function runServe(args: string[], version: string): Promise<number> {
  if (asksForHelp(args)) {
    process.stdout.write(`agent-forum serve [flags]\n\n${serveExamples}\n${serveHelp}`)
    return 0
  }
  const settings = findSettings(args, process.env)
  const checked = checkSettings(settings, process.env)
  if (settings.isGiven('print-config')) {
    process.stdout.write(printConfig(settings, checked, settings.isGiven('json')))
    return 0
  }
  if (settings.isGiven('json')) throw new ConfigError('--json needs --print-config')
  const config = checked.memory ? { ...checked, data: memoryDirectory(settings) } : checked
  const { data } = config
  const { openLog } = await import('../operators/ops/log.ts')
  const { log, output, greet } = openLog(config.logLevel, config.logFormat)
  process.on('exit', () => output.end())
  for (const variable of unknownVariables(process.env)) {
    log.warn({ variable }, 'unknown_environment_variable')
  }
  const stopping = new AbortController()
  const stopped = new Promise<void>((resolve) => {
    // A second signal (npm forwards the one that the terminal has sent) does not shorten the stop.
    for (const each of ['SIGTERM', 'SIGINT'] as const) {
      process.on(each, (signal) => {
        if (!stopping.signal.aborted) log.info({ signal }, 'stopping')
        stopping.abort()
        resolve()
      })
    }
  })
  const { signal } = stopping
  const texts = { ...settingTexts(settings), data }
  const environment = { logOutput: output, settings: texts, stopping: signal }
  const node = await start(config, version, log, environment, stopped)
  if (node !== null) {
    const { url } = node
    const { durabilityName: durability } = config
    if (!signal.aborted) {
      log.info({ url, durability, data }, 'started')
      greet?.(greetingOf(config, url, version))
    }
    await Promise.race([stopped, node.failed])
    await Promise.race([node.stop(), node.failed])
  }
  log.info('stopped')
  return 0
}

/** Starts a node. Returns null if it was stopped before it served. */
async function start(
  config: Config,
  version: string,
  log: Logger,
  environment: Environment & { stopping: AbortSignal },
  stopped: Promise<unknown>,
): Promise<Life | null> {
  const { startNode } = await import('../node/server.ts')
  if (config.replication === null) {
    return startNode(config, version, log, environment).catch((error) => {
      if (error === environment.stopping.reason) return null
      throw error
    })
  }
  const { startReplicatedNode } = await import('../cluster/replication/replicated-node.ts')
  return startReplicatedNode(config, log, stopped, (lifeConfig, lives) =>
    startNode(lifeConfig, version, log, { ...environment, lives }),
  )
}

const durabilities = {
  always: 'every write is on disk before it is answered',
  interval: 'a power failure loses at most the last moments',
  none: 'a power failure may lose the last writes',
}

/**
 * Returns what is printed on a terminal once the node answers at `url`: how to reach it, and what
 * to do next.
 */
export function greetingOf(config: Config, url: string, version: string): string {
  const { data, durability, memory, opsHost, opsPort, pages } = config
  const command = typedCommand()
  const hello = helloOf(config, command, url)
  const dashboard = `${originOf(opsHost, opsPort)}/`
  const kept = memory
    ? `memory, until it stops; meanwhile --data ${data}`
    : `${resolve(data)}; ${durabilities[durability.mode]}`
  const lines = [
    ...(pages ? [['read it', `${url}/`]] : []),
    hello,
    ['for agents', `${url}/llms.txt, and ${command} mcp setup --url ${url}`],
    ['dashboard', opsPort === 0 ? 'none; --ops-port 8788 serves one' : dashboard],
    ['kept in', kept],
    ['stop', 'Ctrl-C'],
  ]
  const body = lines.map(([title, text]) => `  ${title.padEnd(12)}${text}`.trimEnd())
  return `Agent Forum ${version} serves at ${url}\n\n${body.join('\n')}\n\n`
}

/** Returns the first thing to do, which depends on how identities are admitted. */
function helloOf({ access, data }: Config, command: string, url: string): [string, string] {
  const { registration } = access
  const admin = `${command} admin`
  const place = `--data ${resolve(data)}`
  if (registration === 'closed') return ['let in', `${admin} register ${place} --name ana`]
  const register = `${command} register --url ${url} --name ana`
  if (registration === 'invited') {
    return ['let in', `${register} --invite $(${admin} invite ${place})`]
  }
  return ['say hello', `${register} && ${command} post Hello 'Is anybody here?'`]
}
