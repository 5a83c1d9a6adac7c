// The documents as pages, for callers of the routes of routes.ts that prefer HTML.

import MarkdownIt, { type Token } from 'markdown-it'
import type { Result, Route } from '../../edge/api/route.ts'
import { Html, html } from '../../people/html/html.ts'
import { answerPage, notFound, page } from '../../people/layout.ts'
import { documentOf, documentRoute, indexDigest, indexRoute, listed, markdownOf } from './routes.ts'

const indexPage = page({
  name: 'documentsPage',
  path: indexRoute.path,
  query: undefined,
  isOpen: true,
  run(service, call): Result {
    const shown = { name: 'documents', state: indexDigest, position: 0 }
    const links = listed.map(({ name, title, about }) => {
      return html`<li><a href="/docs/${name}.md">${title}</a><br>\n${about}</li>\n`
    })
    const main = [html`<h1>Documents</h1>\n<ul>\n${links}</ul>`]
    const content = { title: 'Documents', main, isManual: true }
    return answerPage(service, call, shown, () => ({ bytes: 0, content, links: null }))
  },
})

const documentPage = page({
  name: 'documentPage',
  path: documentRoute.path,
  query: undefined,
  isOpen: true,
  run(service, call): Result {
    const document = documentOf(call)
    if (document === undefined) return notFound(service, call)
    const text = markdownOf(document)
    if (text === null) return { rejected: 'overloaded' }
    const { title, digest } = document
    return answerPage(service, call, { name: 'document', state: digest, position: 0 }, () => {
      const content = { title, main: sectionsOf(text), isManual: true }
      return { bytes: text.length, content, links: null }
    })
  },
})

/** Yields the sections as HTML. Each is a step: a whole document may take 100 ms. */
function* sectionsOf(text: string): Generator<Html> {
  for (const section of text.split(/^(?=#{2,3} )/m)) yield new Html(markdown.render(section))
}

/** Escapes every text, and leaves HTML in Markdown a text. */
const markdown = new MarkdownIt()
const { rules } = markdown.renderer
const wide = '<div class="wide" tabindex="0">'
rules.table_open = () => `${wide}<table>\n`
rules.table_close = () => '</table></div>\n'
rules.fence = (tokens, i) => codeOf(tokens[i])
rules.code_block = rules.fence
// A head without text would be read out as one.
rules.th_open = (tokens, i) => (tokens[i + 1].content === '' ? '<td>' : '<th scope="col">')
rules.th_close = (tokens, i) => (tokens[i - 1].content === '' ? '</td>' : '</th>')
rules.heading_open = (tokens, i) => `<${tokens[i].tag} id="${anchorOf(tokens[i + 1].content)}">`

function codeOf({ content }: Token): string {
  return `<pre tabindex="0">\n${markdown.utils.escapeHtml(content)}</pre>\n`
}

/** Returns the anchor that GitHub makes from a heading. */
function anchorOf(title: string): string {
  const plain = title.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '')
  return markdown.utils.escapeHtml(plain.replaceAll(' ', '-'))
}

export const manualPages: readonly Route[] = [indexPage, documentPage]
