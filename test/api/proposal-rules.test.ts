// The rules for proposals, over HTTP: every bound and every refusal. docs/interface.md,
// "Proposals".

import t from 'tap'
import * as g from './governing.ts'
import { newKey, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity({ kind: 'persistent', display_name: 'ana' })
const ben = await forum.identity({ kind: 'persistent', display_name: 'ben' })
const guest = await forum.identity()

const file = { path: 'a', content: 'x' }
const edits = (count: number) =>
  Array.from({ length: count }, () => ({ old_text: 'x', new_text: 'y' }))
const files = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ path: `f${i}`, content: '' }))
const without = (name: string, body: Record<string, unknown> = g.code) => {
  const { [name]: _, ...rest } = body
  return rest
}

t.test('proposal: at its bounds: saved', async (t) => {
  for (const [why, body] of Object.entries({
    'longest texts': { ...g.policy, title: '🙂'.repeat(160), description: '🙂'.repeat(6000) },
    'an empty description': { ...g.policy, description: '' },
    '10 files, a path of 240': g.codeWith({ path: '🙂'.repeat(240), content: '' }, ...files(9)),
    '10 edits': g.codeWith({ path: 'a', edits: edits(10) }),
    '32 KiB in escapes': g.codeWith({ path: 'a', content: '\u0001'.repeat(32 * 1024 - 11) }),
  })) {
    t.equal((await g.propose(ana, body)).status, 201, why)
  }
})

const refusals: [string, string, unknown][] = [
  ['no kind', '400 invalid_kind', without('kind')],
  ['another kind', '400 invalid_kind', { ...g.policy, kind: 'guest' }],
  ['a kind that is a number', '400 invalid_kind', { ...g.policy, kind: 1 }],
  ['no title', '400 invalid_field', without('title')],
  ['a blank title', '400 invalid_field', { ...g.policy, title: ' \n' }],
  ['a title of 161', '400 invalid_field', { ...g.policy, title: 'x'.repeat(161) }],
  ['a title with NUL', '400 invalid_field', { ...g.policy, title: 'x\0' }],
  ['no description', '400 invalid_field', without('description')],
  ['a description of 6001', '400 invalid_field', { ...g.policy, description: 'x'.repeat(6001) }],
  ['an unknown field', '400 unknown_field', { ...g.policy, extra: 1 }],
  ['files in a policy', '400 unknown_field', { ...g.policy, files: [file] }],
  [
    'base_commit in a nomination',
    '400 unknown_field',
    { ...g.nominate(ben), base_commit: g.commit },
  ],
  ['candidate_id in code', '400 unknown_field', { ...g.code, candidate_id: ben.id }],
  ['no base_commit', '400 invalid_commit', without('base_commit')],
  ['base_commit in capitals', '400 invalid_commit', { ...g.code, base_commit: 'AB'.repeat(20) }],
  ['no files', '400 invalid_files', without('files')],
  ['0 files', '400 invalid_files', g.codeWith()],
  ['11 files', '400 invalid_files', g.codeWith(...files(11))],
  ['files that is an object', '400 invalid_files', { ...g.code, files: file }],
  ['a file that is null', '400 invalid_files', g.codeWith(null)],
  ['a file without contents', '400 invalid_files', g.codeWith({ path: 'a' })],
  ['content and edits', '400 invalid_files', g.codeWith({ ...file, edits: edits(1) })],
  ['content of a number', '400 invalid_files', g.codeWith({ path: 'a', content: 1 })],
  ['an unknown field of a file', '400 unknown_field', g.codeWith({ ...file, mode: 1 })],
  ['0 edits', '400 invalid_edits', g.codeWith({ path: 'a', edits: [] })],
  ['11 edits', '400 invalid_edits', g.codeWith({ path: 'a', edits: edits(11) })],
  [
    'an edit of nothing',
    '400 invalid_edits',
    g.codeWith({ path: 'a', edits: [{ old_text: '', new_text: 'x' }] }),
  ],
  [
    'an edit by nothing',
    '400 invalid_edits',
    g.codeWith({ path: 'a', edits: [{ old_text: 'x' }] }),
  ],
  [
    'an unknown field of an edit',
    '400 unknown_field',
    g.codeWith({ path: 'a', edits: [{ old_text: 'x', new_text: 'y', line: 1 }] }),
  ],
  ['no path', '400 invalid_path', g.codeWith({ content: '' })],
  ['a path of 241', '400 invalid_path', g.codeWith({ path: 'x'.repeat(241), content: '' })],
  ['a path upwards', '400 invalid_path', g.codeWith({ path: '../a', content: '' })],
  ['a path with NUL', '400 invalid_path', g.codeWith({ path: 'a\0', content: '' })],
  ['a dot-env file', '400 invalid_path', g.codeWith({ path: 'app/.env.local', content: '' })],
  ['a path twice', '400 duplicate_path', g.codeWith(file, { ...file, content: null })],
  ['content with NUL', '400 invalid_field', g.codeWith({ path: 'a', content: '\0' })],
  ['over 32 KiB', '413 too_large', g.codeWith({ path: 'a', content: 'x'.repeat(32 * 1024 - 10) })],
  ['supersedes nothing', '404 not_found', { ...g.policy, supersedes: g.absent }],
  ['supersedes no id', '400 invalid_supersedes', { ...g.policy, supersedes: 'gov_1' }],
  ['no candidate', '400 invalid_candidate', without('candidate_id', g.nominate(ben))],
  ['a guest as candidate', '400 invalid_candidate', g.nominate(guest)],
  ['nobody as candidate', '400 invalid_candidate', { ...g.nominate(ben), candidate_id: 'ben' }],
]

t.test('proposal: against a rule: refused, and its key stays free', async (t) => {
  for (const [why, expected, body] of refusals) {
    const key = newKey()
    t.equal(g.outcome(await g.propose(ana, body, key)), expected, why)
  }
  const key = newKey()
  await g.propose(ana, { ...g.policy, title: '' }, key)
  t.equal((await g.propose(ana, g.policy, key)).status, 201)
})
