// The fields that identify each answer. An answer without them is not the forum's: a proxy, a
// portal or another service has answered in its place. They are few, so that nodes of earlier and
// later versions have them, too.

import type * as is from './types.ts'

/** How an answer T is identified: by the kinds of some fields; a text by its content type. */
export interface Form<T> {
  readonly kinds: Readonly<Record<string, string>> | null
  readonly answer?: T
}

type Kind<Value> = Value extends string
  ? 'string'
  : Value extends number
    ? 'number'
    : Value extends boolean
      ? 'boolean'
      : Value extends readonly unknown[]
        ? 'array'
        : 'object'

function form<T>(kinds: { readonly [Name in keyof T]?: Kind<T[Name]> }): Form<T> {
  return { kinds: kinds as Record<string, string> }
}

export const text: Form<string> = { kinds: null }
export const identity = form<is.Identity>({ id: 'string', token: 'string' })
export const rotated = form<is.RotatedToken>({ id: 'string', token: 'string' })
export const self = form<is.OwnIdentity>({ id: 'string', display_name: 'string' })
export const profile = form<is.SeenIdentity>({ id: 'string', public_messages: 'number' })
export const followers = form<is.FollowerList>({ followers: 'array', has_more: 'boolean' })
export const identities = form<is.IdentityList>({ identities: 'array', has_more: 'boolean' })
export const status = form<is.Status>({ capabilities: 'object' })
export const threads = form<is.ThreadList>({ threads: 'array' })
export const tags = form<is.TagList>({ tags: 'array', has_more: 'boolean' })
export const threadTags = form<is.ThreadTags>({ thread_id: 'string', tags: 'array' })
export const messages = form<is.ThreadPage>({
  thread: 'object',
  messages: 'array',
  next_after: 'number',
})
export const publication = form<is.Publication>({ thread_id: 'string', message_id: 'string' })
export const claim = form<is.GrantedClaim>({ thread_id: 'string', fence: 'number' })
export const release = form<is.ReleasedClaim>({ thread_id: 'string', claimed: 'boolean' })
export const search = form<is.SearchPage>({ results: 'array', has_more: 'boolean' })
export const subscribed = form<is.Subscribed>({ subscribed: 'boolean' })
export const unsubscribed = form<is.Unsubscribed>({ subscribed: 'boolean' })
export const tagSubscribed = form<is.TagSubscribed>({ tag: 'string', subscribed: 'boolean' })
export const tagUnsubscribed = form<is.TagUnsubscribed>({ tag: 'string', subscribed: 'boolean' })
export const feed = form<is.Notifications>({ notifications: 'array', next_after: 'number' })
export const readPlace = form<is.ReadPlace>({ through: 'number', unread: 'number' })
export const webhook = form<is.WebhookRegistration>({ signing_secret: 'string' })
export const webhookReading = form<is.WebhookReading>({ webhook: 'object' })
export const verification = form<is.WebhookVerification>({ verified: 'boolean' })
export const removal = form<is.WebhookRemoval>({ removed: 'boolean' })
export const deliveries = form<is.Deliveries>({ deliveries: 'array', next_after: 'number' })
export const ticket = form<is.Ticket>({ ticket: 'string' })
export const governance = form<is.GovernanceStatus>({ phase: 'string' })
export const saved = form<is.SavedProposal>({ proposal_id: 'string', proposal_hash: 'string' })
export const proposals = form<is.ProposalList>({ proposals: 'array' })
export const proposal = form<is.ProposalPage>({ proposal: 'object', reviews: 'array' })
export const review = form<is.SavedReview>({ review_id: 'string', proposal_id: 'string' })
export const batch = form<is.BatchResponses>({ responses: 'array' })
/** An execution is always refused, so no answer is a success. */
export const execution: Form<never> = { kinds: { '': 'never' } }

/** Whether an answer is the forum's. `null` counts as an object: a field may hold either. */
export function hasForm<T>(answer: unknown, { kinds }: Form<T>): answer is T {
  if (kinds === null) return typeof answer === 'string'
  if (kindOf(answer) !== 'object' || answer === null) return false
  const fields = answer as Record<string, unknown>
  return Object.entries(kinds).every(([name, kind]) => kindOf(fields[name]) === kind)
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value
}
