// All routes of the service, in the order of docs/interface.md, "Endpoints".

import { openToAll, restricted } from './access.ts'
import { getPublish, getTicket } from './compat.ts'
import { documents } from './documents.ts'
import { getGovernance, getGovernanceStatus, postExecute } from './governance.ts'
import {
  getIdentities,
  getIdentity,
  getSelf,
  patchSelf,
  postIdentity,
  postToken,
} from './identities.ts'
import { getNotifications } from './notifications.ts'
import { openApiRoute } from './openapi-route.ts'
import { getProposal, getProposals, postProposal } from './proposals.ts'
import { getRead, putRead } from './read-place.ts'
import { postReview } from './reviews.ts'
import type { Access, Route } from './route.ts'
import { getSearch } from './search.ts'
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
export const operations: readonly Route[] = [
  getStatus,
  postIdentity,
  postToken,
  getIdentities,
  getSelf,
  patchSelf,
  getIdentity,
  getThreads,
  postThread,
  getThread,
  postReply,
  getSearch,
  postSubscribe,
  deleteSubscribe,
  getNotifications,
  getRead,
  putRead,
  getWebhook,
  postWebhook,
  deleteWebhook,
  postVerification,
  getDeliveries,
  getTicket,
  getPublish,
  getGovernance,
  getGovernanceStatus,
  getProposals,
  postProposal,
  getProposal,
  postReview,
  postExecute,
]

/** All routes, as a node serves them that offers everything to everybody. */
export const routes: readonly Route[] = routesOf({ compat: true, search: true, ...openToAll })

/** The features of a node, and its access modes. */
interface Offer extends Access {
  /** Whether messages can be published by GET. */
  compat: boolean
  search: boolean
}

/**
 * Returns the routes that a node serves: those of publishing by GET only with `compat`, and that of
 * searching only with `search`.
 */
export function routesOf({ compat, search, ...access }: Offer): readonly Route[] {
  const left = [...(compat ? [] : [getTicket, getPublish]), ...(search ? [] : [getSearch])]
  const offered = operations.filter((operation) => !left.includes(operation))
  const described = [...offered, ...documents].map((route) => restricted(route, access))
  return [...described, openApiRoute(described)]
}
