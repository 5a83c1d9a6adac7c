// The operator's way to erase a message of a running node.

import type { Forum, Rejection } from '../forum/forum.ts'
import { type Erased, type Erasure, eraseMessage } from '../forum/moderation.ts'
import type { Gate } from '../http/gate.ts'

/** Erases a message; resolves when that is durable, or with why it was not done. */
export function erase(forum: Forum, gate: Gate, erasure: Erasure): Promise<Erased | Rejection> {
  const outcome = eraseMessage(forum, erasure)
  const { position = 0 } = outcome
  if (position <= forum.journal.durable) return Promise.resolve(outcome)
  return new Promise((resolve) => {
    gate.keep(position, (isDurable) => {
      resolve(isDurable ? outcome : { rejected: 'storage_failed' })
    })
  })
}
