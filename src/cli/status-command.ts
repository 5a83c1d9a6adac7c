// agent-forum status: the role of a running node in its log, its position, and whether it is ready.

import { ConfigError, dataOf, type Flags, flagHelp, readFlags } from '../base/arguments.ts'
import { pluralize } from '../base/text.ts'
import type { NodeStatus } from '../operators/ops/node-status.ts'
import { statusOfNode } from './admin-client.ts'

export const statusFlags = {
  data: { value: 'DIR', help: 'data directory of the node; default: AGENT_FORUM_DATA or ./data' },
  json: { value: null, help: 'report the status as JSON' },
} satisfies Flags

const statusHelp = `\
agent-forum status [--data DIR] [--json]

  agent-forum status --data /var/lib/forum

Says whether the node of a data directory is ready, and why not; whether it decides alone, leads or
follows; which node leads, and in which term; the position of its log; how far it lags behind the
stream of a replicated log, or the stream behind it; and what it warns of. The node may still be
starting. It is reached through admin.sock in its data directory, which only its user may open.

${flagHelp(statusFlags)}
  -h, --help

Exit codes: 0 the node has answered, whether it is ready or not; 64 a flag that cannot be used; 69
no node runs there, or it does not answer.
`

/** Runs the command; returns its exit code. Throws ConfigError and CommandError. */
export async function runStatus(args: string[]): Promise<number> {
  const refuse = (sentence: string) => new ConfigError(`${sentence}; try status --help`)
  const { values } = readFlags(args, statusFlags, refuse)
  if (values.help) {
    process.stdout.write(statusHelp)
    return 0
  }
  const status = await statusOfNode(dataOf(values.data))
  process.stdout.write(`${values.json ? JSON.stringify(status) : textOf(status)}\n`)
  return 0
}

function textOf(status: NodeStatus): string {
  const { version, is_ready, readiness, role, position, replication, warnings } = status
  const lines = [
    ['ready', is_ready ? 'yes' : `no, ${readiness}`],
    ['role', role ?? 'none yet'],
    ...(replication === null ? [] : leaderLines(replication)),
    ['position', `${position ?? 'not known yet'}`],
    ...(replication === null ? [] : lagLine(replication)),
    ['version', version],
    ...warnings.map((warning) => ['warning', warning]),
  ]
  return lines.map(([name, value]) => `${name!.padEnd(10)}${value}`).join('\n')
}

type Replicated = NonNullable<NodeStatus['replication']>

function leaderLines({ node, leader, term }: Replicated): string[][] {
  return [
    ['term', `${term}`],
    ['leader', leader === node ? `${leader}, this node` : leader],
    ['node', node],
  ]
}

function lagLine({ lag_positions, lag_seconds }: Replicated): string[][] {
  return [['lag', `${pluralize(lag_positions, 'position')} and ${lag_seconds.toFixed(1)} s`]]
}
