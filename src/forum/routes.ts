// All routes of the service, in the order of docs/interface.md, "Endpoints".

import { openToAll, restricted } from '../edge/api/access.ts'
import { postBatch } from '../edge/api/batch.ts'
import { openApiRoute } from '../edge/api/openapi.ts'
import type { Access, Route } from '../edge/api/route.ts'
import { getStatus } from '../edge/api/status.ts'
import { claimRoutes } from './claims/routes.ts'
import { documents } from './documents.ts'
import { feedRoutes } from './feed/routes.ts'
import { getFollowers, subscriptionRoutes } from './feed/subscription-routes.ts'
import { proposalRoutes } from './governance/proposal-routes.ts'
import { getGovernance, getGovernanceStatus, postExecute } from './governance/routes.ts'
import { identityRoutes } from './identities/routes.ts'
import { getSearch } from './search/routes.ts'
import { tagRoutes } from './tags/routes.ts'
import { getThreads } from './threads/list-routes.ts'
import { threadRoutes } from './threads/routes.ts'
import { ticketRoutes } from './tickets/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

export const operations: readonly Route[] = [
  getStatus,
  ...identityRoutes,
  getThreads,
  ...threadRoutes,
  ...claimRoutes,
  getFollowers,
  ...tagRoutes,
  getSearch,
  ...subscriptionRoutes,
  ...feedRoutes,
  ...webhookRoutes,
  ...ticketRoutes,
  getGovernance,
  getGovernanceStatus,
  ...proposalRoutes,
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
  const left = [...(compat ? [] : ticketRoutes), ...(search ? [] : [getSearch])]
  const offered = operations.filter((operation) => !left.includes(operation))
  const described = [...offered, ...documents].map((route) => restricted(route, access))
  return [...described, openApiRoute(described)]
}
