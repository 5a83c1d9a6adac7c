// References resolve: every Markdown file that a comment or a document names is in the repository,
// and the headings cited after it and the anchors of all links exist.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import t from 'tap'

const top = join(import.meta.dirname, '../../..')
const notOurs = new Set(['node_modules', 'dist', 'release', 'data', '.git', '.tap'])
const isText = /\.(?:ts|md|json|sh|yml)$|(?:^|\/)run$/

function filesIn(directory: string): string[] {
  return readdirSync(join(top, directory), { withFileTypes: true }).flatMap((entry) => {
    if (notOurs.has(entry.name)) return []
    const path = posix.join(directory, entry.name)
    if (entry.isDirectory()) return filesIn(path)
    return isText.test(path) ? [path] : []
  })
}

/** Matches `docs/a.md` with the headings cited after it: `docs/a.md, "One" and "Two"`. */
const named = /(?<![\w/])((?:\.{1,2}\/)*[\w./-]*\w\.md)\b((?:,? (?:and )?"[^"\n]+")*)/g

interface Reference {
  /** The path from the top of the project, or null if no file of that name was found. */
  path: string | null
  /** The path as written. */
  written: string
  headings: string[]
}

/** Returns the documents that a text names. */
export function referencesIn(from: string, text: string): Reference[] {
  const prose = from.endsWith('.ts') ? commentsOf(text) : text
  return [...prose.matchAll(named)].map(([, written, cited]) => {
    const places = [posix.join(posix.dirname(from), written), posix.normalize(written)]
    const path = places.find((place) => isFile(place)) ?? null
    const headings = [...cited.matchAll(/"([^"]+)"/g)].map(([, heading]) => heading)
    return { path, written, headings }
  })
}

/** Returns the comments of a file, with their lines joined, because a sentence may span lines. */
function commentsOf(text: string): string {
  const lines = text.split('\n').map((line) => /(?:^|\s)(?:\/\/|\/?\*+)\s(.*)/.exec(line)?.[1])
  return lines.map((comment) => comment ?? '\n').join(' ')
}

function isFile(path: string): boolean {
  return existsSync(join(top, path)) && statSync(join(top, path)).isFile()
}

const fence = /^```[\s\S]*?^```/gm
const heading = /^#{1,6} +(.+?) *$/gm

function headingsOf(markdown: string): string[] {
  return [...markdown.replace(fence, '').matchAll(heading)].map(([, title]) => title)
}

/** Returns the anchor that GitHub makes from a heading. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

/** Returns the targets of a page's links, except those that leave the repository. */
function linksIn(markdown: string): string[] {
  const links = markdown.replace(fence, '').matchAll(/\]\(([^)\s]+)\)/g)
  return [...links].map(([, target]) => target).filter((target) => !/^[a-z]+:/.test(target))
}

// The examples in this file do not resolve.
/** Recorded answers of older builds contain what callers wrote. */
const isByCallers = (path: string) => path.endsWith('/expected.json')
const files = filesIn('.').filter(
  (path) => path !== 'test/documents/references.test.ts' && !isByCallers(path),
)
const read = (path: string) => readFileSync(join(top, path), 'utf8')

t.test('references: every document that a file names: exists, with its heading', async (t) => {
  let count = 0
  for (const from of files) {
    for (const { path, written, headings } of referencesIn(from, read(from))) {
      count += 1
      if (path === null) {
        t.fail(`${from}: there is no ${written}`)
        continue
      }
      const known = headingsOf(read(path))
      for (const title of headings.filter((title) => !known.includes(title))) {
        t.fail(`${from}: ${path} has no heading "${title}"`)
      }
    }
  }
  t.ok(count > 50, 'there are references')
})

t.test('references: every relative link and anchor of a page: resolves', async (t) => {
  let count = 0
  for (const from of files.filter((path) => path.endsWith('.md'))) {
    for (const target of linksIn(read(from))) {
      count += 1
      const [file, anchor] = target.split('#')
      const path = file === '' ? from : posix.join(posix.dirname(from), file)
      if (!existsSync(join(top, path))) t.fail(`${from}: ${target} leads to no file`)
      else if (anchor !== undefined) {
        const anchors = headingsOf(read(path)).map(anchorOf)
        t.ok(anchors.includes(anchor), `${from}: ${target} leads to a heading`)
      }
    }
  }
  t.ok(count > 50, 'there are links')
})

t.test('references: a cited row of docs/faults.md: exists', async (t) => {
  const rows = new Set([...read('docs/faults.md').matchAll(/^\| (\d+) \|/gm)].map(([, row]) => row))
  for (const from of files.filter((path) => path.endsWith('.ts'))) {
    for (const [cited] of commentsOf(read(from)).matchAll(/docs\/faults\.md, rows? [\d, and]+/g)) {
      for (const [row] of cited.matchAll(/\d+/g)) t.ok(rows.has(row), `${from}: row ${row}`)
    }
  }
})

t.test('references: a comment: its documents and headings are found across lines', async (t) => {
  const text = [
    '// See docs/interface.md, "Webhooks" and',
    '// "Errors".',
    "const sample = { path: 'docs/sample.md' }",
    '  /**',
    '   * See no-such.md,',
    '   * "x".',
    '   */',
  ]
  t.same(referencesIn('src/a/b.ts', text.join('\n')), [
    { path: 'docs/interface.md', written: 'docs/interface.md', headings: ['Webhooks', 'Errors'] },
    { path: null, written: 'no-such.md', headings: ['x'] },
  ])
  t.same(referencesIn('docs/a.md', '[x](interface.md)')[0].path, 'docs/interface.md')
})

t.test('README.md: every document has a link', async (t) => {
  const index = readFileSync(join(top, 'README.md'), 'utf8')
  const names = readdirSync(join(top, 'docs')).filter((name) => name.endsWith('.md'))
  for (const name of names) t.ok(index.includes(`](docs/${name})`), name)
})
