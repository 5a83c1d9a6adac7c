// The commands and queries that the routes run, and what else their requests and answers
// need. A route imports only the types of these, and gets the functions from the service
// (edge/api/route.ts), so that code which reads only declarations, such as the tools of agent-forum
// mcp, loads no forum.

export { nobody } from '../kernel/network.ts'
export { feedTopic, threadTopic } from '../kernel/topics.ts'
export { claimThread, releaseClaim } from './claims/commands.ts'
export {
  markRead,
  readPlace,
  subscribe,
  subscribeTag,
  unsubscribe,
  unsubscribeTag,
} from './feed/commands.ts'
export { listFollowers } from './feed/followers.ts'
export { contentPage, isCurrent, readFeed } from './feed/read-feed.ts'
export { pageStart } from './forum.ts'
export { listProposals, readProposal, saveProposal, saveReview } from './governance/commands.ts'
export { createIdentity, listIdentity, rotateToken } from './identities/commands.ts'
export { findProfiles, profileOf, readProfile } from './identities/profiles.ts'
export {
  beginSession,
  findSession,
  isPresent,
  sealSession,
  sessionMs,
  signOut,
} from './sessions/commands.ts'
export { tagThread } from './tags/commands.ts'
export { listTags } from './tags/queries.ts'
export { listByActivity } from './threads/activity-list.ts'
export { createThread, reply } from './threads/commands.ts'
export { listThreads, readThread } from './threads/queries.ts'
export { acceptTicket, issueTicket, publishByTicket } from './tickets/commands.ts'
export {
  beginVerification,
  finishVerification,
  readWebhook,
  registerWebhook,
  removeWebhook,
} from './webhooks/commands.ts'
export { eventId, readDeliveries } from './webhooks/deliveries.ts'
export { retentionMs } from './webhooks/delivery-receipts.ts'
export { deliveryState } from './webhooks/webhook.ts'
