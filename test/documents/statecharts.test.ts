import { readFileSync } from 'node:fs'
import t from 'tap'
import { assign, createMachine } from 'xstate'
import { roleKind } from '../../src/engine/role/role.ts'
import { actorKinds } from '../../src/forum/kinds.ts'
import { statechartsPage } from './statecharts.ts'

t.test(
  'statecharts: machines changed: the page on disk is compared: it is not stale',
  async (t) => {
    t.equal(
      readFileSync('docs/statecharts.md', 'utf8'),
      statechartsPage([...actorKinds, roleKind].map(({ machine }) => machine)),
      'stale? run: npm run build && node dist/test/documents/write-statecharts.js',
    )
  },
)

t.test('statecharts: a small machine: drawn: every row is a line, ends included', async (t) => {
  const door = createMachine({
    id: 'door',
    description: 'A door.',
    initial: 'shut',
    states: {
      shut: { on: { opened: { guard: 'hasKey', target: 'open', actions: ['count', 'note'] } } },
      open: { on: { shut: 'shut', pushed: { actions: assign({}) }, burnt: 'gone' } },
      gone: { type: 'final' },
    },
  })
  const page = statechartsPage([door])
  t.match(page, '## door\n\nA door.\n\n```mermaid\nstateDiagram-v2\n  [*] --> shut\n')
  t.match(page, '  shut --> open: opened [hasKey] / count, note\n')
  t.match(page, '  open --> shut: shut\n')
  t.match(page, '  open --> open: pushed / inline\n')
  t.match(page, '  gone --> [*]\n```\n')
})
