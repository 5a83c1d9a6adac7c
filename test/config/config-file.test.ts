// --config FILE and --print-config: which source takes precedence, and how an invalid file is
// refused.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ConfigError } from '../../src/base/arguments.ts'
import { parseConfig, settingFlags } from '../../src/config/config.ts'
import { run } from '../api/process.ts'

/** Creates a file with this text, or with this value as JSON. */
function fileOf(t: Test, contents: unknown): string {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-config-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'forum.json')
  writeFileSync(path, typeof contents === 'string' ? contents : JSON.stringify(contents))
  return path
}

t.test('config file: flag, variable, file, default: the first that is set counts', async (t) => {
  const config = fileOf(t, { host: '10.0.0.1', port: 1, data: 'c', 'poll-after': 5 })
  const environment = { AGENT_FORUM_PORT: '2', AGENT_FORUM_DATA: 'b' }
  const expected = { host: '10.0.0.1', port: 2, data: 'a', pollAfterSeconds: 5, http: 'auto' }
  t.match(parseConfig(['--data', 'a', '--config', config], environment), expected)
  const named = { ...environment, AGENT_FORUM_CONFIG: config }
  t.match(parseConfig(['--data', 'a'], named), expected, 'the file can be named by a variable')
  const none = parseConfig(['--config', ''], named)
  t.match(none, { host: '127.0.0.1', port: 2, data: 'b' }, 'a flag can switch the file off')
})

t.test('config file: texts, numbers, switches: as a flag would have them', async (t) => {
  const config = fileOf(t, {
    port: '80',
    'scrub-hours': 0.5,
    'no-compat': true,
    'webhook-allow-private': false,
    'trust-proxy': true,
    'public-url': 'https://forum.example',
    'messages-per-day': 7,
  })
  t.match(parseConfig(['--config', config], {}), {
    port: 80,
    scrubHours: 0.5,
    compat: false,
    webhookAllowPrivate: false,
    trustProxy: { header: 'x-forwarded-for' },
    publicUrl: 'https://forum.example',
    limits: { messages: { all: 7 } },
  })
})

t.test(
  'config file: every setting: its default, written into a file, means the same',
  async (t) => {
    const defaults = Object.entries(settingFlags)
      .filter(([name]) => name !== 'config')
      .map(([name, { preset }]) => [name, preset])
    const config = fileOf(t, Object.fromEntries(defaults))
    t.same(parseConfig(['--config', config], {}), parseConfig([], {}))
  },
)

const wrong: [contents: unknown, sentence: RegExp][] = [
  [{ prot: 80 }, /: there is no setting "prot" \(did you mean port\?\)$/],
  [{ colour: 'blue' }, /: there is no setting "colour"$/],
  [{ poll_after: 5 }, /: there is no setting "poll_after" \(did you mean poll-after\?\)$/],
  [{ config: 'other.json' }, /: there is no setting "config"/],
  [{ json: true }, /: there is no setting "json"/],
  ['{"__proto__": 1}', /: there is no setting "__proto__"$/],
  [{ port: 'x' }, /: port takes a whole number from 0 to 65535, not "x"$/],
  [{ port: 1.5 }, /: port takes a whole number from 0 to 65535, not "1.5"$/],
  [{ port: true }, /: port takes a whole number from 0 to 65535, not "true"$/],
  [{ port: null }, /: port takes a text, a number, true or false$/],
  [{ cors: ['https://a.example'] }, /: cors takes a text, a number, true or false$/],
  [{ 'no-compat': 'yes' }, /: no-compat is on or off, not "yes"$/],
  [{ 'log-level': 'loud' }, /: log-level takes debug, .*, not "loud"$/],
  [{ 'proxy-hops': 2 }, /: proxy-hops needs --trust-proxy xff$/],
  ['{"port": 80,\n}', /: is not JSON: look at line 2, column 1$/],
  ['', /: is not JSON: it ends early, or has a word or sign without quotes$/],
  ['[]', /: takes one JSON object/],
  ['null', /: takes one JSON object/],
]
t.test('config file: wrong: one sentence that names the file and the key', async (t) => {
  for (const [contents, sentence] of wrong) {
    const path = fileOf(t, contents)
    const said = refusalOf(path)
    t.ok(said.startsWith(`${path}: `), said)
    t.match(said, sentence)
    t.notMatch(said, '\n')
  }
  for (const path of ['/nowhere/forum.json', tmpdir()]) {
    t.match(refusalOf(path), new RegExp(`^${path}: cannot be read: E[A-Z]+: [a-z ]+$`))
  }
})

function refusalOf(path: string): string {
  try {
    parseConfig(['--config', path], {})
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return 'accepted'
}

t.test('config file: not JSON, as a file of secrets: nothing in it is repeated', async (t) => {
  for (const text of ['SECRET=s3cret', '{"port": s3cret}', '{"a": "s3cret', '{"a": "s3\ncret"}']) {
    const file = fileOf(t, text)
    const { code, stdout, stderr } = await run(['serve', '--config', file])
    t.strictSame([code, stdout], [64, ''])
    t.match(stderr, /^agent-forum: \S+: is not JSON: [^\n]+\n$/)
    // The folder's name is random and may contain any two letters.
    t.notMatch(stderr.replaceAll(file, 'FILE'), /s3|SECRET|"/)
  }
})

t.test('print-config: switches: on or off, however they are written', async (t) => {
  const config = fileOf(t, { 'no-pages': true, 'no-compat': '0', 'trust-proxy': true })
  const flags = ['--config', config, '--print-config', '--json']
  const { stdout } = await run(['serve', ...flags], { AGENT_FORUM_WEBHOOK_ALLOW_PRIVATE: '1' })
  t.match(JSON.parse(stdout), {
    'no-pages': { value: 'on', from: config },
    'no-compat': { value: 'off', from: config },
    'trust-proxy': { value: 'xff', from: config },
    'webhook-allow-private': { value: 'on', from: 'AGENT_FORUM_WEBHOOK_ALLOW_PRIVATE' },
    standby: { value: 'off', from: 'default' },
  })
})

t.test('print-config: every setting with what set it, no secret, nothing started', async (t) => {
  const config = fileOf(t, { port: 1, quotas: 'public' })
  const secret = 'the secret that nobody may see, ever'
  const environment = { AGENT_FORUM_SECRET: secret, AGENT_FORUM_POLL_AFTER: '5' }
  const flags = ['--config', config, '--print-config', '--data', '/nowhere/forum']
  // These are set because their defaults depend on the free memory.
  flags.push('--memory-mb', '999', '--text-memory-mb', '99')
  const asText = await run(['serve', ...flags], environment)
  const asJson = await run(['serve', '--json', ...flags], environment)
  t.strictSame([asText.code, asText.stderr, asJson.code, asJson.stderr], [0, '', 0, ''])
  t.notMatch(asText.stdout + asJson.stdout, secret)

  const shown = JSON.parse(asJson.stdout)
  t.same(Object.keys(shown), [...Object.keys(settingFlags), 'secret'])
  t.match(shown, {
    host: { value: '127.0.0.1', from: 'default' },
    port: { value: '1', from: config },
    data: { value: '/nowhere/forum', from: '--data' },
    'poll-after': { value: '5', from: 'AGENT_FORUM_POLL_AFTER' },
    'messages-per-day': { value: '200', from: 'quotas public' },
    secret: { value: null, from: 'AGENT_FORUM_SECRET' },
  })
  const rows = asText.stdout.split('\n').map((line) => line.split(/ {2,}/))
  for (const [name, { value, from }] of Object.entries<{ value: string; from: string }>(shown)) {
    const row = rows.find(([first]) => first === name)
    t.same(row, [name, value === null ? '(not shown)' : value || '-', from])
  }
})

t.test('print-config: an impossible setting: refused as at a start', async (t) => {
  const { code, stdout, stderr } = await run(['serve', '--print-config', '--port', 'x'])
  t.strictSame([code, stdout], [64, ''])
  t.match(stderr, /^agent-forum: --port takes a whole number/)
})
