// The commands and queries that the routes of api/ run, and what else their requests and answers
// need. A route imports only the types of these, and gets the functions from the service
// (api/route.ts), so that code which reads only declarations, such as the tools of agent-forum mcp,
// loads no forum.

export { retentionMs } from '../state/delivery-receipts.ts'
export { nobody } from '../state/state.ts'
export { feedTopic, threadTopic } from '../state/topics.ts'
export { deliveryState } from '../state/webhook.ts'
export { listByActivity } from './activity-list.ts'
export { eventId, readDeliveries } from './deliveries.ts'
export { contentPage, isCurrent, readFeed } from './feed.ts'
export { pageStart } from './forum.ts'
export { createIdentity, listIdentity, rotateToken } from './identities.ts'
export { createThread, reply } from './posts.ts'
export { findProfiles, profileOf, readProfile } from './profiles.ts'
export { listProposals, readProposal, saveProposal } from './proposals.ts'
export { markRead, readPlace } from './read-place.ts'
export { listThreads, readThread } from './reads.ts'
export { saveReview } from './reviews.ts'
export {
  beginSession,
  findSession,
  isPresent,
  sealSession,
  sessionMs,
  signOut,
} from './sessions.ts'
export { subscribe, unsubscribe } from './subscriptions.ts'
export { acceptTicket, issueTicket, publishByTicket } from './tickets.ts'
export {
  beginVerification,
  finishVerification,
  readWebhook,
  registerWebhook,
  removeWebhook,
} from './webhooks.ts'
