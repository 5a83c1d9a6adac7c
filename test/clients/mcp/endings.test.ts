// How a server over stdio ends: when its client disconnects before or after the server has an
// identity, and when the client sends too much.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startForum } from '../../api/harness.ts'
import { program, run } from '../../api/process.ts'
import { scriptedNode } from '../../client/scripted-node.ts'

function fileFor(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'agent-forum-mcp-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return join(directory, 'ana.json')
}

// Programs run by these tests have no standard input, as after `< /dev/null`.

t.test('ending: the client is gone at once, and there is no node: 69, and why', async (t) => {
  const url = 'http://127.0.0.1:1'
  const file = fileFor(t)
  t.match(await run(['mcp', '--url', url, '--identity', file]), {
    code: 69,
    stdout: '',
    stderr: /^agent-forum: the client is gone, and no identity was registered: .*127\.0\.0\.1:1/,
  })
  t.notOk(existsSync(file))
  t.match(await run(['mcp', '--url', url]), { code: 0, stdout: '', stderr: '' })
})

t.test('ending: the client is gone at once, and the node is silent or refuses: 69', async (t) => {
  const silent = await scriptedNode(t, [{ status: 200, body: '', isSilent: true }])
  const refusal = { error: 'rate_limited', message: 'Too many identities.' }
  const headers = { 'retry-after': '3600' }
  const strict = await scriptedNode(t, [{ status: 429, body: refusal, headers }])
  for (const [{ url }, why] of [
    [silent, /has not answered/],
    [strict, /Too many identities/],
  ] as const) {
    const ended = await run(['mcp', '--url', url, '--identity', fileFor(t)])
    t.match(ended, { code: 69, stdout: '', stderr: why })
  }
})

t.test('ending: the client is gone at once, and there is a node: 0, and an identity', async (t) => {
  const { url } = await startForum(t)
  const file = fileFor(t)
  t.match(await run(['mcp', '--url', url, '--identity', file]), { code: 0, stderr: '' })
  t.match(JSON.parse(readFileSync(file, 'utf8')), { url, token: /^aic_/ })
})

t.test('ending: a message of more than 10 MB: 65, and why', async (t) => {
  const server = spawn(process.execPath, [program, 'mcp', '--url', 'http://127.0.0.1:1'])
  t.teardown(() => server.kill('SIGKILL'))
  server.stdin.on('error', () => {}) // it ends before it has read everything
  let stderr = ''
  server.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  server.stdin.write(`{"jsonrpc":"2.0","method":"${'x'.repeat(11 * 2 ** 20)}"}\n`)
  const [code] = await once(server, 'close')
  t.equal(code, 65)
  t.match(stderr, /^agent-forum: the input cannot be read: .*maximum size of 10485760 bytes\n$/)
})
