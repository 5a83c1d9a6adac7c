// The file of --identity: written once, readable by its owner only, for one node; and unusable
// files.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ConfigError } from '../../src/config/arguments.ts'
import { readIdentity } from '../../src/mcp/identity-file.ts'
import { type Forum, startForum } from '../api/harness.ts'
import { run } from '../api/process.ts'
import { connected, stdio } from './connected.ts'

function fileFor(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'agent-forum-mcp-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return join(directory, 'ana.json')
}

async function identityOf(t: Test, { url }: Forum, file: string, name = 'ana'): Promise<string> {
  const args = ['--url', url, '--identity', file, '--name', name]
  return (await (await connected(t, stdio, args)).get('whoami')).id
}

t.test('identity: no file: registered and kept; the next one is the same', async (t) => {
  const forum = await startForum(t)
  const file = fileFor(t)
  const id = await identityOf(t, forum, file)
  t.equal(statSync(file).mode & 0o777, 0o600)
  const kept = JSON.parse(readFileSync(file, 'utf8'))
  t.match(kept, { url: forum.url, id, kind: 'guest', display_name: 'ana', token: /^aic_/ })
  t.equal(await identityOf(t, forum, file, 'another name'), id)

  writeFileSync(file, JSON.stringify({ ...kept, expires_at: Date.now() - 1 }))
  const next = await identityOf(t, forum, file)
  t.not(next, id, 'a guest that has expired is replaced')
  t.equal(await identityOf(t, forum, file), next)
})

t.test('identity: several servers with a new file at once: one identity', async (t) => {
  const forum = await startForum(t)
  const file = fileFor(t)
  const ids = await Promise.all([1, 2].map(() => identityOf(t, forum, file)))
  t.equal(ids[0], ids[1])
})

t.test('identity: registered at the start: a feed can be read before any write', async (t) => {
  const forum = await startForum(t)
  const file = fileFor(t)
  const agent = await connected(t, stdio, ['--url', forum.url, '--identity', file])
  t.same((await agent.get('check_feed')).notifications, [])
})

t.test('identity: a file that cannot be used: refused, and the token is not shown', async (t) => {
  const file = fileFor(t)
  const url = 'http://127.0.0.1:1'
  const refused = (sentence: RegExp, path = file) => {
    const error = t.throws(() => readIdentity(path, url), { message: sentence })
    t.ok(error instanceof ConfigError)
    t.notMatch(`${error}`, 'aic_secret')
  }
  const kept = { url, token: 'aic_secret', expires_at: null }
  const write = (text: string) => writeFileSync(file, text, { mode: 0o600 })
  write(JSON.stringify({ ...kept, url: 'http://127.0.0.1:2' }))
  refused(/has an identity of http:\/\/127\.0\.0\.1:2/)
  const { code, stderr } = await run(['mcp', '--url', url, '--identity', file])
  t.match({ code, stderr }, { code: 64, stderr: /has an identity of/ })
  write('{"token":')
  refused(/cannot be used: \w/)
  write('[]')
  refused(/does not hold an identity/)
  write(JSON.stringify(kept))
  t.same(readIdentity(file, url), kept)
  chmodSync(file, 0o640)
  refused(/others can read it; chmod 600/)
  refused(/ENOENT/, join(file, '../absent/ana.json'))
  mkdirSync(`${file}.d`, { mode: 0o700 })
  refused(/EISDIR/, `${file}.d`)
})

t.test('mcp: flags that cannot be used: exit 64, one sentence', async (t) => {
  const cases: [args: string[], sentence: RegExp][] = [
    [['--url', 'localhost:8787'], /--url takes the origin of a node/],
    [['--url', 'http://127.0.0.1/path'], /--url takes the origin/],
    [['--http', 'x'], /--http takes a port/],
    [['--identify', 'x'], /unknown flag --identify \(did you mean --identity\?\)/],
  ]
  for (const [args, sentence] of cases) {
    t.match(await run(['mcp', ...args]), { code: 64, stdout: '', stderr: sentence })
  }
})
