// Each test that docs/faults.md names is the title of a test; a comment with the same words does
// not count.

import { readFileSync } from 'node:fs'
import t from 'tap'
import { onlyDeep } from '../jobs.ts'

const root = new URL('../../../', import.meta.url)
const named = /`(test\/[\w./-]+\.ts)` "([^"]+)"/g

const title = /\bt\.test\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g

/** Returns the titles of the tests in a file, without those in comments. */
function titlesOf(text: string): string[] {
  const code = text.replace(/^\s*(?:\/\/|\*).*$/gm, '')
  return [...code.matchAll(title)].map(([, , name]) => name)
}

/** Returns the rows of the document that have numbers: those of the faults. */
function rowsOf(page: string): string[] {
  const lines = readFileSync(new URL(page, root), 'utf8').split('\n')
  return lines.filter((line) => /^\| \d+ \|/.test(line))
}

/** Whether the test that a row names runs in continuous integration, not only before a release. */
function isOften([, file = '']: RegExpMatchArray): boolean {
  return !onlyDeep.some((name) => file.startsWith(`test/${name}`))
}

t.test('docs/faults.md: every row: names tests that exist, one of which runs often', async (t) => {
  const rows = rowsOf('docs/faults.md')
  for (const row of rows) {
    const tests = [...row.matchAll(named)]
    if (!tests.some(isOften)) t.fail(`names no test that continuous integration runs: ${row}`)
    for (const [, file, name] of tests) {
      const text = readFileSync(new URL(file, root), 'utf8')
      if (!titlesOf(text).some((each) => each.includes(name)))
        t.fail(`${file} has no test "${name}"`)
    }
  }
  t.ok(rows.length > 0, 'it has rows')
})

t.test('titles: a name in a comment or a text: not the title of a test', async (t) => {
  const text = [
    "t.test('a: b', async (t) => {",
    'for (const x of y) t.test(`c: d`, { skip }, async (t) => {',
    't.test(\n  "e: it\'s f",\n  async',
    "// t.test('g: h', async",
    "const name = 'i: j'",
  ]
  t.same(titlesOf(text.join('\n')), ['a: b', 'c: d', "e: it's f"])
})
