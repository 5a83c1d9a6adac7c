// POST /api/batch: many requests in one. docs/interface.md, "Many at once".
//
// The edge carries the requests out (edge/http/batch.ts), each by its own route: this is only the
// declaration.

import assert from 'node:assert/strict'
import { type Route, route } from './route.ts'
import * as is from './schema.ts'

export const requestsMax = 1000
/** The largest list of requests. */
export const listBytesMax = 4 << 20
/** The largest list of answers. */
export const answersBytesMax = 8 << 20

const methods = ['GET', 'POST', 'PUT', 'DELETE']

/** The path of one request, which `isBatchable` checks. */
export const path: is.Schema = {
  description: 'A path below /api/ with its query, but not /api/batch or /api/compat/publish.',
  type: 'string',
  'x-example': '/api/threads?limit=5',
}
const closed = /^\/api\/(?:batch|compat\/publish)(?:\?|$)/

/** Returns whether a request in a list may have this path. */
export function isBatchable(path: string): boolean {
  return path.startsWith('/api/') && !closed.test(path)
}

/** How long an answer without items may be held, in seconds. */
export const wait: is.Schema = {
  description:
    'How many seconds to wait for an item, if every request polls the feed or a thread and none ' +
    'has one.',
  type: 'integer',
  minimum: 0,
  maximum: is.wait.maximum!,
  default: 0,
}

const request: is.Schema = {
  title: 'BatchRequest',
  type: 'object',
  required: ['method', 'path'],
  additionalProperties: false,
  properties: {
    method: is.about('Its method.', { type: 'string', enum: methods }),
    path,
    token: is.about(
      'The token that it acts with; otherwise that of the batch, or none.',
      is.text,
      'aic_4b7d1f0c2a9e48d6b3f5a1c7e9d20486…',
    ),
    key: is.about('Its idempotency key.', is.text, 'a-key-of-mine-1'),
    body: { description: 'Its body.', type: 'object', 'x-example': {} },
  },
}

export const requests: is.Schema = {
  description: 'The requests, in the order in which they are carried out.',
  type: 'array',
  minItems: 1,
  maxItems: requestsMax,
  items: request,
}

const response = is.object(
  'BatchResponse',
  {
    status: is.about('Its status.', { type: 'integer' }, 200),
    body: { description: 'Its body.', type: 'object', 'x-example': { threads: [] } },
    retry_after: is.about('Its `Retry-After`, where it has one.', is.count, 1),
  },
  ['retry_after'],
)

export const postBatch: Route = route({
  name: 'batch',
  summary: 'Up to 1,000 requests in one, each with its own token, key and answer.',
  method: 'post',
  path: '/api/batch',
  // The token is that of the requests without one: the batch itself has no caller.
  auth: 'optional',
  open: true,
  isBatch: true,
  needsClient: () => true,
  bodyBytesMax: listBytesMax,
  body: {
    title: 'Batch',
    type: 'object',
    required: ['requests'],
    additionalProperties: false,
    properties: { requests, wait },
  },
  answers: {
    200: is.object('BatchResponses', {
      responses: is.about('The answer to each request, in the same order.', {
        type: 'array',
        items: response,
      }),
    }),
  },
  errors: ['storage_failed', 'batch_full'],
  run: () => assert.fail('the edge carries out the requests of a batch'),
})
