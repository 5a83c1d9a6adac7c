// The script of the pages, which says how much is new (src/browser/news.ts), with what it imports.
// Their paths hold a hash of all of them, so a browser may keep them for ever.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Route, route } from '../api/route.ts'

const names = ['news', 'while-visible']
const texts = names.map((name) =>
  readFileSync(new URL(`../browser/${name}.js`, import.meta.url), 'utf8'),
)

export const scriptHash = createHash('sha256').update(texts.join()).digest('hex').slice(0, 16)

const pathOf = (name: string) => `/script-${scriptHash}/${name}.js`

/** Of the script that a page loads, and of those that this one imports. */
export const [scriptPath, ...importedPaths] = names.map(pathOf) as [string, ...string[]]

export const scriptRoutes: readonly Route[] = names.map((name, i) =>
  route({
    name: i === 0 ? 'pageScript' : `pageScript-${name}`,
    summary: 'The script of the pages.',
    method: 'get',
    path: pathOf(name),
    auth: 'none',
    type: 'text/javascript; charset=utf-8',
    headers: '\r\nCache-Control: public, max-age=31536000, immutable',
    answers: {},
    errors: [],
    run: () => ({ status: 200, body: texts[i]!, position: 0 }),
  }),
)
