// Parses the HTML of a page as strictly as the pages write it: every `<` begins a tag that they
// use, every attribute is one that they use and is in double quotes, and every `&` begins an
// entity. Markup from a message is rejected, however a browser would treat it.

import assert from 'node:assert/strict'

export interface Element {
  name: string
  attributes: Record<string, string>
  /** All text in the element, including that of its children. */
  text: string
}

const attributesOf: Record<string, readonly string[]> = {
  html: ['lang'],
  head: [],
  meta: ['charset', 'name', 'content', 'http-equiv'],
  title: [],
  link: ['rel', 'href'],
  script: ['type', 'src'],
  body: [],
  a: ['class', 'href', 'rel', 'aria-current'],
  header: ['class'],
  nav: ['class', 'aria-label'],
  main: ['id', 'class'],
  form: ['role', 'action', 'method', 'class'],
  input: [
    ...['id', 'type', 'name', 'value', 'aria-label', 'placeholder', 'maxlength', 'required'],
    ...['min', 'max'],
    ...['autocomplete', 'autofocus', 'checked', 'aria-describedby', 'aria-invalid'],
  ],
  textarea: [
    ...['id', 'name', 'rows', 'dir', 'required', 'autofocus'],
    ...['aria-describedby', 'aria-invalid'],
  ],
  label: ['for', 'class'],
  fieldset: [],
  legend: [],
  button: ['name', 'value', 'formnovalidate'],
  mark: [],
  ul: [],
  h1: [],
  h2: ['id'],
  p: [
    'class',
    'id',
    'dir',
    'role',
    'data-thread',
    'data-seq',
    'data-order',
    'data-newest',
    'data-count',
  ],
  ol: ['class', 'start'],
  li: ['class', 'dir'],
  b: [],
  svg: ['class', 'viewBox', 'aria-hidden'],
  path: ['d'],
  bdi: [],
  span: ['class', 'id', 'role', 'aria-label'],
  code: ['class'],
  em: [],
  strong: [],
  s: [],
  br: [],
  hr: [],
  blockquote: [],
  table: ['class', 'aria-labelledby'],
  thead: [],
  tbody: [],
  tr: [],
  th: ['class', 'dir', 'scope'],
  td: ['class', 'dir'],
  time: ['datetime', 'title'],
  article: ['id', 'class'],
  div: ['class', 'dir', 'tabindex', 'role', 'aria-labelledby'],
  pre: ['class', 'dir', 'tabindex'],
  details: ['class'],
  summary: [],
  footer: [],
  select: ['id', 'name'],
  option: ['value', 'selected'],
  section: ['class', 'aria-label'],
}
const empty = ['meta', 'link', 'input', 'br', 'hr']
/** Those of the pages, and the one that the pages of operators load. */
const ownScript = /^\/(?:page-[0-9a-f]{16}\/[a-z-]+|enhance)\.js$/

const tag = /<(\/?)([a-z][a-z0-9]*)((?: [a-zA-Z-]+="[^"<>]*")*)>/y
const attribute = / ([a-zA-Z-]+)="([^"]*)"/g
const entity = /&(amp|lt|gt|quot|#39);/g
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

function decoded(text: string): string {
  assert.ok(!/&(?!(?:amp|lt|gt|quot|#39);)/.test(text), `an entity: ${text}`)
  return text.replace(entity, (_, name: string) => entities[name]!)
}

/** Returns all elements of the page, in order of their beginnings. Throws on any other markup. */
export function elementsOf(page: string): Element[] {
  const start = '<!doctype html>\n'
  assert.ok(page.startsWith(start), page.slice(0, 100))
  const elements: Element[] = []
  const open: Element[] = []
  for (let at = start.length; at < page.length; ) {
    if (page[at] !== '<') {
      const next = page.indexOf('<', at)
      const end = next === -1 ? page.length : next
      const text = page.slice(at, end)
      assert.ok(!text.includes('>'), `an open angle: ${text}`)
      for (const element of open) element.text += decoded(text)
      at = end
      continue
    }
    tag.lastIndex = at
    const found = tag.exec(page)
    assert.ok(found, `no tag of the pages: ${page.slice(at, at + 80)}`)
    const [whole, slash, name, rest] = found as unknown as [string, string, string, string]
    at += whole.length
    assert.ok(name in attributesOf, `an element of the pages: ${whole}`)
    if (slash === '/') {
      assert.equal(open.pop()?.name, name, 'an element is closed by its own tag')
      continue
    }
    const attributes: Record<string, string> = {}
    for (const [, key, value] of rest.matchAll(attribute)) {
      assert.ok(attributesOf[name]!.includes(key!), `an attribute of the pages: ${whole}`)
      assert.ok(!(key! in attributes), `an attribute once: ${whole}`)
      attributes[key!] = decoded(value!)
    }
    const element = { name, attributes, text: '' }
    elements.push(element)
    if (!empty.includes(name)) open.push(element)
  }
  assert.deepEqual(open, [], 'every element is closed')
  for (const { attributes, text } of elements.filter(({ name }) => name === 'script')) {
    assert.match(attributes.src ?? '', ownScript, 'a script is a file of the service')
    assert.equal(text, '', 'no script is in the page')
  }
  return elements
}
