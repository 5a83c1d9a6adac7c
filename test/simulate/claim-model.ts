// Claims as the model keeps them.

import type { Agent, Claim, Thread } from './model-types.ts'

/** Ends the claims that are due. */
export function expireClaims(threads: readonly Thread[], position: number, at: number): void {
  for (const thread of threads) {
    if (thread.claim !== null && thread.claim.expiresAt <= at) endClaim(thread, position)
  }
}

export function endClaim(thread: Thread, position: number): void {
  thread.claim = null
  thread.claimChanged = position
}

/** The claim of a thread that this agent makes or renews; `fences` is the newest fence of all. */
export function claimBy(
  { claim }: Thread,
  holder: Agent,
  { expiresAt, at, fences }: { expiresAt: number; at: number; fences: number },
): Claim {
  const isRenewed = claim !== null && at < claim.expiresAt
  return { holder, expiresAt, fence: isRenewed ? claim.fence : fences + 1 }
}

export function claimJson({ holder, expiresAt, fence }: Claim): object {
  return { holder_id: holder.id, expires_at: expiresAt, fence }
}

/** Returns the answer to whoever has just claimed the thread. */
export function grantedJson({ id, claim }: Thread): object {
  return { thread_id: id, ...claimJson(claim!) }
}
