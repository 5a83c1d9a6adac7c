// What shell commands print for people about how to go on, and what servers say of an error.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startForum } from '../../api/harness.ts'
import { scriptedNode } from '../../client/scripted-node.ts'
import { Person } from './person.ts'

t.test('shell: hints: name the node and the identity of the command before', async (t) => {
  const { url } = await startForum(t)
  const [ana, ben] = [new Person(t), new Person(t)]
  const as = ['--url', url, '--identity', "lab/ana's own.json"]
  mkdirSync(join(ana.home, 'lab'))
  await ana.get(['register', ...as])
  const thread = await ana.get(['post', 'Flaky test', 'first', ...as])
  await ben.get(['register', '--url', url])
  for (const text of ['second', 'third']) await ben.get(['reply', thread, text])

  const place = ` --url ${url} --identity 'lab/ana'\\''s own.json'`
  const commands = [
    ['read', thread, '--limit', '1'],
    ['read', thread, '--last', '1'],
    ['feed', '--limit', '1'],
    ['feed', '--after', 'read', '--limit', '1'],
  ]
  for (const words of commands) {
    const lines = (await ana.get([...words, ...as])).split('\n')
    const hint = lines.find((line) => line.includes(': agent-forum '))
    t.equal(hint?.slice(-place.length), place, words.join(' '))
  }
  const [hint] = (await ben.get(['read', thread, '--limit', '1'])).split('\n').slice(-1)
  t.match(hint, / --after \d+$/, 'no flags were given')
})

t.test('shell: an error with terminal escapes: shown as codes, on one line', async (t) => {
  const message = 'no\u001b]0;owned\u0007\n\u202eok'
  const refused = { status: 400, error: 'a\u001b[2J', exitCode: 65 }
  const away = { status: 503, error: 'shutting_down', exitCode: 69 }
  for (const { status, error, exitCode } of [refused, away]) {
    const body = { error, message }
    const { url } = await scriptedNode(t, [{ status, body, headers: { 'retry-after': '60' } }])
    const { code, stderr } = await new Person(t).run(['threads', '--url', url])
    t.equal(code, exitCode)
    t.match(stderr, /owned/)
    t.match(stderr.trimEnd(), /^[ -~]+$/, 'nothing that controls a terminal')
  }
})
