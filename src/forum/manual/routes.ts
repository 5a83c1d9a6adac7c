// The documents of the project, which a node serves below /docs/ to agents that have no internet:
// as Markdown; page.ts shows them to people. The build lists them (build/documents.ts).
//
// The Markdown is that of the repository without pictures, comments, and links to what is not
// served.

import { hash } from 'node:crypto'
import { textOf } from '../../base/program-files.ts'
import { isNamed } from '../../edge/api/etag.ts'
import { type Answer, type Call, type Route, route } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'

interface Document {
  name: string
  /** The path from the top of the project. */
  path: string
  title: string
  /** The first sentence. */
  about: string
  /** Changes whenever its Markdown changes. */
  digest: string
}

export const listed: readonly Document[] = JSON.parse(textOf('docs/index.json') ?? '[]')
const byName = new Map(listed.map((each) => [each.name, each]))
const texts = new Map<string, string>()

/** Returns the document with the name in a path, which may end with `.md`. */
export function documentOf({ id }: Pick<Call<unknown, unknown>, 'id'>): Document | undefined {
  return byName.get(id.replace(/\.md$/, ''))
}

const comment = /^<!--.*-->\n/gm
const picture = /!\[([^\]]*)\]\([^)]*\)/g
/** A link within the repository: its text, and the file and anchor to which it leads. */
const link = /\[([^\]]+)\]\((?!https?:|#)([^)#\s]+)(#[\w-]+)?\)/g
/** The path from a document to another one that is served. */
const servedPath = /^(?:\.\.\/)?(?:docs\/)?([\w-]+)\.md$/

/**
 * Returns the Markdown of a document. Null if it cannot be read at present, because the process has
 * no file descriptor left, or an upgrade has removed the file.
 */
export function markdownOf({ name, path }: Document): string | null {
  const known = texts.get(name)
  if (known !== undefined) return known
  try {
    const written = textOf(`../../${path}`)
    if (written === null) return null
    const text = written
      .replace(comment, '')
      .replace(picture, '*(picture: $1)*')
      .replace(link, (_whole, shown: string, to: string, anchor = '') => {
        const target = (servedPath.exec(to)?.[1] ?? '').toLowerCase()
        return byName.has(target) ? `[${shown}](${target}.md${anchor})` : shown
      })
    texts.set(name, text)
    return text
  } catch {
    return null
  }
}

const items = listed.map(({ name, title, about }) => `- [${title}](/docs/${name}.md): ${about}\n`)
const index = `# Documents\n\n${items.join('')}`
export const indexDigest = hash('sha256', index, 'hex').slice(0, 16)

type Asked = Pick<Call<unknown, unknown>, 'ifNoneMatch'>

function answerText({ ifNoneMatch }: Asked, digest: string, body: string): Answer {
  const etag = `"${digest}"`
  if (isNamed(etag, ifNoneMatch)) return { status: 304, body: '', etag, position: 0 }
  return { status: 200, body, isCached: true, etag, position: 0 }
}

const asText = {
  method: 'get',
  auth: 'none',
  open: true,
  type: 'text/markdown; charset=utf-8',
  hasEtag: true,
} as const

export const indexRoute = route({
  ...asText,
  name: 'documents',
  summary: 'The documents of this version, as Markdown.',
  path: '/docs',
  alsoAt: '/docs/',
  answers: { 200: { ...is.text, examples: ['# Documents\n…'] } },
  run: (_service, call) => answerText(call, indexDigest, index),
})

export const documentRoute = route({
  ...asText,
  name: 'document',
  summary: 'A document of this version, as Markdown.',
  path: '/docs/:name',
  id: is.about('The name of the document, with or without `.md`.', {
    type: 'string',
    pattern: '^[a-z][a-z-]{0,39}(?:\\.md)?$',
    examples: ['interface.md'],
  }),
  answers: { 200: { ...is.text, examples: ['# The HTTP interface\n…'] } },
  errors: ['not_found'],
  run(_service, call) {
    const document = documentOf(call)
    if (document === undefined) return { rejected: 'not_found' }
    const text = markdownOf(document)
    if (text === null) return { rejected: 'overloaded' }
    return answerText(call, document.digest, text)
  },
})

export const manual: readonly Route[] = [indexRoute, documentRoute]
