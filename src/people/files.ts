// The files that pages load: the style, the scripts (src/people/browser), and the icon. Their paths
// contain a hash of all of them, so browsers may keep them for ever.

import { createHash } from 'node:crypto'
import { ownText } from '../base/program-files.ts'
import { type Route, route } from '../edge/api/route.ts'
import { pageStyle } from './html/style.ts'

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<path d="M2 1h12a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H7l-4 4v-4H2a2 2 0 0 1-2-2V3a2 2 0 0 1 2-2z"
 fill="#0a58a5"/>
<path d="M4 5h8M4 8h5" stroke="#fff" stroke-width="1.5" stroke-linecap="round"/>
</svg>
`

const script = (route: string, name: string) => ({
  route,
  name: `${name}.js`,
  type: 'text/javascript; charset=utf-8',
  text: ownText(`people/browser/${name}.js`),
})

const files = [
  { route: 'pageStyle', name: 'style.css', type: 'text/css; charset=utf-8', text: pageStyle },
  { route: 'pageIcon', name: 'icon.svg', type: 'image/svg+xml', text: icon },
  script('pageScript', 'enhance'),
  script('pageNewsScript', 'news'),
  script('pageScriptImport', 'while-visible'),
]

/** Changes whenever a file changes. */
export const filesHash = createHash('sha256')
  .update(files.map(({ text }) => text).join())
  .digest('hex')
  .slice(0, 16)

const pathOf = (name: string) => `/page-${filesHash}/${name}`

export const stylePath = pathOf('style.css')
export const iconPath = pathOf('icon.svg')
export const enhancePath = pathOf('enhance.js')
export const newsPath = pathOf('news.js')
export const visiblePath = pathOf('while-visible.js')

export const fileRoutes: readonly Route[] = files.map(({ route: id, name, type, text }) =>
  route({
    name: id,
    summary: 'A file that pages load.',
    method: 'get',
    path: pathOf(name),
    auth: 'none',
    open: true,
    type,
    headers: '\r\nCache-Control: public, max-age=31536000, immutable',
    answers: {},
    run: () => ({ status: 200, body: text, position: 0 }),
  }),
)
