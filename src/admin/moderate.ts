// The operator's way to moderate a running node.

import type { Forum } from '../forum/forum.ts'
import {
  type Moderating,
  type ModerationCommand,
  type ModerationOutcome,
  moderationCommands,
} from '../forum/moderation.ts'
import type { Gate } from '../http/gate.ts'

/** Runs a command; resolves when its outcome is durable. */
export function moderate(
  forum: Forum,
  gate: Gate,
  command: ModerationCommand,
  about: Moderating,
): Promise<ModerationOutcome> {
  // A follower repeats what the leader records; it records nothing itself.
  if (forum.isFollower) return Promise.resolve({ rejected: 'no_leader' })
  const outcome = moderationCommands[command](forum, about)
  return outcome instanceof Promise
    ? outcome.then((later) => durable(forum, gate, later))
    : durable(forum, gate, outcome)
}

function durable(
  { journal }: Forum,
  gate: Gate,
  outcome: ModerationOutcome,
): Promise<ModerationOutcome> {
  const { position = 0 } = outcome
  if (position <= journal.durable) {
    return Promise.resolve(gate.mayDecide ? outcome : { rejected: 'no_leader' })
  }
  return new Promise((resolve) => {
    gate.keep(position, (isDurable) => {
      resolve(isDurable ? outcome : { rejected: gate.failure })
    })
  })
}
