import { readFileSync } from 'node:fs'
import t from 'tap'
import { meaningOf, type Schema } from '../../src/edge/api/schema.ts'
import { routes } from '../../src/forum/routes.ts'
import { regenerate, table } from './generated.ts'
import { files, pages } from './pages.ts'
import { titledSchemas } from './schema-words.ts'

for (const [path, sections] of Object.entries(pages)) {
  t.test(`${path}: generated sections: compared with the code: not stale`, async (t) => {
    const page = readFileSync(path, 'utf8')
    t.equal(page, regenerate(page, sections), 'stale? run: npm run fix')
  })
}

for (const [path, write] of Object.entries(files)) {
  t.test(`${path}: a generated file: compared with the code: not stale`, async (t) => {
    t.equal(readFileSync(path, 'utf8'), write(), 'stale? run: npm run fix')
  })
}

const page = 'Before.\n<!-- generated: a -->\nold\n<!-- end: a -->\nAfter.\n'

t.test('generated: a section: only the text between the marks is replaced', async (t) => {
  const written = 'Before.\n<!-- generated: a -->\n\nnew\n\n<!-- end: a -->\nAfter.\n'
  t.equal(regenerate(page, { a: () => 'new' }), written)
  t.equal(regenerate(written, { a: () => 'new' }), written)
})

t.test('generated: a section made of another one: sees it as it was regenerated', async (t) => {
  const both = `${page}<!-- generated: b -->\n<!-- end: b -->\n`
  const written = regenerate(both, { a: () => 'new', b: (now) => `b of ${/new|old/.exec(now)}` })
  t.match(written, '<!-- generated: b -->\n\nb of new\n\n<!-- end: b -->')
})

t.test('generated: a section that is unknown or missing: an error names it', async (t) => {
  t.throws(() => regenerate(page, {}), { message: /no generated section "a"/ })
  t.throws(() => regenerate(page, { a: () => '', b: () => '' }), { message: /no section b/ })
})

t.test('generated: a table: bars and tags in its cells: escaped', async (t) => {
  t.equal(table(['one', 'two'], [['a|b', '<c>']]), '| one | two |\n|---|---|\n| a\\|b | \\<c> |')
})

t.test('meanings: every field of every answer: has one', async (t) => {
  const found = new Map<string, Schema>()
  for (const { answers } of routes) {
    for (const schema of Object.values(answers)) titledSchemas(schema, found)
  }
  t.ok(found.size > 20, 'there are answers')
  for (const [title, { properties }] of found) {
    for (const [name, schema] of Object.entries(properties!)) {
      t.ok(meaningOf(schema), `${title}.${name}: say it with about() of src/edge/api/schema.ts`)
    }
  }
})
