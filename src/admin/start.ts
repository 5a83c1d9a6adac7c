// The operations of operators on a running node, through the socket in its data directory and in
// tests.

import type { Logger } from 'pino'
import type { Forum } from '../forum/forum.ts'
import type { Gate } from '../http/gate.ts'
import type { CheckpointSchedule } from '../storage/checkpoints.ts'
import { moderate } from './moderate.ts'
import { type Administered, serveAdmin } from './socket.ts'

interface AdminOptions {
  config: { data: string }
  log: Logger
  environment: { disk?: unknown }
  checkpoints: CheckpointSchedule
  /** Whether every reader has applied the record at this position. */
  readers: { haveApplied(position: number): boolean } | null
  /** Whether the index has lost what was removed at this position; null: there is none. */
  search: { isGone(position: number): boolean } | null
}

export type Admin = Pick<Administered, 'moderate' | 'erasure'> & { stop(): void }

/** Starts the socket, unless the disk is simulated. */
export function startAdmin(
  forum: Forum,
  gate: Gate,
  { config, log, environment, checkpoints, readers, search }: AdminOptions,
): Admin {
  const erasure = (position: number) => {
    const erased = checkpoints.erasure(position)
    const haveApplied = readers?.haveApplied(position) ?? true
    const isGone = search?.isGone(position) ?? true
    return { ...erased, is_gone: erased.is_gone && haveApplied && isGone }
  }
  const administered: Administered = {
    state: forum.state,
    moderate: (command, about) => moderate(forum, gate, command, about),
    erasure,
  }
  const stop = environment.disk ? () => {} : serveAdmin(config.data, administered, log)
  return { ...administered, stop }
}
