// The file of --identity: it is written once, readable by its owner only, and for one node. Also,
// unusable files.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ConfigError } from '../../../src/base/arguments.ts'
import { Agent } from '../../../src/clients/mcp/agent.ts'
import { keepIdentity, readIdentity } from '../../../src/clients/mcp/identity-file.ts'
import { type Forum, startForum } from '../../api/harness.ts'
import { run } from '../../api/process.ts'
import { Person } from '../shell/person.ts'
import { connected, stdio } from './connected.ts'

/** The node of the tests that need no flags. */
const forum = await startForum(t)

function fileFor(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'agent-forum-mcp-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return join(directory, 'ana.json')
}

async function identityOf(
  t: Test,
  { url }: Forum,
  file: string,
  name = 'ana',
  further: string[] = [],
): Promise<string> {
  const args = ['--url', url, '--identity', file, '--name', name, ...further]
  return (await (await connected(t, stdio, args)).get('whoami')).id
}

t.test('identity: no file: registered and kept; the next one is the same', async (t) => {
  const file = fileFor(t)
  const id = await identityOf(t, forum, file)
  t.equal(statSync(file).mode & 0o777, 0o600)
  const kept = JSON.parse(readFileSync(file, 'utf8'))
  t.match(kept, { url: forum.url, id, kind: 'persistent', display_name: 'ana', token: /^aic_/ })
  t.equal(kept.expires_at, null, 'it stays, as its file does')
  t.equal(await identityOf(t, forum, file, 'another name'), id)
})

t.test('identity: a guest, where that is asked for: replaced when it has expired', async (t) => {
  const file = fileFor(t)
  const id = await identityOf(t, forum, file, 'ana', ['--kind', 'guest'])
  const kept = JSON.parse(readFileSync(file, 'utf8'))
  t.match(kept, { kind: 'guest', expires_at: Number })

  writeFileSync(file, JSON.stringify({ ...kept, expires_at: Date.now() - 1 }))
  const next = await identityOf(t, forum, file)
  t.not(next, id, 'a guest that has expired is replaced')
  t.equal(await identityOf(t, forum, file), next)
  t.match(JSON.parse(readFileSync(file, 'utf8')), { kind: 'persistent', expires_at: null })
})

t.test('identity: a guest that expires while the server runs: another one', async (t) => {
  const file = fileFor(t)
  const identity = { kind: 'guest' } as const
  const agent = new Agent({ url: forum.url, file, identity })
  const { id } = await agent.self()
  await agent.forum()
  const { expires_at } = JSON.parse(readFileSync(file, 'utf8'))
  let now = expires_at - 1
  t.intercept(Date, 'now', { value: () => now })
  t.equal((await agent.self()).id, id)
  now = expires_at
  const next = await agent.self()
  t.not(next.id, id)
  t.equal(JSON.parse(readFileSync(file, 'utf8')).id, next.id)
  const own = await agent.forum()
  t.match(await own.me(), { id: next.id })
  t.not((await own.readPlace()).through, 0, 'its news begin, too')
})

t.test('shell: an identity that has expired: the node is still that of its file', async (t) => {
  const { url } = forum
  const ana = new Person(t)
  const [made] = await ana.json(['register', '--url', url, '--name', 'ana', '--kind', 'guest'])
  const kept = JSON.parse(readFileSync(ana.file, 'utf8'))
  writeFileSync(ana.file, JSON.stringify({ ...kept, expires_at: Date.now() - 1 }))
  t.match(await ana.run(['feed']), { code: 64, stderr: /has expired; agent-forum register/ })
  t.equal(await ana.get(['threads']), '', 'what is public is read there')
  const [next] = await ana.json(['register', '--name', 'ana'])
  t.match(next, { url, id: /^agt_/ })
  t.not(next!.id, made!.id)
  writeFileSync(ana.file, JSON.stringify({ ...kept, expires_at: Date.now() - 1 }))
  const tools = await connected(t, stdio, ['--identity', ana.file])
  t.not((await tools.get('whoami')).id, made!.id, 'mcp registers there, too')
})

t.test('identity: a file left over by a process that was killed: kept all the same', async (t) => {
  const file = fileFor(t)
  // Process ids are reused. In containers, every process may have the same id.
  writeFileSync(`${file}.${process.pid}`, '{}')
  const identity = { id: 'agt_1', kind: 'persistent', display_name: 'ana' } as const
  const made = { ...identity, url: 'http://127.0.0.1:1', token: 'aic_1', expires_at: null }
  t.same(keepIdentity(file, made), made)
  t.same(readIdentity(file, made.url), made)
})

t.test('identity: several servers with a new file at once: one identity', async (t) => {
  const file = fileFor(t)
  const ids = await Promise.all([1, 2].map(() => identityOf(t, forum, file)))
  t.equal(ids[0], ids[1])
})

t.test('identity: registered at the start: a feed can be read before any write', async (t) => {
  const file = fileFor(t)
  const agent = await connected(t, stdio, ['--url', forum.url, '--identity', file])
  t.same((await agent.get('check_feed')).notifications, [])
})

t.test(
  'identity: its token is replaced: the one in the file is used, without a restart',
  async (t) => {
    const file = fileFor(t)
    const agent = await connected(t, stdio, ['--url', forum.url, '--identity', file])
    const { id } = await agent.get('whoami')
    const kept = JSON.parse(readFileSync(file, 'utf8'))
    const rotation = await run(['admin', 'rotate-token', '--yes', id, '--data', forum.data])
    t.match((await agent.call('check_feed')).refusal, { error: 'invalid_token' })
    const write = (fields: object) => writeFileSync(file, JSON.stringify({ ...kept, ...fields }))
    write({ token: rotation.stdout.trim() })
    t.same((await agent.get('check_feed')).notifications, [])
    // The file now has another identity, which is ignored: one process acts as one identity.
    const ben = await forum.identity()
    write({ id: ben.id, token: ben.token })
    await agent.get('post_thread', { title: 'By whom?', content: 'By ana.' })
    const { threads } = (await forum.anonymous.get('/api/threads')).body
    t.match(threads, [{ author_id: id }])
  },
)

t.test(
  'identity: the node demands an invitation: registered with it, and not without',
  async (t) => {
    const forum = await startForum(t, ['--registration', 'invited'])
    const args = ['--url', forum.url, '--identity']
    const without = await connected(t, stdio, [...args, fileFor(t)])
    t.match((await without.call('whoami')).refusal, { error: 'invite_required' })
    const invite = (await run(['admin', 'invite', '--data', forum.data])).stdout.trim()
    const agent = await connected(t, stdio, [...args, fileFor(t), '--invite', invite])
    t.match((await agent.get('whoami')).id, /^agt_/)
  },
)

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
  refused(/ana\.json is not an identity file$/)
  for (const text of ['[]', 'null', 'root:x:0:0\n', ' '.repeat(100_000)]) {
    write(text)
    refused(/ana\.json is not an identity file$/)
  }
  write('')
  refused(/ana\.json is empty: remove it, or name another file$/)
  refused(/^\/etc\/passwd is not an identity file$/, '/etc/passwd')
  refused(/^\/dev\/null is not an identity file$/, '/dev/null')
  write(JSON.stringify(kept))
  t.same(readIdentity(file, url), kept)
  chmodSync(file, 0o640)
  refused(/others can read it; chmod 600/)
  refused(/^there is no directory \/.*\/absent$/, join(file, '../absent/ana.json'))
  refused(/ana\.json is not a directory$/, join(file, 'ana.json'))
  mkdirSync(`${file}.d`, { mode: 0o755 })
  refused(/ana\.json\.d is a directory$/, `${file}.d`)
  symlinkSync('absent.json', `${file}.l`)
  refused(/is a link to a file that does not exist/, `${file}.l`)
  const dangling = await run(['mcp', '--url', url, '--identity', `${file}.l`])
  t.match(dangling, { code: 64, stderr: /is a link to a file that does not exist/ })
})

t.test('mcp: flags that cannot be used: exit 64, one sentence', async (t) => {
  const cases: [args: string[], sentence: RegExp][] = [
    [['--url', 'localhost:8787'], /--url takes the origin of a node/],
    [['--url', 'http://127.0.0.1/path'], /--url takes the origin/],
    [['--http', 'x'], /--http takes a whole number from 0 to 65535/],
    [['--kind', 'compat'], /--kind takes guest or persistent, not "compat"/],
    [['--identify', 'x'], /unknown flag --identify \(did you mean --identity\?\)/],
  ]
  for (const [args, sentence] of cases) {
    t.match(await run(['mcp', ...args]), { code: 64, stdout: '', stderr: sentence })
  }
})
