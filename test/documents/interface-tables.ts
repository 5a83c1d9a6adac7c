// The tables of docs/interface.md: endpoints, request fields, resources, errors and limits, derived
// from the routes, schemas and constants that the service runs with.

import { answersBytesMax, listBytesMax, requestsMax } from '../../src/edge/api/batch.ts'
import { commonErrors } from '../../src/edge/api/errors.ts'
import { errorsOf } from '../../src/edge/api/openapi.ts'
import type { Route } from '../../src/edge/api/route.ts'
import { meaningOf, type Schema } from '../../src/edge/api/schema.ts'
import { bodyBytesMax } from '../../src/edge/http/incoming-body.ts'
import { depthMax, valuesMax } from '../../src/edge/http/parse.ts'
import { followedTagsMax } from '../../src/forum/feed/machine.ts'
import { pageBytesMax } from '../../src/forum/governance/proposal-routes.ts'
import { textBytesMax } from '../../src/forum/governance/proposal-rules.ts'
import { guestLifetimeMs } from '../../src/forum/identities/commands.ts'
import { operations, routes } from '../../src/forum/routes.ts'
import { ticketLifetimeMs } from '../../src/forum/tickets/machine.ts'
import { retryDelaysMs } from '../../src/forum/webhooks/deliveries.ts'
import {
  receiptsMax,
  receiptsShownMax,
  retentionMs,
} from '../../src/forum/webhooks/delivery-receipts.ts'
import { answerBytesMax, timeoutMs } from '../../src/forum/webhooks/send.ts'
import { lapseAfterMs } from '../../src/forum/webhooks/table.ts'
import { type ErrorCode, type ErrorKind, errors } from '../../src/kernel/rejection.ts'
import { type Section, table } from './generated.ts'
import { fieldsOf, titledSchemas, typeOf } from './schema-words.ts'

export const interfaceSections: Record<string, Section> = {
  endpoints: () => endpointTable(operations),
  requests: () => operations.map(requestTables).filter(Boolean).join('\n\n'),
  resources: resourceTables,
  documents: () => endpointTable(routes.filter(isDocument)),
  open: openTable,
  errors: errorTable,
  'implied-errors': impliedErrors,
  'errors-of-endpoints': endpointErrors,
  limits: limitTable,
}

/** The routes that are always served without a token. */
function openTable(): string {
  const open = routes.filter((route) => route.open)
  return table(
    ['request', 'what it does'],
    open.map((route) => [requestLine(route), route.summary]),
  )
}

function isDocument(route: Route): boolean {
  return !operations.includes(route)
}

/** Formats a request: `GET /api/threads/{threadId}`. */
function requestLine({ method, path }: Route): string {
  return `\`${method.toUpperCase()} ${path.replace(/:(\w+)/, '{$1}')}\``
}

function endpointTable(routes: readonly Route[]): string {
  const rows = routes.map((route) => {
    const key = route.idempotent ? 'yes' : ''
    return [requestLine(route), route.auth, key, route.summary, answersOf(route)]
  })
  return table(['request', 'token', 'key', 'what it does', 'answers'], rows)
}

/**
 * Formats the answers: `201, 200 Publication; 412 ReplyRefused`. All successes of a route have the
 * same shape, and some refusals have fields of their own.
 */
function answersOf({ answers }: Route): string {
  const isRefusal = ([status]: [string, Schema]) => Number(status) >= 400
  const all = Object.entries(answers)
  const refusals = all.filter(isRefusal).map((each) => formatted([each]))
  const successes = all.filter((each) => !isRefusal(each))
  return [...(successes.length > 0 ? [formatted(successes)] : []), ...refusals].join('; ')
}

function formatted(answers: [status: string, schema: Schema][]): string {
  const statuses = answers.map(([status]) => status).toReversed()
  const { title, properties } = answers[0]![1]
  return title === undefined || properties === undefined
    ? statuses.join(', ')
    : `${statuses.join(', ')} [${title}](#${title.toLowerCase()})`
}

/** Returns one table for the query, and one for each form of the body. */
function requestTables(route: Route): string {
  const { query, body, checkedLate = [] } = route
  const head = ['field', 'type and limits', 'required', 'refused with']
  const of = (what: string, schema: Schema) => {
    const rows = fieldsOf(schema).map(([name, ...rest]) =>
      checkedLate.some((late) => name === `\`${late}\``)
        ? [name, ...rest.slice(0, -1), '[in its order](#publishing-by-get)']
        : [name, ...rest],
    )
    return `${requestLine(route)}, ${what}:\n\n${table(head, rows)}`
  }
  return [
    ...(query === undefined ? [] : [of('query', query)]),
    ...(body?.oneOf ?? [body]).flatMap((form) =>
      form?.properties === undefined ? [] : [of(`body${kindOf(form)}`, form)],
    ),
  ].join('\n\n')
}

function kindOf({ properties }: Schema): string {
  const kind = properties!.kind?.const
  return kind === undefined ? '' : ` of the kind \`${kind}\``
}

function resourceTables(): string {
  const found = new Map<string, Schema>()
  for (const { answers } of routes) {
    for (const schema of Object.values(answers)) titledSchemas(schema, found)
  }
  // The description of Webhook also covers the schema that may be null.
  found.delete('NoWebhook')
  return [...found]
    .map(([title, { properties, required }]) => {
      const rows = Object.entries(properties!).map(([name, schema]) => [
        `\`${name}\``,
        typeOf(schema) + (required?.includes(name) ? '' : ', optional'),
        meaningOf(schema) ?? '',
      ])
      return `### ${title}\n\n${table(['field', 'type', 'meaning'], rows)}`
    })
    .join('\n\n')
}

function errorTable(): string {
  const rows = Object.entries<ErrorKind>(errors)
    .toSorted(([, a], [, b]) => a.status - b.status)
    .map(([code, { status, message, retryAfter }]) => {
      return [
        `${status}`,
        `\`${code}\``,
        retryAfter === undefined ? '' : `${retryAfter} s`,
        message,
      ]
    })
  return table(['status', 'code', 'Retry-After', 'message'], rows)
}

/** Returns a route that declares only this part. */
function routeWith(part: Partial<Route>): Route {
  return { ...routes.find(({ name }) => name === 'status')!, ...part } as Route
}

/** Error codes that follow from other parts of a route's declaration. */
const implied = Object.entries<Partial<Route>>({
  'takes or needs a token': { auth: 'bearer' },
  'shows content, with `--members-only`': { auth: 'member' },
  'has an id in its path': { id: {} },
  'takes query parameters': { query: {} },
  'takes a body': { body: {} },
  'needs an idempotency key': { idempotent: true },
  'writes, or is one of the two below `/api/compat/`': { guarded: true },
}).map(([what, part]) => ({ what, codes: errorsOf(routeWith(part)) }))

function impliedErrors(): string {
  const rows = implied.map(({ what, codes }) => [what, codeList(codes)])
  return table(['an endpoint that', 'can answer'], rows)
}

function endpointErrors(): string {
  const common = new Set(implied.flatMap(({ codes }) => codes))
  const rows = operations.flatMap((route) => {
    const others = errorsOf(route).filter((code) => !common.has(code))
    const own = new Set([...route.errors, ...others])
    return own.size === 0 ? [] : [[requestLine(route), codeList([...own])]]
  })
  return table(['request', 'codes of its own'], rows)
}

function codeList(codes: readonly ErrorCode[]): string {
  const common: readonly ErrorCode[] = commonErrors
  return codes.flatMap((code) => (common.includes(code) ? [] : `\`${code}\``)).join(', ')
}

function limitTable(): string {
  const minutes = retryDelaysMs.map((ms) => ms / 60_000)
  return table(
    ['what', 'limit'],
    [
      ['request body', `${bodyBytesMax / 1024} KiB`],
      ['values in a request body, objects and lists included', `${valuesMax}`],
      ['depth of a request body', `${depthMax} levels`],
      ['requests in a batch', `${requestsMax}`],
      ['a batch, and the answers to it', `${listBytesMax >> 20} MiB, ${answersBytesMax >> 20} MiB`],
      ['a page of proposals, which ends early', `${pageBytesMax >> 20} MiB`],
      ['tags that an identity follows', `${followedTagsMax}`],
      ['lifetime of a guest', `${guestLifetimeMs / dayMs} days`],
      ['lifetime of a publishing ticket', `${ticketLifetimeMs / 1000} seconds`],
      ['all texts of a proposal together', `${textBytesMax / 1024} KiB of UTF-8`],
      ['lifetime of a webhook that is not verified', `${lapseAfterMs / hourMs} hours`],
      ['an attempt to deliver, from the name to the last byte', `${timeoutMs / 1000} seconds`],
      ["what is read of an endpoint's answer", `${answerBytesMax / 1024} KiB`],
      ['attempts for each wakeup', `${minutes.length + 1}`],
      ['minutes after which a wakeup is tried again', minutes.join(', ')],
      [
        'delivery receipts are kept',
        `${retentionMs / dayMs} days, the newest ${receiptsShownMax}, of all ${receiptsMax}`,
      ],
    ],
  )
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
