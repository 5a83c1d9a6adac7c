// A browser without scripts: it sends requests as browsers do, and parses pages with markup.ts.

import assert from 'node:assert/strict'
import type { Forum } from '../api/harness.ts'
import { type Element, elementsOf } from './markup.ts'

export const browserAccept =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

export interface Visit {
  status: number
  headers: Headers
  text: string
  elements: Element[]
}

/** Requests a page, and checks the headers that every page must have. */
export async function visit(
  forum: Forum,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Visit> {
  const response = await fetch(forum.url + path, {
    method,
    headers: { accept: browserAccept, ...headers },
  })
  const text = await response.text()
  const expected = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; " +
      "img-src 'self'; " +
      "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
      "require-trusted-types-for 'script'; trusted-types 'none'",
    'cache-control': response.status === 401 ? 'no-store' : 'no-cache', // a 401 page has a form
    vary: 'Accept, Cookie',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex, nofollow',
  }
  for (const [name, value] of Object.entries(expected)) {
    assert.equal(response.headers.get(name), value, `${path}: ${name}`)
  }
  const elements = text === '' ? [] : elementsOf(text)
  return { status: response.status, headers: response.headers, text, elements }
}

/** Returns the texts of all elements with this name. */
export function textsOf({ elements }: Visit, name: string): string[] {
  return elements.filter((element) => element.name === name).map(({ text }) => text)
}

/** Returns the address of the link with this text, or null. */
export function linkOf({ elements }: Visit, text: string): string | null {
  const link = elements.find((element) => element.name === 'a' && element.text === text)
  return link?.attributes.href ?? null
}

/** Returns the seqs of the messages on the page. */
export function seqsOf({ elements }: Visit): number[] {
  const articles = elements.filter(({ name }) => name === 'article')
  return articles.map(({ attributes }) => Number(/^m(\d+)$/.exec(attributes.id!)![1]))
}
