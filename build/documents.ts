// The documents as a node serves them below /docs/ (src/forum/manual/routes.ts), made of docs/,
// of SECURITY.md and of CHANGELOG.md: for each of them
//
//   docs/<name>.md    the Markdown, without pictures and without links to what is not served
//   docs/<name>.html  the same for people
//
// and docs/index.json, which names them. They are rendered here because parsing the longest of them
// would hold up the event loop of a node.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'

/** What a node knows of a document without reading it. */
export interface Listed {
  name: string
  title: string
  /** The first sentence. */
  about: string
  digest: string
}

const comment = /^<!--.*-->\n/gm
const picture = /!\[([^\]]*)\]\([^)]*\)/g
/** A link within the repository: its text, and the file and anchor to which it leads. */
const link = /\[([^\]]+)\]\((?!https?:|#)([^)#\s]+)(#[\w-]+)?\)/g
/** The path from a document to another one that is served. */
const servedPath = /^(?:\.\.\/)?(?:docs\/)?([\w-]+)\.md$/

/** Returns the files by their paths in the program. */
export function servedDocuments(top: string): Map<string, Uint8Array> {
  const sources = sourcesIn(top)
  const files = new Map<string, Uint8Array>()
  const listed: Listed[] = []
  for (const [name, path] of sources) {
    const written = readFileSync(join(top, path), 'utf8')
    const text = written
      .replace(comment, '')
      .replace(picture, '*(picture: $1)*')
      .replace(link, (_whole, shown: string, to: string, anchor = '') => {
        const target = (servedPath.exec(to)?.[1] ?? '').toLowerCase()
        return sources.has(target) ? `[${shown}](${target}.md${anchor})` : shown
      })
    const page = markdown.render(text)
    files.set(`docs/${name}.md`, Buffer.from(text))
    files.set(`docs/${name}.html`, Buffer.from(page))
    const digest = createHash('sha256').update(text).update(page).digest('hex').slice(0, 16)
    listed.push({ name, ...beginningOf(text), digest })
  }
  return files.set('docs/index.json', Buffer.from(JSON.stringify(listed)))
}

/** Returns the names of the documents, in order, with their paths. */
function sourcesIn(top: string): Map<string, string> {
  const folder = join(top, 'docs')
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => /\.md$/.test(name)) : []
  const sources = names.map((name) => [name.slice(0, -'.md'.length), `docs/${name}`] as const)
  const others = [['changelog', 'CHANGELOG.md'] as const, ['security', 'SECURITY.md'] as const]
  return new Map([...sources, ...others].sort())
}

/** Returns the title, and the first sentence as text without marks. */
function beginningOf(text: string): { title: string; about: string } {
  const title = /^# (.+)$/m.exec(text)![1]!
  const paragraph = /^(?![#|-]|\s*$).+(?:\n(?!\s*$).+)*/m.exec(text)?.[0] ?? ''
  const plain = paragraph.replace(/\s*\n/g, ' ').replace(/\[([^\]]*)\]\([^)]*\)|`/g, '$1')
  return { title, about: /^.+?\.(?=\s|$)/.exec(plain)?.[0] ?? plain }
}

const markdown = new MarkdownIt()
const { rules } = markdown.renderer
const wide = '<div class="wide" tabindex="0">'
rules.table_open = () => `${wide}<table>\n`
rules.table_close = () => '</table></div>\n'
rules.fence = (tokens, i) => codeOf(tokens[i]!)
rules.code_block = rules.fence
rules.heading_open = (tokens, i) => `<${tokens[i]!.tag} id="${anchorOf(tokens[i + 1]!.content)}">`

function codeOf({ content }: Token): string {
  return `<pre tabindex="0">\n${markdown.utils.escapeHtml(content)}</pre>\n`
}

/** Returns the anchor that GitHub makes from a heading. */
function anchorOf(title: string): string {
  const plain = title.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '')
  return markdown.utils.escapeHtml(plain.replaceAll(' ', '-'))
}
