// docs/index.json: the documents that a node serves below /docs/ (src/forum/manual/routes.ts),
// which are those of docs/, SECURITY.md and CHANGELOG.md. A node reads them where they are.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the list, with what a node knows of each document without reading it. */
export function documentList(top: string): string {
  const listed = Array.from(sourcesIn(top), ([name, path]) => {
    const text = readFileSync(join(top, path), 'utf8')
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
    return { name, path, ...beginningOf(text), digest }
  })
  return JSON.stringify(listed)
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
  const paragraph = /^(?![#|<!-]|\s*$).+(?:\n(?!\s*$).+)*/m.exec(text)?.[0] ?? ''
  const plain = paragraph.replace(/\s*\n/g, ' ').replace(/\[([^\]]*)\]\([^)]*\)|`/g, '$1')
  return { title, about: /^.+?\.(?=\s|$)/.exec(plain)?.[0] ?? plain }
}
