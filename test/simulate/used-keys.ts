// The model's prediction for an idempotency key that was used before.

import { type Expected, refused } from './asking.ts'
import { type Agent, isSameRequest } from './model-types.ts'
import * as pages from './pages.ts'

/** Returns the answer to a key that was used before, or null if it was not. */
export function answerToUsed(agent: Agent, key: string, request: unknown[]): Expected | null {
  const use = agent.uses.get(key)
  if (use === undefined) return null
  const { made, position: newest } = use
  if (!isSameRequest(use, request) || !('is' in made)) {
    return refused('idempotency_conflict', newest)
  }
  switch (made.is) {
    case 'message':
      return { status: 200, body: pages.publicationBody(made, true), newest }
    case 'proposal':
      return { status: 200, body: pages.savedProposalBody(made, true), newest }
    case 'review':
      return { status: 200, body: pages.savedReviewBody(made, true), newest }
  }
}
