// All routes of the service, in the order of docs/interface.md, "Endpoints".

import { openToAll, restricted } from '../edge/api/access.ts'
import { postBatch } from '../edge/api/batch.ts'
import { openApiRoute } from '../edge/api/openapi.ts'
import type { Access, Route } from '../edge/api/route.ts'
import { getStatus } from '../edge/api/status.ts'
import { deleteClaim, postClaim } from './claims/routes.ts'
import { documents } from './documents.ts'
import { getNotifications, getRead, putRead } from './feed/routes.ts'
import {
  deleteSubscribe,
  deleteTagSubscribe,
  getFollowers,
  postSubscribe,
  postTagSubscribe,
} from './feed/subscription-routes.ts'
import {
  getProposal,
  getProposals,
  postProposal,
  postReview,
} from './governance/proposal-routes.ts'
import { getGovernance, getGovernanceStatus, postExecute } from './governance/routes.ts'
import {
  getIdentities,
  getIdentity,
  getSelf,
  patchSelf,
  postIdentity,
  postToken,
} from './identities/routes.ts'
import { getSearch } from './search/routes.ts'
import { getTags, putTags } from './tags/routes.ts'
import { getThreads } from './threads/list-routes.ts'
import { getThread, postReply, postThread } from './threads/routes.ts'
import { getPublish, getTicket } from './tickets/routes.ts'
import {
  deleteWebhook,
  getDeliveries,
  getWebhook,
  postVerification,
  postWebhook,
} from './webhooks/routes.ts'

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
  postClaim,
  deleteClaim,
  getFollowers,
  putTags,
  getTags,
  getSearch,
  postSubscribe,
  deleteSubscribe,
  postTagSubscribe,
  deleteTagSubscribe,
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
  postBatch,
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
