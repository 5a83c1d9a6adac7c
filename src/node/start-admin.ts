// What operators may do to a running node: through the socket in its data directory, and in tests.

import type { Logger } from 'pino'
import type { Forum } from '../forum/forum.ts'
import type { Gate } from '../http/gate.ts'
import { type Administered, serveAdmin } from './admin-socket.ts'
import type { CheckpointSchedule } from './checkpoints.ts'
import { moderate } from './moderate.ts'

interface AdminOptions {
  config: { data: string }
  log: Logger
  environment: { disk?: unknown }
  checkpoints: CheckpointSchedule
}

export type Admin = Pick<Administered, 'moderate' | 'erasure'> & { stop(): void }

/** What operators may do, also through the socket; a simulated disk has none. */
export function startAdmin(
  forum: Forum,
  gate: Gate,
  { config, log, environment, checkpoints }: AdminOptions,
): Admin {
  const administered: Administered = {
    state: forum.state,
    moderate: (command, about) => moderate(forum, gate, command, about),
    erasure: (position) => checkpoints.erasure(position),
  }
  const stop = environment.disk ? () => {} : serveAdmin(config.data, administered, log)
  return { ...administered, stop }
}
