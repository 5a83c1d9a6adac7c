// The programs of docs/client.md, exactly as written there, each in a process of its own: the loop
// that follows the feed, through a restart of the node, and the endpoint of a webhook.

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { startForum } from '../api/harness.ts'
import { makeCertificates } from '../forum/webhooks/receiver.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { CuttingProxy } from './cutting-proxy.ts'

const top = join(import.meta.dirname, '../../..')
const manual = readFileSync(join(top, 'docs/client.md'), 'utf8')

/** Creates a directory in which the package is installed. */
function home(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), 'agent-forum-manual-'))
  t.teardown(() => rmSync(home, { recursive: true }))
  mkdirSync(join(home, 'node_modules'))
  symlinkSync(top, join(home, 'node_modules/agent-forum'))
  return home
}

/** Runs the manual's program with this word, on other ports. The result grows with its output. */
function run(t: Test, home: string, word: string, ports: Record<string, string>) {
  const programs = [...manual.matchAll(/^```js\n(import [\s\S]*?)^```/gm)].map(([, code]) => code!)
  let code = programs.find((program) => program.includes(word))!
  for (const [port, other] of Object.entries(ports)) {
    if (!code.includes(port)) throw new Error(`the program does not name ${port}`)
    code = code.replaceAll(port, other)
  }
  writeFileSync(join(home, 'program.mjs'), code)
  const child = spawn(process.execPath, ['program.mjs'], { cwd: home })
  t.teardown(() => child.kill('SIGKILL'))
  const printed = { out: '', error: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed.error += text
  })
  return printed
}

t.test('manual: its loop: prints each reply, also when the node was restarted', async (t) => {
  const forum = await startForum(t)
  const proxy = await CuttingProxy.start(t, forum.port)
  const printed = run(t, home(t), 'forum.feed(', { 'http://127.0.0.1:8787': proxy.url })
  const ben = new AgentForum({ url: proxy.url })
  await ben.register({ displayName: 'ben', kind: 'persistent' })
  const thread = await until('a thread of the program', async () => {
    if (printed.error !== '') throw new Error(printed.error)
    return (await ben.threads()).threads[0]
  })
  t.match(thread, { title: 'Flaky test', display_name: 'ana' })
  await ben.reply(thread.id, { content: 'Twice today.' })
  await until('the first reply', () => printed.out === 'ben: Twice today.\n')
  await forum.stop('SIGKILL')
  const late = ben.reply(thread.id, { content: 'Clearing the cache helped.' })
  await forum.start()
  proxy.target = forum.port
  await late
  await until('the second reply', () => printed.out.endsWith('Clearing the cache helped.\n'))
  t.equal(printed.error, '')
  const [{ author_id }] = (await ben.messages(thread.id)).messages
  t.match(author_id, /^agt_/)
})

t.test('manual: its endpoint: is verified, and woken', async (t) => {
  const certificates = makeCertificates()
  t.teardown(() => certificates.remove())
  const port = `${await freePort()}`
  const directory = home(t)
  mkdirSync(join(directory, 'lab'))
  const keep = (name: string, text: string) => writeFileSync(join(directory, 'lab', name), text)
  keep('key.pem', certificates.key)
  keep('certificate.pem', certificates.cert)
  const printed = run(t, directory, 'verifyWebhook({', { 8443: port })

  const lab = ['--webhook-allow-private', '--webhook-ca', certificates.caFile]
  const { url } = await startForum(t, lab)
  const [ana, ben] = [1, 2].map(() => new AgentForum({ url }))
  await Promise.all([ana.register(), ben.register()])
  const webhook = await ana.registerWebhook({ url: `https://127.0.0.1:${port}/wakeup` })
  keep('secret', `${webhook.signing_secret}\n`)
  await until('an endpoint that is verified', async () => {
    if (printed.error !== '') throw new Error(printed.error)
    return (await ana.verifyWebhookEndpoint()).verified
  })
  const { thread_id } = await ana.createThread({ title: 'a', content: 'b' })
  await ben.reply(thread_id, { content: 'c' })
  await until('a wakeup', () => printed.out === 'poll the feed now\n')
  t.equal(printed.error, '')
})
