// Reads the list of a batch (edge/api/batch.ts), piece by piece, because a long list takes longer
// than the event loop may be held.
//
//   {"requests":[{"method":"POST","path":"/api/threads","body":{"title":…}},…],"wait":0}
//    └──────────── outer ──────────────────────────────────────────────────────────────┘
//                └─────────── head ─────────────────────────┴─── body ───┘┘
//
// L1. The text is cut at its brackets, and each part is parsed once: every body, every head with
//     `{}` in place of its body, and what is around the heads with 0 in place of each. So the
//     schema of the list checks everything but the bodies.
// L2. Between two calls of `next` the reader examines at most `stepCharacters` of the list and the
//     rest of a string, and parses at most one head and one body, which have the limits that they
//     have in a request of its own.
// L3. If a body exceeds these limits, only its own request is refused. Any other error is an error
//     of the list, and then none of its requests is carried out.

import { parseJson } from '../../base/json.ts'
import type { ErrorCode } from '../../kernel/rejection.ts'
import { isBatchable, path as pathSchema, requests as requestsSchema } from '../api/batch.ts'
import { mustBe } from '../api/validator.ts'
import { headBytesMax } from './exchange.ts'
import { bodyBytesMax, ParsedBody } from './incoming-body.ts'
import { isEscaped, isWithinLimits, parseBody, parseObject } from './parse.ts'

const stepCharacters = 64 << 10
/** The longest text around the heads: a list may be indented. */
const outerCharactersMax = 256 << 10

/** One request of a list. */
export interface ListedRequest {
  method: string
  path: string
  token?: string
  key?: string
  body?: ParsedBody
}

interface List {
  requests: ListedRequest[]
  wait: number
}

/** Why a list is refused. */
export interface ListRefusal {
  code: ErrorCode
  detail?: string
}

type Check = (list: Record<string, unknown>) => ListRefusal | null

export const notAList: ListRefusal = {
  code: 'invalid_json',
  detail:
    'The body does not parse as one JSON object in UTF-8, or a request has more than ' +
    `${headBytesMax / 1024} KiB besides its body.`,
}
const tooMany: ListRefusal = {
  code: 'invalid_field',
  detail: mustBe('requests', requestsSchema),
}

/** The depths of brackets at which a head and a body begin. */
const headDepth = 3
const bodyDepth = 4

/**
 * Reads a list whose shape `check` checks. Returns it, or why it is refused. Yields whenever other
 * work may be done.
 */
export function* readList(text: string, check: Check): Generator<undefined, List | ListRefusal> {
  const cut = yield* cutList(text)
  if (cut === null) return notAList
  if (cut.heads.length > requestsSchema.maxItems!) return tooMany
  const list = parseBody(cut.outer)
  if (list === null) return notAList
  const { requests } = list
  // Otherwise the list has something else than a request, which the schema refuses.
  if (Array.isArray(requests) && requests.length === cut.heads.length) list.requests = cut.heads
  else if (cut.heads.length > 0) return notAList
  const refusal = check(list)
  if (refusal !== null) return refusal
  const wrong = cut.heads.findIndex(({ path }) => !isBatchable(path))
  if (wrong !== -1) {
    return { code: 'invalid_field', detail: mustBe(`requests.${wrong}.path`, pathSchema) }
  }
  for (const [i, body] of cut.bodies) cut.heads[i].body = body
  return list as unknown as List
}

interface Cut {
  outer: string
  heads: ListedRequest[]
  /** The bodies, by the indexes of their requests. */
  bodies: Map<number, ParsedBody>
}

/** Cuts the list into heads and bodies, and parses them. Returns null if one is invalid. */
function* cutList(text: string): Generator<undefined, Cut | null> {
  const cut: Cut = { outer: '', heads: [], bodies: new Map() }
  const { heads, bodies } = cut
  let head = ''
  let depth = 0
  /** Everything before this index has been added to a part. */
  let from = 0
  let stepEnd = stepCharacters
  /** The start and the end of the newest string. */
  let [nameFrom, nameEnd] = [0, 0]
  let isBody = false
  for (let i = 0; i < text.length; i++) {
    const mark = text[i]
    if (mark === '"') {
      nameFrom = i
      do {
        i = text.indexOf('"', i + 1)
        if (i === -1) return null
        if (i >= stepEnd) {
          stepEnd = i + stepCharacters
          yield
        }
      } while (isEscaped(text, i))
      nameEnd = i + 1
    } else if (mark === '{' || mark === '[') {
      depth += 1
      if (depth === headDepth) {
        cut.outer += `${text.slice(from, i)}0`
        head = ''
        from = i
      } else if (depth === bodyDepth) {
        isBody = mark === '{' && isNamedBody(text.slice(nameFrom, nameEnd))
        head += text.slice(from, i) + (mark === '{' ? '{}' : '[]')
        from = i
      }
    } else if (mark === '}' || mark === ']') {
      depth -= 1
      if (depth === bodyDepth - 1) {
        const body = isBody ? parsedBody(text.slice(from, i + 1)) : undefined
        if (body === null) return null
        if (body !== undefined) bodies.set(heads.length, body)
        from = i + 1
      } else if (depth === headDepth - 1) {
        head += text.slice(from, i + 1)
        const parsed = head.length > headBytesMax ? null : parseBody(head)
        if (parsed === null) return null
        if (heads.push(parsed as unknown as ListedRequest) > requestsSchema.maxItems!) return cut
        from = i + 1
        yield
      }
    }
    if (depth < headDepth && cut.outer.length + i - from > outerCharactersMax) return null
    if (i < stepEnd) continue
    stepEnd = i + stepCharacters
    yield
  }
  cut.outer += text.slice(from)
  return depth === 0 ? cut : null
}

const longestName = '"\\u0062\\u006f\\u0064\\u0079"'.length

function isNamedBody(name: string): boolean {
  return name === '"body"' || (name.length <= longestName && parseJson(name) === 'body')
}

/** Returns null if the text is within the limits of a body, but no JSON object. */
function parsedBody(text: string): ParsedBody | null {
  const bytes = Buffer.byteLength(text)
  const isLimited = bytes <= bodyBytesMax && isWithinLimits(text)
  const fields = isLimited ? parseObject(text) : null
  return isLimited && fields === null ? null : new ParsedBody(text, bytes, fields)
}
