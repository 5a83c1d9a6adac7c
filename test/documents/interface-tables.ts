// The reference in docs/interface.md: endpoints, resources, errors and limits, derived from the
// routes, schemas and constants that the service runs with.

import { answersBytesMax, listBytesMax, requestsMax } from '../../src/edge/api/batch.ts'
import { commonErrors } from '../../src/edge/api/errors.ts'
import { errorsOf } from '../../src/edge/api/openapi.ts'
import type { Route } from '../../src/edge/api/route.ts'
import type { Schema } from '../../src/edge/api/schema.ts'
import { bodyBytesMax } from '../../src/edge/http/incoming-body.ts'
import { depthMax, valuesMax } from '../../src/edge/http/parse.ts'
import { followedTagsMax } from '../../src/forum/feed/machine.ts'
import { textBytesMax } from '../../src/forum/governance/commands.ts'
import { pageBytesMax } from '../../src/forum/governance/proposal-routes.ts'
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
import { fieldList, type Section } from './generated.ts'
import { answerFieldsOf, fieldsOf, titledSchemas } from './schema-words.ts'

export const interfaceSections: Record<string, Section> = {
  endpoints: () => operations.map(endpoint).join('\n\n'),
  resources: resourceLists,
  documents: documentList,
  open: openList,
  errors: errorLists,
  'implied-errors': impliedErrors,
  limits: limitList,
}

/** Lists the requests that are always served without a token. */
function openList(): string {
  const open = routes.filter((route) => route.open).map(requestLine)
  return `${open.slice(0, -1).join(', ')} and ${open.at(-1)}.`
}

function documentList(): string {
  const documents = routes.filter((route) => !operations.includes(route))
  return fieldList(documents.map((route) => [requestLine(route), route.summary]))
}

/** Formats a request: `GET /api/threads/{threadId}`. */
function requestLine({ method, path }: Route): string {
  return `\`${method.toUpperCase()} ${path.replace(/:(\w+)/, '{$1}')}\``
}

const tokenOf: Record<Route['auth'], string> = {
  none: 'No token',
  optional: 'Token optional',
  member: 'Token optional',
  bearer: 'Token',
}

/** Describes an operation: what it does, needs, takes and answers. */
function endpoint(route: Route): string {
  const { auth, idempotent, summary } = route
  const key = idempotent === 'optional' ? ', key optional' : idempotent ? ', key' : ''
  const codes = codeList(ownErrors(route))
  const refusals = codes === '' ? '' : ` Own codes: ${codes}.`
  const says = `${summary} ${tokenOf[auth]}${key}. Answers ${answersOf(route)}.${refusals}`
  return [`### ${requestLine(route)}`, says, ...fieldLists(route)].join('\n\n')
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

/** Lists the fields of the query and the body. Those that all kinds of a body have come first. */
function fieldLists({ query = {}, body = {}, checkedLate = [] }: Route): string[] {
  const kinds = (body.oneOf ?? [body]).map((form) => {
    return { kind: form.properties?.kind?.const, rows: fieldsOf(form, () => 'invalid_field') }
  })
  const isShared = (row: string[]) => kinds.every(({ rows }) => includes(rows, row))
  return [
    ...listOf('Parameters', fieldsOf(query, parameterCode, checkedLate)),
    ...listOf('Body', kinds[0]!.rows.filter(isShared)),
    ...kinds.flatMap(({ kind, rows }) => {
      const own = rows.filter((row) => !isShared(row))
      return listOf(`Body of the kind \`${kind}\``, own)
    }),
  ]
}

/** Whether a table has this row. */
function includes(rows: readonly string[][], row: readonly string[]): boolean {
  return rows.some((other) => `${other}` === `${row}`)
}

/** Returns a list of fields after this line, or nothing if there are none. */
function listOf(line: string, rows: string[][]): string[] {
  return rows.length === 0 ? [] : [`${line}:`, fieldList(rows)]
}

function parameterCode({ type }: Schema): ErrorCode {
  return [type].flat().includes('integer') ? 'invalid_number' : 'invalid_query'
}

interface Resource {
  title: string
  /** Each has the name of a field, and its type with its meaning. */
  rows: string[][]
}

/** Fields that at least so many resources have in common are described once. */
const sharedMin = 3

function resourceLists(): string {
  const found = new Map<string, Schema>()
  for (const { answers } of routes) {
    for (const schema of Object.values(answers)) titledSchemas(schema, found)
  }
  // The description of Webhook also covers the schema that may be null.
  found.delete('NoWebhook')
  const resources = [...found].map(([title, schema]) => ({ title, rows: answerFieldsOf(schema) }))
  const shared = sharedRows(resources)
  return [
    fieldList(shared),
    ...resources.map((resource) => describeResource(resource, resources, shared)),
  ].join('\n\n')
}

/** Returns the fields that many resources have: of each name the most frequent one. */
function sharedRows(resources: readonly Resource[]): string[][] {
  const rows = resources.flatMap((resource) => resource.rows)
  const times = (row: string[]) => rows.filter((other) => includes([other], row)).length
  const rarestFirst = rows
    .filter((row) => times(row) >= sharedMin)
    .toSorted((a, b) => times(a) - times(b))
  return [...new Map(rarestFirst.map((row) => [row[0]!, row])).values()].toSorted()
}

/** Names the fields that are described elsewhere, and describes the others. */
function describeResource(
  { title, rows }: Resource,
  resources: readonly Resource[],
  shared: readonly string[][],
): string {
  const part = resources.find((other) => {
    const { length } = other.rows
    return (
      length > sharedMin && length < rows.length && other.rows.every((row) => includes(rows, row))
    )
  })
  const others = rows.filter((row) => !includes(part?.rows ?? [], row))
  const elsewhere = [
    ...(part === undefined ? [] : [`the fields of [${part.title}](#${part.title.toLowerCase()})`]),
    ...others.filter((row) => includes(shared, row)).map(([name]) => name),
  ]
  const own = others.filter((row) => !includes(shared, row))
  return [
    `### ${title}`,
    ...(elsewhere.length === 0 ? [] : [`Has ${elsewhere.join(', ')}.`]),
    ...(own.length === 0 ? [] : [fieldList(own)]),
  ].join('\n\n')
}

/** Lists the codes of each status, with the seconds of `Retry-After`. */
function errorLists(): string {
  const all = Object.entries<ErrorKind>(errors)
  const statuses = [...new Set(all.map(([, { status }]) => status))].toSorted((a, b) => a - b)
  return statuses
    .map((status) => {
      const rows = all.flatMap(([code, { status: own, message, retryAfter }]) => {
        const after = retryAfter === undefined ? '' : ` (${retryAfter} s)`
        return own === status ? [[`\`${code}\`${after}`, message]] : []
      })
      return `**${status}**\n\n${fieldList(rows)}`
    })
    .join('\n\n')
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
  return fieldList(implied.map(({ what, codes }) => [what, codeList(codes)]))
}

/** Returns the codes of a route that do not follow from what it is. */
function ownErrors(route: Route): ErrorCode[] {
  const common = new Set(implied.flatMap(({ codes }) => codes))
  const others = errorsOf(route).filter((code) => !common.has(code))
  return [...new Set([...(route.errors ?? []), ...others])]
}

function codeList(codes: readonly ErrorCode[]): string {
  const common: readonly ErrorCode[] = commonErrors
  return codes.flatMap((code) => (common.includes(code) ? [] : `\`${code}\``)).join(', ')
}

function limitList(): string {
  const minutes = retryDelaysMs.map((ms) => ms / 60_000)
  return fieldList([
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
  ])
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
