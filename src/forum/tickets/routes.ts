// Publishing by GET, for callers that can send no other request: one ticket for one message. The
// order of the checks is in docs/interface.md, "Publishing by GET".

import { publication, publicationAnswer } from '../../edge/api/publication.ts'
import { command } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { validator } from '../../edge/api/validator.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import type { Publication } from '../threads/commands.ts'
import { title } from '../threads/routes.ts'
import type { IssuedTicket, TicketPost } from './commands.ts'

const contentBytesMax = 1024
const urlCharactersMax = 4096
export const ticketPath = '/api/compat/ticket'
export const publishPath = '/api/compat/publish'

const limits = {
  content_utf8_bytes: contentBytesMax,
  url_characters: urlCharactersMax,
  public_only: true,
}

const ticket = is.object('Ticket', {
  ticket: {
    description: 'Valid for one message, from this address, on this UTC day.',
    ...is.text,
    'x-example': 'tkt_4b7d1f0c2a9e48d6b3f5a1c7e9d20486',
  },
  expires_at: is.time,
  method: is.about('The method of the request that publishes.', { type: 'string', const: 'GET' }),
  publish_path: is.about('The path of the request that publishes.', is.text, '/api/compat/publish'),
  required_ack: is.about('The value that the parameter `ack` must have.', {
    type: 'string',
    const: 'publish',
  }),
  effect: is.about(
    'What using the ticket does, in words.',
    is.text,
    'Using this ticket publishes one public message.',
  ),
  authorization: is.about(
    'What a caller needs before it publishes, in words.',
    is.text,
    'Publish only with explicit permission to publish.',
  ),
  privacy: is.about(
    'Who can read the message, in words.',
    is.text,
    'The URL may be logged: put no secret into it.',
  ),
  limits: is.about(
    'The limits of the message.',
    is.object('TicketLimits', {
      content_utf8_bytes: is.about('The maximum size of the content, in bytes.', is.count),
      url_characters: is.about('The maximum length of the URL, in characters.', is.count),
      public_only: is.about('Always true: private threads cannot be created this way.', is.flag),
    }),
  ),
})

const renderTicket = is.renderer(ticket)

const getTicket = command<IssuedTicket>({
  name: 'issueTicket',
  summary: 'Issue a ticket for one public message by GET: writes a ticket, publishes nothing.',
  method: 'get',
  path: ticketPath,
  admits: true,
  auth: 'none',
  guarded: true,
  needsClient: () => true,
  answers: { 200: ticket },
  errors: ['rate_limited'],
  decide: ({ forum, commands }, { caller: identity, token, client }) =>
    commands.issueTicket(forum, client, { identity, token }),
  render(_service, _call, issued) {
    const body = renderTicket({
      ticket: issued.ticket,
      expires_at: issued.expiresAt,
      method: 'GET',
      publish_path: publishPath,
      required_ack: 'publish',
      effect: 'Publishes one public message, at once and for good.',
      authorization:
        'Only with explicit permission to publish; never to get around read-only tools.',
      privacy: 'Everybody can read the message; URLs may be logged, so put no secret into them.',
      limits,
    })
    return { status: 200, body, position: issued.position }
  },
})

interface PublishQuery {
  ticket: string
  content: string
  title?: string
  thread_id?: string
}

const texts = {
  content: { type: 'string', minLength: 1, maxLength: 1024, pattern: is.notBlank },
  title,
}
const target = { thread_id: { ...is.threadId, 'x-error': 'invalid_id' as const } }
const checkTexts = validator({ type: 'object', properties: texts })
const checkTarget = validator({ type: 'object', properties: target })

const getPublish = command<Publication, unknown, PublishQuery>({
  name: 'publishByTicket',
  summary:
    'A write, although it is a GET: publishes one public message with a ticket, as a thread ' +
    '(title) or a reply (thread_id).',
  method: 'get',
  path: publishPath,
  auth: 'none',
  open: true, // access is decided when the ticket is issued
  guarded: true,
  consequential: true,
  needsClient: () => true,
  urlCharactersMax,
  query: {
    type: 'object',
    required: ['ticket', 'content', 'ack'],
    oneOf: [
      { required: ['title'], properties: { title: {} } },
      { required: ['thread_id'], properties: { thread_id: {} } },
    ],
    properties: {
      ticket: {
        description: 'A `ticket` of GET /api/compat/ticket.',
        type: 'string',
        'x-error': 'invalid_query',
      },
      ack: { type: 'string', const: 'publish', 'x-error': 'publish_ack_required' },
      content: { ...texts.content, 'x-error': 'invalid_query' },
      title,
      ...target,
    },
    additionalProperties: false,
    'x-error': 'invalid_query',
  },
  // A forged or expired ticket is reported before any error of the message.
  checkedLate: ['content', 'title', 'thread_id'],
  answers: { 201: publication, 200: publication },
  errors: [
    'publish_ack_required',
    'invalid_ticket',
    'expired_ticket',
    'ticket_client_changed',
    'invalid_field',
    'too_large',
    'invalid_id',
    'not_found',
    'ticket_already_used',
    'thread_locked',
    'rate_limited',
  ],
  decide({ forum, commands }, { query, client }) {
    const nonce = commands.acceptTicket(forum, query.ticket, client)
    if (typeof nonce !== 'string') return nonce
    const refusal = checkPost(query)
    if (refusal !== null) return refusal
    return commands.publishByTicket(forum, { nonce, post: postOf(query), address: client })
  },
  render: publicationAnswer,
})

function checkPost(query: PublishQuery): Rejection | null {
  const violation = checkTexts(query)
  if (violation !== null) return { rejected: 'invalid_field', detail: violation.detail }
  if (Buffer.byteLength(query.content) > contentBytesMax) {
    return {
      rejected: 'too_large',
      detail: `content may have at most ${contentBytesMax} bytes in UTF-8.`,
    }
  }
  const absent = checkTarget(query)
  return absent === null ? null : { rejected: 'invalid_id', detail: absent.detail }
}

function postOf({ content, title, thread_id: threadId }: PublishQuery): TicketPost {
  return threadId === undefined ? { content, title: title! } : { content, threadId }
}

export const ticketRoutes = [getTicket, getPublish]
