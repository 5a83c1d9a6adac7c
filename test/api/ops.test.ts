// The operators' port and the log, tested over HTTP.

import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { freePort } from '../free-port.ts'
import { startForum } from './harness.ts'
import { ask, samples } from './operators.ts'
import { dataDirectory, run } from './process.ts'

t.test('operator: a forum in use: alive, ready, and its metrics', async (t) => {
  const port = await freePort()
  const forum = await startForum(t, ['--ops-port', `${port}`])
  const ana = await forum.identity()
  const { body } = await ana.thread()
  for (let i = 0; i < 3; i++) await ana.reply(body.thread_id)
  await ana.read(body.thread_id)
  await ana.get('/api/threads/wrong')
  await ana.get('/nowhere')

  t.strictSame(await ask(port, '/livez'), {
    status: 200,
    type: 'text/plain; charset=utf-8',
    text: 'ok\n',
  })
  t.strictSame((await ask(port, '/readyz')).text, 'ok\n')
  t.match((await ask(port, '/readyz?verbose')).text, '[+] storage: ok')
  const [version] = (await run(['--version'])).stdout.split('\n')
  t.match((await ask(port, '/readyz?verbose')).text, `[+] version: ${version}\n`)
  t.equal((await ask(port, '/nowhere')).status, 404)
  t.equal((await ask(port, '//?x')).status, 404)
  t.equal((await ask(port, '/metrics', 'POST')).status, 405)

  const { status, type, text } = await ask(port, '/metrics')
  t.equal(status, 200)
  t.equal(type, 'text/plain; version=0.0.4; charset=utf-8')
  const found = samples(text)
  const requests = (route: string, status: string) =>
    found.get(`agent_forum_http_requests_total{route="${route}",status="${status}"}`)
  t.equal(requests('createIdentity', '2xx'), 1)
  t.equal(requests('createThread', '2xx'), 1)
  t.equal(requests('reply', '2xx'), 3)
  t.equal(requests('readThread', '2xx'), 1)
  t.equal(requests('readThread', '4xx'), 1)
  t.equal(requests('none', '4xx'), 1)
  t.equal(found.get('agent_forum_messages'), 4)
  t.equal(found.get('agent_forum_threads'), 1)
  t.equal(found.get('agent_forum_identities'), 1)
  t.equal(found.get('agent_forum_receipts'), 4)
  t.equal(found.get('agent_forum_journal_position'), 5)
  t.equal(found.get('agent_forum_journal_durable_position'), 5)
  t.equal(found.get('agent_forum_journal_records_total'), 5)
  t.equal(found.get('agent_forum_gate_waiting'), 0)
  t.equal(found.get('agent_forum_checkpoints_total'), 0)
  t.equal(found.get('agent_forum_checkpoint_records_behind'), 5)
  t.ok(found.get('agent_forum_journal_sync_duration_seconds_count')! > 0)
  t.ok(found.get('agent_forum_text_bytes{where="memory"}')! > 0)
  t.notMatch(text, /(thr|agt|msg)_/, 'no id is a label')
})

t.test('operator: no --ops-port: no port is open for operators', async (t) => {
  const forum = await startForum(t)
  t.match(forum.log, '"opsPort":0')
  t.equal((await forum.anonymous.get('/metrics')).status, 404)
})

t.test('operator: the port is taken: start: one line, exit 75', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port } = holder.address() as { port: number }
  const data = dataDirectory(t)
  const { code, stderr } = await run([
    'serve',
    '--port',
    '0',
    '--data',
    data,
    '--ops-port',
    `${port}`,
  ])
  t.equal(code, 75)
  t.match(stderr, `127.0.0.1:${port} is in use`)
  t.match(stderr, '--ops-port')
})

t.test('log: a whole conversation at the lowest level: never a token, key or text', async (t) => {
  const forum = await startForum(t, ['--log-level', 'debug'])
  const [ana, ben] = [
    await forum.identity({ display_name: 'name-in-no-log' }),
    await forum.identity({ kind: 'persistent' }),
  ]
  const key = { 'idempotency-key': 'key-in-no-log' }
  const { body } = await ana.thread({ title: 'title-in-no-log', content: 'text-in-no-log' }, key)
  await ana.thread({ title: 'title-in-no-log', visibility: 'private', participant_ids: [ben.id] })
  await ben.reply(body.thread_id, 'reply-in-no-log')
  await ben.reply(body.thread_id, '')
  await ben.subscribe(body.thread_id)
  await ana.feed()
  await ben.unsubscribe(body.thread_id)
  await ana.get('/api/threads?cursor=cursor-in-no-log')
  await forum.anonymous.get('/api/threads', { authorization: 'Bearer token-in-no-log' })
  const hook = await ben.post(
    '/api/notifications/webhook',
    { url: 'https://a.example/-in-no-log' },
    {
      'idempotency-key': 'hook-key-in-no-log',
    },
  )
  const { signing_secret: signingSecret } = JSON.parse(hook.text)
  const { ticket } = JSON.parse((await forum.anonymous.get('/api/compat/ticket')).text)
  const publish = '/api/compat/publish?ack=publish&title=t-in-no-log&content=c-in-no-log&ticket='
  t.equal((await forum.anonymous.get(publish + ticket)).status, 201)
  const first = await forum.stop()
  await forum.start()
  const second = await forum.stop()
  const log = first!.stdout + second!.stdout
  t.match(log, '"msg":"recovered"')
  for (const secret of [
    '-in-no-log',
    ana.token,
    ben.token,
    ticket,
    signingSecret,
    ana.id,
    body.thread_id,
  ]) {
    t.notMatch(log, secret)
  }
  for (const line of log.trim().split('\n')) t.type(JSON.parse(line).msg, 'string')
})
