// Flags and variables → Config: what each may be, and what is said of what it may not be.

import t from 'tap'
import { type Config, ConfigError, flagHelp, parseConfig } from '../src/config.ts'

const presets: Config = {
  host: '127.0.0.1',
  port: 8787,
  data: './data',
  durability: { mode: 'always' },
  durabilityName: 'always',
  publicUrl: null,
  pollAfterSeconds: 60,
  idempotencyHours: 24,
  logLevel: 'info',
}

t.test('config: nothing given: the presets', async (t) => {
  t.same(parseConfig([], {}), presets)
})

const possible: [string, string, Partial<Config>][] = [
  ['host', '::1', { host: '::1' }],
  ['port', '0', { port: 0 }],
  ['port', '65535', { port: 65_535 }],
  ['data', 'a b/c', { data: 'a b/c' }],
  ['durability', 'none', { durability: { mode: 'none' }, durabilityName: 'none' }],
  [
    'durability',
    'interval',
    { durability: { mode: 'interval', ms: 100 }, durabilityName: 'interval:100' },
  ],
  [
    'durability',
    'interval:1',
    { durability: { mode: 'interval', ms: 1 }, durabilityName: 'interval:1' },
  ],
  ['public-url', 'https://forum.example', { publicUrl: 'https://forum.example' }],
  ['public-url', 'HTTP://Forum.Example:80/', { publicUrl: 'http://forum.example' }],
  ['public-url', 'http://[::1]:8080', { publicUrl: 'http://[::1]:8080' }],
  ['poll-after', '0', { pollAfterSeconds: 0 }],
  ['poll-after', '86400', { pollAfterSeconds: 86_400 }],
  ['idempotency-hours', '1', { idempotencyHours: 1 }],
  ['idempotency-hours', '8760', { idempotencyHours: 8760 }],
  ...['debug', 'warn', 'error', 'silent'].map((level): [string, string, Partial<Config>] => [
    'log-level',
    level,
    { logLevel: level },
  ]),
]
for (const [flag, value, expected] of possible) {
  t.test(`config: --${flag} ${value}: taken, as flag and as variable`, async (t) => {
    const variable = `AGENT_FORUM_${flag.toUpperCase().replace('-', '_')}`
    t.same(parseConfig([`--${flag}`, value], {}), { ...presets, ...expected })
    t.same(parseConfig([`--${flag}=${value}`], {}), { ...presets, ...expected })
    t.same(parseConfig([], { [variable]: value }), { ...presets, ...expected })
    t.same(parseConfig([`--${flag}`, value], { [variable]: 'impossible' }), {
      ...presets,
      ...expected,
    })
  })
}

const impossible: Record<string, string[]> = {
  host: [''],
  port: ['', ' ', 'x', '-1', '1.5', '1e3', '0x10', '65536', '99999999999999999999'],
  data: [''],
  durability: [
    '',
    'sometimes',
    'Always',
    'none:1',
    ...['', '0', 'x', '-1', '1.5', '100000'].map((ms) => `interval:${ms}`),
  ],
  'public-url': [
    'forum.example',
    '//forum.example',
    'ftp://forum.example',
    ...['', 'a/path', 'u:p@a', 'a?b', 'a#b', 'a:x'].map((rest) => `https://${rest}`),
  ],
  'poll-after': ['', '-1', '1.5', 'minute', '86401'],
  'idempotency-hours': ['', '0', '-1', '0.5', '8761'],
  'log-level': ['', 'loud', 'INFO', 'trace'],
}
for (const [flag, values] of Object.entries(impossible)) {
  t.test(
    `config: --${flag} that is impossible: refused in one sentence with its name`,
    async (t) => {
      const variable = `AGENT_FORUM_${flag.toUpperCase().replace('-', '_')}`
      for (const value of values) {
        for (const given of [
          () => parseConfig([`--${flag}=${value}`], {}),
          () => parseConfig([], { [variable]: value }),
        ]) {
          const sentence = refusal(given)
          t.match(sentence, new RegExp(`^--${flag} takes .*\\S$`), value)
          t.notMatch(sentence, '\n')
        }
      }
    },
  )
}

t.test('config: arguments that are no flag: refused in one sentence', async (t) => {
  const wrong = [
    ['--colour', 'blue'],
    ['-p', '0'],
    ['--no-port'],
    ['--Port', '0'],
    ['now'],
    ['--', 'now'],
    ['--port'],
    ['--port', '--host'],
  ]
  for (const args of wrong)
    t.match(
      refusal(() => parseConfig(args, {})),
      /^[^\n]*[^.\n]; --help [^\n]+$/,
    )
})

t.test('config: a flag given twice: the last counts', async (t) => {
  t.equal(parseConfig(['--port', '1', '--port', '2'], {}).port, 2)
})

t.test('config: help: every flag with its preset, one line each', async (t) => {
  const lines = flagHelp().split('\n')
  t.strictSame(
    lines.map((line) => /^ {2}--(\S+) [A-Z]+ +\S/.exec(line)?.[1]),
    Object.keys(impossible),
  )
})

function refusal(parse: () => Config): string {
  try {
    parse()
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return 'accepted'
}
