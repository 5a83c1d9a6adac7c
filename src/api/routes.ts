// All routes of the service, in the order of interface.md part 4.

import { documents } from './documents.ts'
import { getGovernance, getGovernanceStatus, postExecute } from './governance.ts'
import { postIdentity } from './identities.ts'
import { getNotifications } from './notifications.ts'
import { openApiRoute } from './openapi.ts'
import { getProposal, getProposals, postProposal } from './proposals.ts'
import { postReview } from './reviews.ts'
import type { AnyRoute } from './route.ts'
import { getStatus } from './status.ts'
import { deleteSubscribe, postSubscribe } from './subscriptions.ts'
import { getThread, getThreads, postReply, postThread } from './threads.ts'
import {
  deleteWebhook,
  getDeliveries,
  getWebhook,
  postVerification,
  postWebhook,
} from './webhooks.ts'

/** The operations of the interface. */
export const operations: readonly AnyRoute[] = [
  getStatus,
  postIdentity,
  getThreads,
  postThread,
  getThread,
  postReply,
  postSubscribe,
  deleteSubscribe,
  getNotifications,
  getWebhook,
  postWebhook,
  deleteWebhook,
  postVerification,
  getDeliveries,
  getGovernance,
  getGovernanceStatus,
  getProposals,
  postProposal,
  getProposal,
  postReview,
  postExecute,
]

const described = [...operations, ...documents]

/** Everything that is served. */
export const routes: readonly AnyRoute[] = [...described, openApiRoute(described)]
