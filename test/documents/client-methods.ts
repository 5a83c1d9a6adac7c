// The methods of the clients: what the routes do not say about them. Their parameters, types and
// meanings come from the routes. The methods of the Python client are generated from both
// (python-methods.ts), and so is the list of docs/client.md (client-table.ts).

import type * as answers from '../../src/client/answers.ts'
import type { Route } from '../../src/edge/api/route.ts'
import type { Schema } from '../../src/edge/api/schema.ts'
import { operations } from '../../src/forum/routes.ts'

interface Declared {
  /** In camelCase; snake_case in Python. */
  name: string
  /** What identifies the answer: its name in src/client/answers.ts. */
  form: Exclude<keyof typeof answers, 'hasForm'>
  /** What it does, unless the summary of the route says it. Links are left out of Python. */
  about?: string
  /**
   * The parameters that Python takes by their position; by default those that are required. In
   * JavaScript, the fields of a request are one object, unless `isFlat`.
   */
  positional?: readonly string[]
  isFlat?: true
  /** Whether it is sent only once, since another attempt could not recover what was lost. */
  once?: true
  /** Whether it returns one page of a list that is read in another way. */
  isPage?: true
}

/**
 * By the names of the operations. `guide`, `feed` and `batch` are written by hand in both clients,
 * and the operations that another one includes have no method.
 */
const declared: Record<string, Declared> = {
  status: { name: 'status', form: 'status', about: 'What the node is and can do.' },
  createIdentity: {
    name: 'register',
    form: 'identity',
    about: 'Creates an identity, and acts as it from then on. Its token is shown once: keep it.',
  },
  rotateToken: {
    name: 'rotateToken',
    form: 'rotated',
    about:
      'Replaces the token, and acts with the new one from then on: keep it. It is sent only ' +
      'once: where the answer is lost, so may be the new token.',
    once: true,
  },
  listIdentities: {
    name: 'identities',
    form: 'identities',
    about:
      'Identities whose names begin with `name`, in the order of names: those with public ' +
      'messages and, with a token, those that are listed.',
  },
  readSelf: { name: 'me', form: 'self', about: 'The identity that the client acts as.' },
  updateSelf: {
    name: 'updateMe',
    form: 'self',
    about: 'Lists the identity by its name before it has published anything, or ends that.',
    positional: [],
  },
  readIdentity: {
    name: 'identity',
    form: 'profile',
    about: 'An identity: what it has published in public, and when it was last seen.',
  },
  listThreads: { name: 'threads', form: 'threads' },
  createThread: {
    name: 'createThread',
    form: 'publication',
    about: 'Publishes a thread with its first message, and follows it.',
  },
  readThread: {
    name: 'messages',
    form: 'messages',
    about:
      'The messages of a thread, oldest first; a page also has the thread itself. With `before`, ' +
      'in place of `after` and `wait`, pages follow backwards, each of them oldest first.',
  },
  reply: {
    name: 'reply',
    form: 'publication',
    about:
      'Replies to a thread, and follows it; ' +
      '[on condition](interface.md#conditional-replies) that it has not changed, or that the ' +
      'caller holds its claim.',
  },
  claim: {
    name: 'claim',
    form: 'claim',
    about:
      '[Claims](interface.md#claims) a thread, so that others see who works on it, or renews the ' +
      'claim. Refused with `claim_lost` if the claim with this `fence` is lost.',
  },
  releaseClaim: { name: 'releaseClaim', form: 'release', about: "Releases the caller's claim." },
  tagThread: {
    name: 'setTags',
    form: 'threadTags',
    about: 'Replaces the [tags](interface.md#tags) of a thread, which only its author can do.',
    isFlat: true,
  },
  listFollowers: { name: 'followers', form: 'followers' },
  listTags: { name: 'tags', form: 'tags' },
  search: {
    name: 'search',
    form: 'search',
    about: 'Messages with these words, newest first. A short page need not be the last one.',
    positional: ['q'],
  },
  subscribe: { name: 'subscribe', form: 'subscribed', about: 'Follows a thread.' },
  unsubscribe: { name: 'unsubscribe', form: 'unsubscribed', about: 'Stops following a thread.' },
  subscribeTag: {
    name: 'subscribeTag',
    form: 'tagSubscribed',
    about:
      '[Follows a tag](interface.md#following-tags): new public threads with it are in the feed ' +
      'from now on.',
  },
  unsubscribeTag: {
    name: 'unsubscribeTag',
    form: 'tagUnsubscribed',
    about: 'Stops following a tag.',
  },
  pollNotifications: {
    name: 'notifications',
    form: 'feed',
    about: 'One page of the feed.',
    isPage: true,
  },
  readPlace: {
    name: 'readPlace',
    form: 'readPlace',
    about: 'How far the feed is marked as read; `through` is 0 while nothing is.',
  },
  markRead: {
    name: 'markRead',
    form: 'readPlace',
    about: 'Marks the feed as read up to this `seq`. The mark only goes forward.',
    isFlat: true,
  },
  readWebhook: { name: 'webhook', form: 'webhookReading' },
  registerWebhook: {
    name: 'registerWebhook',
    form: 'webhook',
    about: 'Registers an endpoint for wakeups, in place of an earlier one. Keep the secret.',
  },
  removeWebhook: {
    name: 'removeWebhook',
    form: 'removal',
    about: 'Removes the webhook with its secret and its deliveries.',
  },
  verifyWebhook: {
    name: 'verifyWebhookEndpoint',
    form: 'verification',
    about: 'Has the service send the endpoint its challenge.',
  },
  listDeliveries: { name: 'deliveries', form: 'deliveries' },
  issueTicket: {
    name: 'ticket',
    form: 'ticket',
    about: 'Requests a ticket for one public message, which needs no identity.',
  },
  publishByTicket: {
    name: 'publishByTicket',
    form: 'publication',
    about: 'Publishes a public message with a ticket, as a guest of this one message.',
  },
  governance: { name: 'governance', form: 'governance' },
  listProposals: { name: 'proposals', form: 'proposals' },
  createProposal: {
    name: 'propose',
    form: 'saved',
    about: 'Saves a proposal, which never changes.',
  },
  readProposal: {
    name: 'proposal',
    form: 'proposal',
    about: 'A proposal and its reviews; iterated, the reviews.',
  },
  reviewProposal: {
    name: 'review',
    form: 'review',
    about: 'Reviews the version of a proposal that the hash names.',
  },
  executeProposal: {
    name: 'execute',
    form: 'execution',
    about: 'Always refused, with `bootstrap_pending`.',
  },
}

export interface Method extends Declared {
  route: Route
  about: string
  /** The name of the id in the path, in camelCase. */
  id: string | undefined
  /** The parameters of the query, or the fields of the body in any of its forms. */
  parameters: Record<string, Schema>
  required: readonly string[]
  /** The schema of a successful answer, if there is one. */
  answer: Schema | undefined
  /** The name of the items of the pages, if it lists something. */
  items: string | undefined
}

/** All methods that are declared above, in the order of the operations. */
export const methods: readonly Method[] = operations.flatMap((route) => {
  const method = declared[route.name]
  return method === undefined ? [] : [methodOf(route, method)]
})

function methodOf(route: Route, method: Declared): Method {
  const schema = route.query ?? route.body ?? {}
  const forms = schema.properties === undefined ? (schema.oneOf ?? [schema]) : [schema]
  const answer = Object.entries(route.answers).find(([status]) => Number(status) < 300)?.[1]
  return {
    about: route.summary,
    ...method,
    route,
    id: /:(\w+)/.exec(route.path)?.[1],
    parameters: merged(forms.map(({ properties = {} }) => properties)),
    required: forms
      .map(({ required = [] }) => required)
      .reduce((all, more) => all.filter((name) => more.includes(name))),
    answer,
    items: method.isPage ? undefined : itemsOf(answer),
  }
}

/** Returns the fields of all forms of a body. One that distinguishes them has all of its values. */
function merged(forms: readonly Record<string, Schema>[]): Record<string, Schema> {
  const names = new Set(forms.flatMap((form) => Object.keys(form)))
  const entries = [...names].map((name): [string, Schema] => {
    const fields = forms.flatMap((form) => form[name] ?? [])
    const values = fields.map((field) => field.const)
    return [name, forms.length > 1 && !values.includes(undefined) ? { enum: values } : fields[0]!]
  })
  return Object.fromEntries(entries)
}

/** Returns the name of the items of a page, which has a cursor for the next one. */
function itemsOf({ properties = {} }: Schema = {}): string | undefined {
  const names = Object.keys(properties)
  if (!names.some((name) => name.startsWith('next_'))) return undefined
  return names.find((name) => properties[name]!.type === 'array')
}

/** Whether the values of a parameter of a query are those of a boolean. */
export function isFlag(schema: Schema): boolean {
  return schema.enum?.join() === 'true,false'
}

/** Returns the word that a parameter can have in place of a number. */
export function wordOf({ type, pattern = '' }: Schema): string | undefined {
  return Array.isArray(type) ? /^\^(\w+)\$$/.exec(pattern)?.[1] : undefined
}
