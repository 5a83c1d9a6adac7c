// Checks every file against the style rules (tidy-rules.ts), and each rule against good and bad
// examples.

import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import t from 'tap'
import { commonErrors } from '../src/edge/api/errors.ts'
import type { Route } from '../src/edge/api/route.ts'
import { routes } from '../src/forum/routes.ts'
import { errors } from '../src/kernel/rejection.ts'
import {
  answeredCodes,
  benchesWithoutQuestion,
  importCycles,
  loadedWith,
  rules,
  type Source,
} from './tidy-rules.ts'

const top = join(import.meta.dirname, '../..')
const notOurs = ['node_modules', 'dist', 'release', 'data', '.git', '.tap']

function filesIn(directory: string): string[] {
  return readdirSync(join(top, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(directory, entry.name)
    if (notOurs.includes(entry.name)) return []
    if (entry.isDirectory()) return filesIn(path)
    return entry.isFile() ? [path] : []
  })
}

const sources: Source[] = filesIn('.').map((path) => ({
  path,
  text: readFileSync(join(top, path), 'utf8'),
}))

for (const { name, instead, covers, find } of rules) {
  t.test(`tidy: every file: ${name}`, async (t) => {
    const covered = sources.filter(({ path }) => covers(path))
    t.ok(covered.length > 0, 'the rule applies to some files')
    for (const source of covered) {
      for (const found of find(source)) t.fail(`${source.path}: ${found}: ${instead}`)
    }
  })
}

t.test('tidy: every benchmark: its head states its question', async (t) => {
  t.same(
    benchesWithoutQuestion(sources),
    [],
    'begin with Question, Compares, Fixed, Reports, Leaves out, Smoke, as bench/main.ts does',
  )
})

t.test('tidy: imports, of types too: no file reaches itself', async (t) => {
  t.same(importCycles(sources), [], 'move what is shared into a file that imports neither')
})

t.test('tidy: agent-forum mcp and the client: are loaded: without forum and state', async (t) => {
  const rooms = /^(?:src\/(?:forum|kernel|engine|node|config)|wal)\//
  const isDeclaration =
    /^src\/forum\/(?:documents|(?:[a-z]+\/)?(?:[a-z-]+-)?(?:routes|schemas|machine))\.ts$/
  const loaded = loadedWith(['src/cli/mcp-command.ts', 'src/client/index.ts'], sources)
  t.ok(loaded.has('src/forum/threads/routes.ts'), 'the schemas of the tools are among it')
  const needless = [...loaded].filter((path) => rooms.test(path) && !isDeclaration.test(path))
  t.same(needless, ['src/kernel/rejection.ts'], 'import types, or move what is shared')
})

t.test('tidy: the commands of the shell: are loaded: with the client alone', async (t) => {
  const loaded = loadedWith(['src/clients/shell/commands.ts'], sources)
  t.ok(loaded.has('src/client/forum.ts') && loaded.has('src/clients/shell/reading.ts'))
  const rooms = new Set([...loaded].map((path) => path.split('/').slice(1, -1).join('/')))
  t.same([...rooms].sort(), ['base', 'client', 'clients/mcp', 'clients/shell'])
})

/** Returns the codes with which the edge answers, and those that follow from a kind of route. */
function codesOfTheEdge(): Set<string> {
  const others = [
    'src/edge/api/validator.ts',
    'src/forum/identities/commands.ts', // rejects tokens
    'src/forum/write.ts', // rejects keys that were used for something else
    'src/cluster/replication/replicated-journal.ts', // tells admission that the storage is full
  ]
  const answering = sources.filter(({ path }) => {
    return path.startsWith('src/edge/http/') || others.includes(path)
  })
  return new Set(answering.flatMap(({ text }) => answeredCodes(text)))
}

/** Returns the codes that a route declares, in its list or in its schemas. */
function codesOfRoutes(declared: readonly Route[]): Set<string> {
  const inSchemas = declared.map(({ query, body, id }) => JSON.stringify([query, body, id]))
  const marked = inSchemas.flatMap((text) => [...text.matchAll(/"x-error":"(\w+)"/g)])
  return new Set([
    ...declared.flatMap((each) => each.errors ?? []),
    ...marked.map(([, code]) => code),
  ])
}

t.test('errors: the list, the routes and the edge: the same codes, both ways', async (t) => {
  const ofRoutes = codesOfRoutes(routes)
  for (const code of ofRoutes) t.ok(code in errors, `${code}: add it to src/kernel/rejection.ts`)
  const used = new Set([...ofRoutes, ...codesOfTheEdge(), ...commonErrors])
  for (const code of Object.keys(errors)) {
    t.ok(used.has(code), `${code}: a route declares it, the edge uses it, or it is common`)
  }
})

t.test('errors: a code in the code: counts where a request is answered with it', async (t) => {
  const answers = [
    "refuse(exchange, 'a_b')",
    "{ rejected: 'a_b' }",
    "{ code: 'a_b', detail }",
    "if (bad) return 'a_b'",
    "auth ? nobody : 'x'\nreturn 'a_b'",
    "isFine ? nobody : 'a_b'",
  ]
  for (const text of answers) t.ok(answeredCodes(text).includes('a_b'), text)
  const others = ["refused.a_b += 1 // 'a_b'", "type A = 'a_b' | 'c'", "x === 'a_b'", "['a_b']"]
  for (const text of others) t.same(answeredCodes(text), [], text)
})

// Examples for each rule: text in which it must find a violation, and text that it must accept.
const head = '// What this is.\n'
const examples: { rule: string; path?: string; wrong: string[]; right: string[] }[] = [
  {
    rule: 'an index',
    wrong: ['const first = all[0]!', 'this.#counts[at]!++'],
    right: ['const first = all.at(0)!', 'if (all[0] !== last) return'],
  },
  { rule: 'lines of', wrong: ['x'.repeat(101)], right: ['x'.repeat(100), '→'.repeat(100)] },
  { rule: 'files of', wrong: ['\n'.repeat(401)], right: ['\n'.repeat(400)] },
  {
    rule: 'a file says first',
    wrong: ["import t from 'tap'", '\n// Late.', '//'],
    right: [head, `#!/usr/bin/env node\n${head}`],
  },
  { rule: 'no file stands alone', path: 'src/main.ts', wrong: [head], right: [] },
  { rule: 'no file stands alone', path: 'src/cli/main.ts', wrong: [], right: [head] },
  {
    rule: 'nothing is left open',
    wrong: ['// TODO: later', "t.only('x')"],
    right: ['const todos = 1'],
  },
  {
    rule: 'what is skipped',
    wrong: ["t.skip('x')", '// biome-ignore lint/a/b', 'a\n  skip: true,', '// @ts-ignore'],
    right: [
      '// wrk is not everywhere\nt.skip()',
      't.skip() // wrk is not everywhere',
      '// biome-ignore format: a table',
    ],
  },
  {
    rule: 'time and chance',
    path: 'src/forum/threads/commands.ts',
    wrong: ['const at = Date.now()', 'Math.random()', 'performance.now()', 'randomBytes(4)'],
    right: ['stamps.clock()', '// not Date.now', ' * Date.now says'],
  },
  {
    rule: 'time and chance',
    path: 'wal/journal/writer.ts',
    wrong: ['Date.now()', 'randomBytes(8)'],
    right: ['performance.now()'],
  },
  { rule: 'time and chance', path: 'src/kernel/stamp.ts', wrong: [], right: ['Date.now()'] },
  {
    rule: 'imports run',
    path: 'src/forum/threads/commands.ts',
    wrong: [
      "import type { A } from '../../node/server.ts'",
      "const { a } = await import('../../edge/http/uws.ts')",
      "import {\n  a,\n} from '../../config.ts'",
    ],
    right: [
      "import { a } from '../write.ts'",
      "import { a } from '../../kernel/receipts.ts'",
      "import type { a } from '../../../wal/journal.ts'",
      "import { a } from 'node:fs'",
    ],
  },
  {
    rule: 'imports run',
    path: 'src/kernel/clock.ts',
    wrong: [
      "import { a } from '../forum/state.ts'",
      "import type { a } from '../edge/http/uws.ts'",
    ],
    right: ["import type { a } from '../forum/state.ts'", "import { a } from '../../wal/disk.ts'"],
  },
  {
    rule: 'imports run',
    path: 'src/forum/threads/machine.ts',
    wrong: ["import { a } from './table.ts'", "import type { a } from '../state.ts'"],
    right: ["import { a } from '../../kernel/actor.ts'"],
  },
  {
    rule: 'imports run',
    path: 'wal/journal/journal.ts',
    wrong: ["import { a } from '../../src/config/config.ts'"],
    right: ["import { a } from '../disk.ts'"],
  },
  {
    rule: 'imports run',
    path: 'src/node/server.ts',
    wrong: ["from '../cli/main.ts'"],
    right: ["from '../edge/http/uws.ts'"],
  },
  {
    rule: 'routes are declared',
    path: 'src/forum/threads/routes.ts',
    wrong: [
      "import { a } from './commands.ts'",
      "import {\n  type A,\n  b,\n} from '../state.ts'",
      "import { type A } from '../forum.ts'",
      "export * from '../../kernel/text/page.ts'",
      "await import('./commands.ts')",
    ],
    right: [
      "import type { A } from './commands.ts'",
      "import type {\n  A,\n} from '../state.ts'",
      "import { isRejection } from '../../kernel/rejection.ts'",
      "import { a } from '../../edge/api/route.ts'",
      "import { a } from '../feed/subscription-routes.ts'",
      "type A = typeof import('../commands.ts')",
    ],
  },
  {
    rule: 'uWebSockets.js',
    wrong: ["import uws from 'uWebSockets.js'", "await import('uws-pack')"],
    right: ['// not even uWebSockets.js'],
  },
  {
    rule: 'no paths of one machine',
    wrong: ['see /home/me/notes', `'/${'work'}/x'`, `https://registry.${'npmjs'}.org/tap`],
    right: ['src/home/me', 'https://forum.example/home/x', '/api/threads'],
  },
  {
    rule: 'a test is named',
    path: 'test/a.test.ts',
    wrong: ["t.test('it works', async (t) => {", "t.test(\n  'works', async"],
    right: ["t.test('ticket: used: published again: a replay', async (t) => {"],
  },
]

for (const { rule: start, path = 'src/forum/threads/a.ts', wrong, right } of examples) {
  t.test(`rule: ${start}: in ${path}: finds what is wrong and nothing else`, async (t) => {
    const rule = rules.find(({ name }) => name.startsWith(start))!
    for (const text of wrong) {
      t.equal(rule.covers(path) && rule.find({ path, text }).length, 1, JSON.stringify(text))
    }
    for (const text of right) t.same(rule.find({ path, text }), [], JSON.stringify(text))
  })
}

t.test('rule: kebab-case: names of files: only small letters and hyphens', async (t) => {
  const rule = rules.find(({ name }) => name.includes('kebab'))!
  const find = (path: string) => rule.find({ path, text: '' }).length
  t.same(['src/a-b.ts', 'test/a-b.test.ts', 'src/a1.ts'].map(find), [0, 0, 0])
  t.same(['src/aB.ts', 'src/a_b.ts', 'src/a--b.ts', 'src/A.ts'].map(find), [1, 1, 1, 1])
})

t.test('rule: benchmarks: without a question, or in another order: found', async (t) => {
  const words = ['Question', 'Compares', 'Fixed', 'Reports', 'Leaves out', 'Smoke']
  const headOf = (order: string[]) => order.map((word) => `// ${word}: x\n//   more\n`).join('')
  const found = benchesWithoutQuestion([
    { path: 'bench/good.ts', text: `${headOf(words)}import './part.ts'` },
    { path: 'bench/part.ts', text: '// A part of others.' },
    { path: 'bench/bad.ts', text: '// A benchmark.' },
    { path: 'bench/turned.ts', text: headOf(words.toReversed()) },
    { path: 'src/other.ts', text: "import './bad.ts'" },
  ])
  t.same(found, ['bench/bad.ts', 'bench/turned.ts'])
})

t.test('rule: imports: in a circle of three, of types: found, and nothing else', async (t) => {
  const found = importCycles([
    { path: 'wal/a.ts', text: "import type { B } from './b.ts'\nimport { D } from './d.ts'" },
    { path: 'wal/b.ts', text: "import {\n  type C,\n  c,\n} from './c.ts'" },
    { path: 'wal/c.ts', text: "import { D } from './d.ts'\nconst a = await import('./a.ts')" },
    { path: 'wal/d.ts', text: "import { E } from './e.ts'\nimport fs from 'node:fs'" },
    { path: 'wal/e.ts', text: '' },
  ])
  t.same(found, [['wal/a.ts', 'wal/b.ts', 'wal/c.ts']])
})
