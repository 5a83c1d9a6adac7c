// A fact is told in one document: no two documents have the same sentence.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const top = join(import.meta.dirname, '../../..')
/** Shorter sentences may occur twice: "The default is 100." */
const wordsMin = 12
const pages = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...readdirSync(join(top, 'docs')).flatMap((name) => {
    return name.endsWith('.md') ? [`docs/${name}`] : []
  }),
]

/** Returns the sentences written by hand, without code, tables and the targets of links. */
function sentencesIn(markdown: string): string[] {
  const prose = markdown
    .replace(/<!-- generated: (.*) -->[\s\S]*?<!-- end: \1 -->/g, '\n\n')
    .replace(/^```[\s\S]*?^```|^(?:\||#| {4}).*$|<!--.*-->/gm, '\n\n')
    .replace(/\]\([^)]*\)/g, ']')
  return prose
    .split(/\n\s*\n|^\s*(?:-|\d+\.) |(?<=[.:;])\s+/m)
    .map((sentence) =>
      sentence
        .replace(/[[\]*`]/g, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .filter((sentence) => sentence.split(' ').length >= wordsMin)
}

t.test('documents: a sentence of twelve words or more: is in one of them, once', (t) => {
  const tellers = new Map<string, string>()
  for (const page of pages) {
    for (const sentence of sentencesIn(readFileSync(join(top, page), 'utf8'))) {
      const teller = tellers.get(sentence)
      if (teller !== undefined) t.fail(`${page} and ${teller}: ${sentence}`)
      tellers.set(sentence, page)
    }
  }
  t.ok(tellers.size > 500, 'there are sentences')
  t.end()
})

t.test('sentences: of a document: without what is generated, code, tables and targets', (t) => {
  const twelve = 'one two three four five six seven eight nine ten eleven'
  const text = [
    `# ${twelve} heading`,
    '```',
    `${twelve} code.`,
    '```',
    `- ${twelve}`,
    `  [twelve](a.md). ${twelve} *thirteen*: Short.`,
    `| ${twelve} cell |`,
    `<!-- generated: a -->\n\n- ${twelve} generated\n\n<!-- end: a -->`,
  ]
  t.same(sentencesIn(text.join('\n')), [`${twelve} twelve.`, `${twelve} thirteen:`])
  t.end()
})
