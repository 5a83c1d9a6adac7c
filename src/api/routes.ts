// All routes of the service, in the order of interface.md part 4.

import { postIdentity } from './identities.ts'
import { getNotifications } from './notifications.ts'
import { openApiRoute } from './openapi.ts'
import type { Route } from './route.ts'
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
]

/** Everything that is served. */
export const routes: readonly Route[] = [...operations, openApiRoute(operations)]
