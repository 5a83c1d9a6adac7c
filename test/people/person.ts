// A person with a browser without scripts, at an in-memory edge. The browser keeps cookies, reports
// redirects, and fills in the forms that it is shown.

import assert from 'node:assert/strict'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Pair, Side } from '../cluster/replication/follower-pair.ts'
import type { Answered } from '../edge/http/fake-exchange.ts'
import { FakeExchange } from '../edge/http/fake-exchange.ts'
import { browserAccept } from './browser.ts'
import { type Element, elementsOf } from './markup.ts'

export const ownOrigin = 'http://127.0.0.1:1' // test/engine/role/new-role.ts

/** Settles the pair until the exchange is answered, and returns the answer. */
export async function answerOf(pair: Pair, exchange: FakeExchange): Promise<Answered> {
  for (let turns = 0; exchange.answers.length === 0 && turns < 200; turns++) {
    pair.settle()
    await nextTick()
  }
  assert.equal(exchange.answers.length, 1, `${exchange.path} is answered once`)
  return exchange.answers[0]!
}

export interface Shown extends Answered {
  text: string
  elements: Element[]
  /** The target of a redirect, or ''. */
  location: string
}

/** The names and values of a form's controls that a browser would send, except its buttons. */
type Fields = [name: string, value: string][]

/** Returns the fields of the form that is sent to this path and has a control with this name. */
export function formOn({ elements }: Pick<Shown, 'elements'>, action: string, has = ''): Fields {
  for (const [at, { name, attributes }] of elements.entries()) {
    if (name !== 'form' || attributes.action !== action) continue
    const next = elements.findIndex((each, i) => i > at && each.name === 'form')
    const controls = elements.slice(at + 1, next === -1 ? undefined : next)
    if (has !== '' && !controls.some((each) => each.attributes.name === has)) continue
    return controls.flatMap(fieldOf)
  }
  throw new Error(`no form for ${action} with ${has}`)
}

function fieldOf({ name, attributes, text }: Element): Fields {
  const { type, checked, value = '' } = attributes
  if (name === 'textarea') return [[attributes.name!, text.replace(/^\n/, '')]]
  if (name !== 'input') return []
  const isBox = type === 'checkbox' || type === 'radio'
  return isBox && checked === undefined ? [] : [[attributes.name!, value]]
}

const crlf = (text: string) => text.replace(/\r?\n/g, '\r\n')

export class Person {
  cookie = ''
  readonly pair: Pair
  readonly side: Side

  constructor(pair: Pair, side: Side = pair.follower) {
    this.pair = pair
    this.side = side
  }

  /** The headers that a browser sends with every request. */
  get headers(): Record<string, string> {
    return { accept: browserAccept, cookie: this.cookie }
  }

  async open(target: string, headers: Record<string, string> = {}): Promise<Shown> {
    const [path, query = ''] = target.split('#')[0]!.split('?') as [string, string?]
    const exchange = new FakeExchange('get', path, { ...this.headers, ...headers }, query)
    this.side.edge.handle(exchange)
    return this.#shown(exchange)
  }

  /** Sends fields to a path as a form on a page of the service would. */
  async send(
    path: string,
    fields: Fields | Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Shown> {
    const type = 'application/x-www-form-urlencoded'
    const sent = { ...this.headers, origin: ownOrigin, 'content-type': type, ...headers }
    const exchange = new FakeExchange('post', path, sent)
    this.side.edge.handle(exchange)
    if (exchange.answers.length === 0) {
      const pairs = Array.isArray(fields) ? fields : Object.entries(fields)
      // Browsers send line breaks as CR LF.
      const body = new URLSearchParams()
      for (const [name, value] of pairs) body.append(name, crlf(value))
      exchange.endWith(Buffer.from(body.toString()))
    }
    return this.#shown(exchange)
  }

  /** Fills in a form on a page, and sends it. A value of `to` is added to those in the form. */
  fill(page: Shown, action: string, filled: Record<string, string>): Promise<Shown> {
    const [has = ''] = Object.keys(filled)
    const own = formOn(page, action, ['do', 'to'].includes(has) ? '' : has)
    const kept = own.filter(([name]) => name === 'to' || !(name in filled))
    return this.send(action, [...kept, ...Object.entries(filled)])
  }

  /** Signs in with the form, and returns the answer. */
  async signIn(token: string, to = '/feed'): Promise<Shown> {
    const page = await this.open(`/sign-in?to=${encodeURIComponent(to)}`)
    return this.fill(page, '/sign-in', { token })
  }

  async #shown(exchange: FakeExchange): Promise<Shown> {
    const answered = await answerOf(this.pair, exchange)
    const { headers, text } = answered
    const set = /Set-Cookie: ([^=]+=[^;]*); Max-Age=(\d+)/.exec(headers)
    if (set !== null) this.cookie = set[2] === '0' ? '' : set[1]!
    const elements = text === null || text === '' ? [] : elementsOf(text)
    const location = /Location: (\S+)/.exec(headers)?.[1] ?? ''
    return { ...answered, text: text ?? '', elements, location }
  }
}

/** Returns the texts of all elements with this name. */
export function textsOn({ elements }: Shown, name: string): string[] {
  return elements.filter((element) => element.name === name).map(({ text }) => text.trim())
}

/** Returns the problem that the page reports, or ''. */
export function problemOn({ elements }: Shown): string {
  return elements.find(({ attributes }) => attributes.class === 'problem')?.text ?? ''
}

/** Returns the name of the identity that is signed in, or ''. */
export function nameOn(page: Pick<Shown, 'text'>): string {
  return /Signed in as <bdi>(.*?)<\/bdi>/.exec(page.text)?.[1] ?? ''
}

/** Returns what the form shows again: the problem, and what was typed. */
export function draftOn(page: Shown, action: string, has: string) {
  return { problem: problemOn(page), ...Object.fromEntries(formOn(page, action, has)) }
}
