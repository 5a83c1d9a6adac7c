// Refusals of parameters name the parameter, and say what it must be (src/edge/api/validator.ts,
// V1): of every route and page, and of every parameter that its declaration limits.

import t from 'tap'
import type { Route } from '../../../src/edge/api/route.ts'
import type { Schema } from '../../../src/edge/api/schema.ts'
import { withPages } from '../../../src/forum/pages.ts'
import { routes } from '../../../src/forum/routes.ts'
import { Node } from './edge-node.ts'
import { FakeExchange } from './fake-exchange.ts'

const node = new Node()
const declared = withPages(routes).flatMap((route) => [route, ...(route.html ? [route.html] : [])])

function newTicket(): string {
  const issued = node.get('/api/compat/ticket')
  node.sync()
  return JSON.parse(issued.answers[0].text!).ticket
}

/** Returns the text of the answer to a request, which must have status 400. */
function refusalOf(route: Route, path: string, query: Record<string, string> = {}): string {
  const html = route.type?.startsWith('text/html') ? { accept: 'text/html' } : {}
  const headers = { authorization: `Bearer ${node.token}`, ...html }
  const exchange = new FakeExchange(route.method, path, headers, `${new URLSearchParams(query)}`)
  node.edge.handle(exchange)
  if (exchange.answers[0]?.status !== 400) throw new Error(`${path}: ${exchange.answers[0]?.text}`)
  return exchange.answers[0].text!
}

/** Returns values that the schema forbids, and what the refusal of each says that it must be. */
function wrongValues(schema: Schema): { values: string[]; words: string } | null {
  const { type, minimum, maximum, pattern = '', minLength, maxLength, items } = schema
  if (items !== undefined) return wrongValues(items)
  const [, word] = /^\^(\w+)\$$/.exec(pattern) ?? []
  const [, prefix] = /^\^(\w+_)\[a-f0-9\]\{32\}\$$/.exec(pattern) ?? []
  if (schema['x-error'] === 'invalid_cursor') {
    return { values: ['x', `agt_${'0'.repeat(32)}`], words: 'the next_' }
  }
  if ([type].flat().includes('integer')) {
    const values = ['', 'x', '1.5', `${minimum! - 1}`, `${maximum! + 1}`]
    const words = `a whole number from ${minimum} to ${maximum}`
    return { values, words: word === undefined ? words : `${words} or ${word}` }
  }
  if (prefix !== undefined) {
    return { values: ['x', prefix], words: `${prefix} and 32 lowercase hexadecimal digits` }
  }
  const choice = schema.const === undefined ? schema.enum : [schema.const]
  if (choice !== undefined) return { values: ['', 'x'], words: choice.join(' or ') }
  if (maxLength === undefined && pattern !== '') {
    return { values: ['', 'A', 'x'.repeat(99)], words: `a text that matches ${pattern}` }
  }
  if (maxLength === undefined) return null
  const length = minLength === undefined ? `at most ${maxLength}` : `${minLength} to ${maxLength}`
  return { values: ['x'.repeat(maxLength + 1)], words: `a text of ${length} characters` }
}

/** A thread of the caller, which some routes look up before they check a cursor. */
const thread = node.thread().split('/').at(-1)!

function pathOf({ path, id }: Route): string {
  return path.replace(':threadId', thread).replace(/:\w+/, String(id?.examples?.[0] ?? 'x'))
}

for (const route of declared.filter(({ query }) => query !== undefined)) {
  t.test(`${route.name}: a wrong value: named, with what it must be`, async (t) => {
    // The page of threads answers a wrong cursor as it answers an absent thread.
    const isHome = route.path === '/'
    for (const [name, schema] of Object.entries(route.query!.properties!)) {
      const wrong = wrongValues(schema)
      if (wrong === null) {
        t.match(name, /^(?:ticket|to)$/, 'the only parameters without limits')
        continue
      }
      if (isHome && name === 'cursor') continue
      for (const value of wrong.values) {
        const given = route.query!.additionalProperties === false ? publishing(name) : {}
        const text = refusalOf(route, pathOf(route), { ...given, [name]: value })
        const shown = schema.items === undefined ? name : `${name}.0`
        t.match(text, `${shown} must be ${wrong.words}`, `${name}=${value}`)
      }
    }
  })
}

/** Returns the parameters of a valid publication that this one replaces, or is added to. */
function publishing(name: string): Record<string, string> {
  const target = name === 'thread_id' ? {} : { title: 'T' }
  return { ticket: newTicket(), ack: 'publish', content: 'x', ...target }
}

for (const route of routes.filter(({ id }) => id !== undefined)) {
  t.test(`${route.name}: a malformed id: named, with its form`, async (t) => {
    const [, name] = /:(\w+)/.exec(route.path)!
    const { values, words } = wrongValues(route.id!)!
    const wrong = values.find((value) => value !== '')!
    t.match(JSON.parse(refusalOf(route, route.path.replace(/:\w+/, wrong))), {
      error: 'invalid_id',
      message: `${name} must be ${words}.`,
    })
  })
}

t.test('parameters: missing, repeated, unknown, or not together: named', async (t) => {
  const publish = '/api/compat/publish'
  const all = { ticket: newTicket(), ack: 'publish', content: 'x', title: 'T' }
  const without = (name: string, more = {}) => {
    const query = new URLSearchParams({ ...all, ...more })
    query.delete(name)
    return `${query}`
  }
  const absent = `thr_${'0'.repeat(32)}`
  const rows: [path: string, query: string, message: string][] = [
    [publish, without('ticket'), 'ticket must be a ticket of GET /api/compat/ticket.'],
    [publish, without('ack'), 'ack must be publish.'],
    [
      publish,
      without('content'),
      'content must be a text of 1 to 1024 characters, not only white space.',
    ],
    [publish, without('title'), 'Either title or thread_id must be given.'],
    [publish, without('', { thread_id: absent }), 'Either title or thread_id must be given.'],
    [publish, `${without('')}&title=U`, 'title must be given only once.'],
    [
      publish,
      without('', { tag: 'x' }),
      '"tag" must be one of the parameters ticket, ack, content, title, thread_id.',
    ],
    [
      publish,
      `${without('content')}&content=50%`,
      '"content" must be UTF-8 in percent-encoding: %25 for a percent sign.',
    ],
    [
      `/api/threads/${absent}`,
      'before=9&wait=1',
      'before cannot be given together with after or wait.',
    ],
    [
      '/api/governance/proposals',
      'before=9&after=0',
      'before cannot be given together with after.',
    ],
  ]
  for (const [path, query, message] of rows) {
    t.match(JSON.parse(node.get(path, query).answers[0].text!), { message }, query)
  }
})
