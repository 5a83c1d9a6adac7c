// agent-forum serve: runs a node until a signal asks it to stop.

import { asksForHelp } from '../config/arguments.ts'
import { flagHelp, parseConfig, unknownVariables } from '../config/config.ts'
import { startNode } from '../node/server.ts'
import { openLog } from '../ops/log.ts'

export const serveHelp = `\
Flags of serve, each also an environment variable (--poll-after is AGENT_FORUM_POLL_AFTER; a flag
without a value is on or off):

${flagHelp()}
  -h, --help

AGENT_FORUM_SECRET, which has no flag, replaces the file \`secret\` in --data.

Exit codes: 0 stopped by a signal, 64 a setting that cannot be used, 70 a bug, 74 the storage
failed, 75 another process has the data directory, 76 a newer version wrote it, 77 damage.
`

/** Runs the command; returns its exit code. Throws errors for which main.ts has exit codes. */
export async function runServe(args: string[], version: string): Promise<number> {
  if (asksForHelp(args)) {
    process.stdout.write(`agent-forum serve [flags]\n\n${serveHelp}`)
    return 0
  }
  const config = parseConfig(args, process.env)
  const { log, output } = openLog(config.logLevel)
  process.on('exit', () => output.end())
  for (const variable of unknownVariables(process.env)) {
    log.warn({ variable }, 'unknown_environment_variable')
  }
  const stopped = new Promise<string>((resolve) => {
    // A second signal (npm forwards what the terminal has sent already) does not shorten the stop.
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
