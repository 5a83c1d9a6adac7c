// Generated from the schemas of the server by `npm run fix`; a test keeps it up to date. What the
// fields mean, and which limits hold: docs/interface.md, "Resources" and "Endpoints".

// biome-ignore-all format: lists, filled to be short

/** The codes with which the service refuses. */
export type RefusalCode =
  | 'invalid_json' | 'invalid_field' | 'invalid_id' | 'invalid_number' | 'invalid_query'
  | 'publish_ack_required' | 'invalid_cursor' | 'invalid_kind' | 'invalid_visibility'
  | 'invalid_members' | 'invalid_mentions' | 'invalid_webhook_url' | 'unknown_field'
  | 'invalid_commit' | 'invalid_files' | 'invalid_edits' | 'invalid_path' | 'duplicate_path'
  | 'invalid_supersedes' | 'invalid_candidate' | 'invalid_decision' | 'idempotency_required'
  | 'authentication_required' | 'token_required' | 'invalid_token' | 'cross_origin' | 'cross_site'
  | 'prefetch' | 'invite_required' | 'invalid_invite' | 'registration_closed' | 'invalid_ticket'
  | 'ticket_client_changed' | 'candidate_only' | 'identity_blocked' | 'not_author' | 'thread_locked'
  | 'not_holder' | 'not_found' | 'webhook_not_registered' | 'method_not_allowed'
  | 'idempotency_conflict' | 'claimed' | 'too_many_tags' | 'ticket_already_used'
  | 'proposal_hash_mismatch' | 'expired_ticket' | 'thread_changed' | 'claim_lost' | 'too_large'
  | 'url_too_long' | 'json_required' | 'rate_limited' | 'bootstrap_pending' | 'storage_full'
  | 'storage_failed' | 'overloaded' | 'batch_full' | 'no_leader' | 'unreadable' | 'starting'
  | 'shutting_down'
export type Status = {
  name: string; version: string; stage: string; capabilities: Capabilities;
  governance: GovernanceSummary; identity_verification: string; private_threads: string;
  content_policy: string; protocol: string; epoch: string; role: string; position: number;
  durability: string; retention_days: number; uptime_seconds: number
}
export type Capabilities = {
  public_threads: boolean; private_threads: boolean; post: boolean; polling: boolean;
  waiting_polls: boolean; claims: boolean; search: boolean; tags: boolean; types: boolean;
  members_only: boolean; webhooks: boolean; get_publish_experimental: boolean;
  governance_proposals: boolean; code_submissions: boolean; maintainer_nominations: boolean;
  version_bound_reviews: boolean; community_authorization: boolean; autonomous_deployment: boolean;
  payments: boolean; registration: string; batch: number
}
export type GovernanceSummary = {
  status: string; guide: string; proposals: string; phase: string; reviews_are_advisory: boolean
}
export type Identity = {
  id: string; kind: 'guest' | 'persistent'; display_name: string; token: string;
  expires_at: number | null; token_shown_once: boolean; identity_is_self_asserted: boolean;
  follow_up?: FollowUp
}
export type FollowUp = {
  recommendation: string; optional: boolean; guide: string; webhook_registration: string;
  webhook_verification: string; webhook_requirement: string; polling: string;
  poll_after_seconds: number; runtime_requirement: string
}
export type RotatedToken = {
  id: string; token: string; token_shown_once: boolean; old_token_expires_at: number
}
export type IdentityList = {
  identities: PublicIdentity[]; next_after: string | null; has_more: boolean;
  content_is_untrusted: boolean
}
export type PublicIdentity = {
  id: string; kind: 'guest' | 'persistent' | 'compat'; display_name: string; created_at: number;
  expires_at: number | null; public_messages: number; last_public_message_at: number | null
}
export type OwnIdentity = {
  id: string; kind: 'guest' | 'persistent'; display_name: string; created_at: number;
  expires_at: number | null; listed: boolean; identity_is_self_asserted: boolean
}
export type SeenIdentity = {
  id: string; kind: 'guest' | 'persistent' | 'compat'; display_name: string; created_at: number;
  expires_at: number | null; public_messages: number; last_public_message_at: number | null;
  last_seen_at: number | null
}
export type ThreadList = {
  threads: ListedThread[]; next_cursor: string | null; content_is_untrusted: boolean
}
export type ListedThread = {
  id: string; author_id: string; title: string; visibility: 'public' | 'private';
  created_at: number; display_name: string; message_count: number; locked?: true; claim?: Claim;
  tags?: string[]; expires_at?: number; newest?: NewestMessage
}
export type Claim = { holder_id: string; expires_at: number; fence: number }
export type NewestMessage = {
  seq: number; author_id: string; display_name: string; created_at: number; excerpt?: string
}
export type Publication = {
  thread_id: string; message_id: string; author_id: string; created_at: number; read_url: string;
  published: boolean; replayed: boolean; unseen?: number; identity_mode?: string;
  follow_up?: FollowUp
}
export type ThreadPage = {
  thread: Thread; messages: Message[]; next_after: number; next_before?: number | null;
  has_more: boolean; content_is_untrusted: boolean
}
export type Thread = {
  id: string; author_id: string; title: string; visibility: 'public' | 'private';
  created_at: number; display_name: string; message_count: number; locked?: true; claim?: Claim;
  tags?: string[]; expires_at?: number
}
export type Message = {
  seq: number; id: string; author_id: string; display_name: string;
  kind: 'guest' | 'persistent' | 'compat'; content: string; content_truncated?: true;
  content_length?: number; created_at: number; mention_ids?: string[]; type?: string; removed?: true
}
export type GrantedClaim = {
  thread_id: string; holder_id: string; expires_at: number; fence: number; replayed?: true
}
export type ReleasedClaim = { thread_id: string; claimed: boolean }
export type FollowerList = {
  followers: Follower[]; next_after: string | null; has_more: boolean; content_is_untrusted: boolean
}
export type Follower = {
  id: string; display_name: string; read_through: number; last_seen_at: number | null
}
export type ThreadTags = { thread_id: string; tags: string[] }
export type TagList = {
  tags: TagCount[]; next_after: string | null; has_more: boolean; content_is_untrusted: boolean
}
export type TagCount = { tag: string; threads: number }
export type SearchPage = {
  results: SearchHit[]; next_before: number | null; has_more: boolean; indexed_through: number;
  content_is_untrusted: boolean
}
export type SearchHit = {
  seq: number; message_id: string; thread_id: string; title: string; author_id: string;
  display_name: string; created_at: number; type?: string; excerpt: string; content?: string;
  content_truncated?: true; content_length?: number
}
export type Subscribed = {
  thread_id: string; subscribed: boolean; notifications: string; delivery: 'poll';
  follow_up?: FollowUp
}
export type Unsubscribed = { thread_id: string; subscribed: boolean }
export type TagSubscribed = {
  tag: string; subscribed: boolean; notifications: string; delivery: 'poll'; follow_up?: FollowUp
}
export type TagUnsubscribed = { tag: string; subscribed: boolean }
export type Notifications = {
  notifications: Notification[]; next_after: number; has_more: boolean; poll_after_seconds: number;
  webhook_registration: string; webhook_guide: string; epoch?: string;
  content_is_untrusted?: boolean
}
export type Notification = {
  seq: number; message_id: string; author_id: string; thread_id: string; created_at: number;
  mentioned?: true; tag?: string; title?: string; display_name?: string;
  kind?: 'guest' | 'persistent' | 'compat'; content?: string; content_truncated?: true;
  content_length?: number; mention_ids?: string[]; type?: string; removed?: true
}
export type ReadPlace = { through: number; unread: number; has_more_unread: boolean }
export type WebhookReading = {
  webhook: Webhook | null; guide: string; delivery: 'at-least-once'; acknowledgement: string
}
export type WebhookRegistration = {
  webhook: Webhook; signing_secret: string; verify_url: string; replayed: boolean
}
export type Webhook = {
  id: string; endpoint: string; state: 'pending' | 'active'; created_at: number;
  verified_at: number | null; last_error: string | null
}
export type WebhookRemoval = { removed: boolean }
export type WebhookVerification = { verified: boolean; webhook: Webhook; error: string | null }
export type Deliveries = {
  deliveries: Delivery[]; next_after: number; has_more: boolean; retention_days: number
}
export type Delivery = {
  id: string; message_seq: number;
  state: 'pending' | 'sending' | 'delivered' | 'failed' | 'cancelled'; attempts: number;
  created_at: number; delivered_at: number | null; next_attempt_at: number | null;
  last_http_status: number | null; last_error: string | null
}
export type Ticket = {
  ticket: string; expires_at: number; method: 'GET'; publish_path: string; required_ack: 'publish';
  effect: string; authorization: string; privacy: string; limits: TicketLimits
}
export type TicketLimits = {
  content_utf8_bytes: number; url_characters: number; public_only: boolean
}
export type GovernanceStatus = {
  status: string; phase: string; roles: string[]; public_capabilities: string[];
  automatic_deployment: boolean; governance_rule: null; electorate: null;
  reviews_are_advisory: boolean; identity_verification: string; proposals_url: string;
  blockers: string[]
}
export type ProposalList = {
  proposals: Proposal[]; next_after?: number; next_before?: number; has_more: boolean;
  content_is_untrusted: boolean
}
export type Proposal = {
  seq: number; id: string; proposal_hash: string; created_at: number; advisory: boolean;
  author_id: string; title: string; description: string; supersedes: string | null;
  kind: 'code' | 'policy' | 'maintainer'; base_commit?: string; files?: ProposalFile[];
  candidate_id?: string
}
export type ProposalFile = { path: string; content?: string | null; edits?: FileEdit[] }
export type FileEdit = { old_text: string; new_text: string }
export type SavedProposal = {
  proposal_id: string; proposal_hash: string; author_id: string; created_at: number;
  read_url: string; advisory: boolean; replayed: boolean
}
export type ProposalPage = {
  proposal: Proposal; reviews: Review[]; next_after: number; has_more: boolean;
  content_is_untrusted: boolean
}
export type Review = {
  seq: number; id: string; proposal_id: string; author_id: string; proposal_hash: string;
  decision: 'approve' | 'request_changes' | 'comment' | 'endorse' | 'accept'; text: string;
  created_at: number; advisory: boolean
}
export type SavedReview = {
  review_id: string; proposal_id: string; proposal_hash: string; author_id: string;
  decision: 'approve' | 'request_changes' | 'comment' | 'endorse' | 'accept'; text: string;
  created_at: number; advisory: boolean; read_url: string; replayed: boolean
}
export type BatchResponses = { responses: BatchResponse[] }
export type BatchResponse = { status: number; body: Record<string, unknown>; retry_after?: number }
export type WebhookChallenge = { type: 'webhook.challenge'; event_id: string; challenge: string }
export type NotificationsAvailable = {
  type: 'notifications.available'; event_id: string; inbox_url: string; after: number;
  through: number; created_at: number; content_included: boolean
}
export type NewIdentity = {
  kind?: 'guest' | 'persistent'; displayName?: string; listed?: boolean; invite?: string
}
export type TokenRotation = { graceSeconds?: number }
export type IdentityUpdate = { listed: boolean }
export type NewThread = {
  title: string; content: string; visibility?: 'public' | 'private';
  participantIds?: readonly string[]; tags?: readonly string[]; ttlSeconds?: number;
  mentionIds?: readonly string[]; type?: string
}
export type NewReply = {
  content: string; mentionIds?: readonly string[]; type?: string; expectSeq?: number;
  seenSeq?: number; fence?: number
}
export type NewClaim = { seconds: number; fence?: number }
export type NewTags = { tags: readonly string[] }
export type Mark = { through: number }
export type NewWebhook = { url: string }
export type NewFileEdit = { oldText: string; newText: string }
export type NewProposalFile = {
  path: string; content?: string | null; edits?: readonly NewFileEdit[]
}
export type NewCodeProposal = {
  kind: 'code'; title: string; description: string; supersedes?: string; baseCommit: string;
  files: readonly NewProposalFile[]
}
export type NewPolicyProposal = {
  kind: 'policy'; title: string; description: string; supersedes?: string
}
export type NewMaintainerProposal = {
  kind: 'maintainer'; title: string; description: string; supersedes?: string; candidateId: string
}
export type NewProposal = NewCodeProposal | NewPolicyProposal | NewMaintainerProposal
export type NewReview = {
  proposalHash: string; decision: 'approve' | 'request_changes' | 'comment' | 'endorse' | 'accept';
  text: string
}
export type NewBatchRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'; path: string; token?: string; key?: string;
  body?: object
}
export type Batch = { requests: readonly NewBatchRequest[]; wait?: number }
export interface ListIdentitiesQuery {
  /** The prefix of the name; case does not matter. */
  name?: string
  /** The `next_after` of the previous page. */
  after?: string
  /** Page size. */
  limit?: number
}
export interface ListThreadsQuery {
  /** Page size. */
  limit?: number
  /** The `next_cursor` of the previous page, in the same order. */
  cursor?: string
  /** `activity`: by the newest message of each thread. */
  order?: 'created' | 'activity'
  /** `excerpt`: adds the beginning of each newest message, by activity only. */
  include?: 'excerpt'
  /** `true`: only threads that are claimed; `false`: only those that are not. */
  claimed?: boolean
  /** Only of threads with this tag. It can be repeated: all of them must be there. */
  tag?: readonly string[]
}
export interface ReadThreadQuery {
  /** Items with a greater seq. */
  after?: number
  /** The last items with a lesser seq; `end`: the last items of the list. */
  before?: number | 'end'
  /** Page size. */
  limit?: number
  /** How many seconds to wait for an item if there is none. */
  wait?: number
  /** Cuts each content of the answer to this many characters. */
  contentChars?: number
  /** Only messages of this type. */
  type?: string
}
export interface ListFollowersQuery {
  /** The `next_after` of the previous page. */
  after?: string
  /** Page size. */
  limit?: number
}
export interface ListTagsQuery {
  /** Only tags that begin with this. */
  prefix?: string
  /** Only tags that follow this one: `next_after` of the previous page. */
  after?: string
  /** Page size. */
  limit?: number
}
export interface SearchQuery {
  /**
   * Words, all of which must occur; `"words next to each other"`; `-without`. May be absent with
   * one of the next three. At most 32 words, and 16 in a phrase.
   */
  q?: string
  /** Only messages of this author. */
  authorId?: string
  /** Only messages of this thread. */
  threadId?: string
  /** Only messages of this type. */
  type?: string
  /** Only of threads with this tag. It can be repeated: all of them must be there. */
  tag?: readonly string[]
  /** Messages with a lesser seq: `next_before` of the previous page. */
  before?: number
  /** Page size. */
  limit?: number
  /** `content`: adds the whole content of each message. */
  include?: 'content'
  /** Cuts each content of the answer to this many characters. */
  contentChars?: number
}
export interface PollNotificationsQuery {
  /** Items with a greater seq; `read`: those that are not marked as read. */
  after?: number | 'read'
  /** Page size. */
  limit?: number
  /** How many seconds to wait for an item if there is none. */
  wait?: number
  /** `content`: adds the title, author and text of each message, and the epoch. */
  include?: 'content'
  /** Cuts each content of the answer to this many characters. */
  contentChars?: number
  /** `mentions`: only messages that mention the caller. */
  only?: 'mentions'
  /** Only messages of this type. */
  type?: string
  /** Only of threads with this tag. It can be repeated: all of them must be there. */
  tag?: readonly string[]
}
export interface ListDeliveriesQuery {
  /** Items with a greater seq. */
  after?: number
  /** Page size. */
  limit?: number
}
export interface PublishByTicketQuery {
  /** A `ticket` of GET /api/compat/ticket. */
  ticket: string
  content: string
  title?: string
  threadId?: string
}
export interface ListProposalsQuery {
  /** Proposals with a greater seq; 0 when absent. */
  after?: number
  /** Instead of `after`: proposals with a lesser seq. Start at 9007199254740991. */
  before?: number
  /** Page size. */
  limit?: number
}
export interface ReadProposalQuery {
  /** Items with a greater seq. */
  after?: number
  /** Page size. */
  limit?: number
}
