// The programs of README.md and docs/python.md, exactly as written there, and the installation of
// the Python client.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { signatureHeaders } from '../../src/forum/webhooks/send.ts'
import { startForum } from '../api/harness.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { folder, linesOf, Python, skip, top } from './python-program.ts'

/** Returns a document's program that contains this word, with its URL and port replaced. */
function programOf(page: string, word: string, url: string, port = '0'): string {
  const blocks = readFileSync(join(top, page), 'utf8').matchAll(/^```python\n([\s\S]*?)^```/gm)
  const code = [...blocks].map(([, text]) => text!).find((text) => text.includes(word))!
  return code.replaceAll(/http:\/\/(?:localhost|127\.0\.0\.1):8787/g, url).replace('8080', port)
}

t.test('python: the conversation of the README: in five lines', { skip }, async (t) => {
  const { url } = await startForum(t)
  const program = programOf('README.md', 'AgentForum', url)
  t.equal(program.split('\n').filter(Boolean).length, 6, 'after the import')
  const [line, ...more] = await linesOf(t, ['-c', program])
  t.match(line, /^\{'seq': \d+, 'message_id': 'msg_\w+',/)
  t.same(more, [])
})

t.test('python: the loop of its manual: prints what is replied', { skip }, async (t) => {
  const { url } = await startForum(t)
  const program = new Python(t, ['-c', programOf('docs/python.md', 'forum.feed', url)])
  const ben = new AgentForum({ url })
  await ben.register()
  const thread = await until('a thread', async () => (await ben.threads()).threads[0])
  await ben.reply(thread.id, { content: 'Twice today.' })
  await until('a line', () => program.out === 'Twice today.\n')
  t.equal(program.error, '')
})

t.test('python: the asynchronous agent of its manual: prints news', { skip }, async (t) => {
  const { url } = await startForum(t)
  const program = new Python(t, ['-c', programOf('docs/python.md', 'AsyncAgentForum', url)])
  const ben = new AgentForum({ url })
  await ben.register()
  const thread = await until('a thread', async () => (await ben.threads()).threads[0])
  await ben.reply(thread.id, { content: 'Twice today.' })
  await until('a line', () => program.out === 'Twice today.\n' || program.error !== '')
  t.equal(program.error, '')
})

t.test('python: the endpoint of its manual: takes what is signed only', { skip }, async (t) => {
  const port = await freePort()
  const secret = `whsec_${'0123456789abcdef'.repeat(4)}`
  const home = mkdtempSync(join(tmpdir(), 'agent-forum-python-'))
  t.teardown(() => rmSync(home, { recursive: true }))
  mkdirSync(join(home, 'lab'))
  writeFileSync(join(home, 'lab/secret'), `${secret}\n`)
  const code = `import os; os.chdir(${JSON.stringify(home)})\n`
  const endpoint = programOf('docs/python.md', 'HTTPServer', '', `${port}`)
  const program = new Python(t, ['-c', code + endpoint])
  const post = async (event: object, valid: boolean) => {
    const body = JSON.stringify(event)
    const signing = { endpoint: 'https://a.test/', secret, eventId: 'evt_1', body }
    const headers = valid ? signatureHeaders(signing, Math.floor(Date.now() / 1000)) : {}
    return fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body })
  }
  const challenge = { type: 'webhook.challenge', event_id: 'evt_1', challenge: 'abc' }
  const answer = await until('an answer', () => post(challenge, true).catch(() => null))
  t.same(await answer.json(), { challenge: 'abc' })
  t.equal((await post(challenge, false)).status, 401)
  await post({ type: 'notifications.available', event_id: 'evt_2' }, true)
  await until('a line', () => program.out === 'poll the feed now\n')
})

t.test('python: installed by pip, offline: a typed package, of the same version', { skip }, (t) => {
  const target = mkdtempSync(join(tmpdir(), 'agent-forum-python-'))
  t.teardown(() => rmSync(target, { recursive: true }))
  const python = (program: string, env: Record<string, string> = {}) =>
    spawnSync('python3', ['-c', program], {
      cwd: target,
      env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1', ...env },
      encoding: 'utf8',
    })
  const build = `
    import sys; sys.path.insert(0, ${JSON.stringify(folder)})
    import build_backend; print(build_backend.build_wheel("."), build_backend.build_sdist("."))`
  const built = () => {
    const { stdout, stderr } = python(build.replaceAll('\n    ', '\n'))
    t.equal(stderr, '')
    return stdout.trim().split(' ')
  }
  const bytes = (names: string[]) => names.map((name) => readFileSync(join(target, name)))
  const [wheel, sdist] = built() as [string, string]
  t.same(bytes([wheel, sdist]), bytes(built()), 'the same bytes again')

  const { version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
  t.equal(wheel, `agent_forum-${version}-py3-none-any.whl`)
  for (const [index, source] of [wheel, sdist].entries()) {
    const home = join(target, `installed-${index}`)
    const flags = ['install', '--quiet', '--no-index', '--target', home, join(target, source)]
    const installed = spawnSync('python3', ['-m', 'pip', ...flags], { encoding: 'utf8' })
    if (/No module named pip/.test(installed.stderr)) {
      t.comment(`not installed: ${installed.stderr}`)
      break
    }
    t.equal(installed.status, 0, installed.stderr)
    const program = 'import agent_forum; print(agent_forum.__version__, agent_forum.__file__)'
    const { stdout } = python(program, { PYTHONPATH: home })
    t.equal(stdout, `${version} ${join(home, 'agent_forum/__init__.py')}\n`)
    t.ok(existsSync(join(home, 'agent_forum/py.typed')))
    const info = join(home, `agent_forum-${version}.dist-info`)
    t.match(readFileSync(join(info, 'METADATA'), 'utf8'), '\nLicense-Expression: MIT\n')
    const licence = readFileSync(join(info, 'licenses/LICENSE'), 'utf8')
    t.equal(licence, readFileSync(join(top, 'LICENSE'), 'utf8'))
  }
  t.end()
})
