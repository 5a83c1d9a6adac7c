// The node warns its operator about a proxy for which it is not configured, and only about such a
// proxy.

import t from 'tap'
import { until } from '../until.ts'
import { type Forum, startForum } from './harness.ts'
import type { LogLine } from './process.ts'

function warnings({ log }: Forum, event = 'forwarding_header_ignored'): LogLine[] {
  const lines = log.split('\n').filter((line) => line.includes(event))
  return lines.map((line) => JSON.parse(line))
}

async function untilWarned(forum: Forum): Promise<void> {
  await until('a warning', () => warnings(forum).length > 0)
}

for (const header of ['x-forwarded-for', 'cf-connecting-ip']) {
  t.test(`${header} arrives, none is trusted: one warning, however many arrive`, async (t) => {
    const forum = await startForum(t)
    t.equal(warnings(forum).length, 0)
    await forum.anonymous.get('/api/status', { [header]: '203.0.113.1' })
    await untilWarned(forum)
    for (let n = 0; n < 20; n++) await forum.anonymous.get('/', { [header]: '203.0.113.1' })
    const [{ level, header: named, hint }, ...more] = warnings(forum)
    t.strictSame([level, named, more.length], [40, header, 0])
    t.match(hint, '--trust-proxy')
  })
}

t.test('a proxy begins to forward after 3,000 direct requests: a warning', async (t) => {
  const forum = await startForum(t)
  for (let n = 0; n < 30; n++) {
    await Promise.all(Array.from({ length: 100 }, () => forum.anonymous.get('/api/status')))
  }
  t.equal(warnings(forum).length, 0)
  const forwarded = { 'x-forwarded-for': '203.0.113.1' }
  for (let n = 0; n < 64; n++) await forum.anonymous.get('/api/status', forwarded)
  await untilWarned(forum)
})

t.test('--trust-proxy: both headers arrive: no warning', async (t) => {
  const forum = await startForum(t, ['--trust-proxy'])
  const headers = { 'x-forwarded-for': '203.0.113.1', 'cf-connecting-ip': '203.0.113.1' }
  for (let n = 0; n < 20; n++) await forum.anonymous.get('/api/compat/ticket', headers)
  // The log line about the stop follows all earlier lines.
  process.kill(forum.pid, 'SIGTERM')
  await until('the stop', () => forum.log.includes('"stopped"'))
  t.equal(warnings(forum).length, 0)
})

const event = 'https_not_configured'

for (const flags of [[], ['--trust-proxy']]) {
  const name = flags.join(' ') || 'as it is'
  t.test(`x-forwarded-proto: https, no public URL, a node ${name}: one warning`, async (t) => {
    const forum = await startForum(t, flags)
    await forum.anonymous.get('/api/status', { 'x-forwarded-proto': 'http' })
    await forum.anonymous.get('/api/status', { 'x-forwarded-proto': 'https' })
    await until('a warning', () => warnings(forum, event).length > 0)
    for (let n = 0; n < 20; n++) await forum.anonymous.get('/', { 'x-forwarded-proto': 'https' })
    const [{ level, header, hint }, ...more] = warnings(forum, event)
    t.strictSame([level, header, more.length], [40, 'x-forwarded-proto', 0])
    t.match(hint, '--public-url')
  })
}

t.test('x-forwarded-proto: https with an https public URL: no warning', async (t) => {
  const forum = await startForum(t, ['--public-url', 'https://forum.example'])
  await forum.anonymous.get('/api/status', { 'x-forwarded-proto': 'https' })
  process.kill(forum.pid, 'SIGTERM')
  await until('the stop', () => forum.log.includes('"stopped"'))
  t.strictSame(warnings(forum, event), [])
})
