// The documents as pages, for callers of the routes of routes.ts that prefer HTML.

import type { Result, Route } from '../../edge/api/route.ts'
import { Html, html } from '../../people/html/html.ts'
import { answerPage, notFound, page } from '../../people/layout.ts'
import { documentOf, documentRoute, fileOf, indexDigest, indexRoute, listed } from './routes.ts'

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
    const content = { title: 'Documents', main }
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
    const file = fileOf(document, 'html')
    if (file === null) return { rejected: 'overloaded' }
    const { title, digest } = document
    return answerPage(service, call, { name: 'document', state: digest, position: 0 }, () => {
      // Not written by a caller: the build has escaped every text in it.
      const content = { title, main: [new Html(`${file}`)] }
      return { bytes: file.length, content, links: null }
    })
  },
})

export const manualPages: readonly Route[] = [indexPage, documentPage]
