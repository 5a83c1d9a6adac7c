// Flags and variables → Config: the values that each may have, and how others are refused.

import type { BlockList } from 'node:net'
import t from 'tap'
import { ConfigError, flagHelp } from '../../src/base/arguments.ts'
import {
  type Config,
  parseConfig,
  settingFlags,
  unknownVariables,
} from '../../src/config/config.ts'

const presets: Partial<Config> = {
  host: '127.0.0.1',
  port: 8787,
  data: './data',
  durability: { mode: 'always' },
  durabilityName: 'always',
  publicUrl: null,
  http: 'auto',
  pollAfterSeconds: 60,
  segmentBytes: 64 * 2 ** 20,
  trustProxy: null,
  cors: null,
  idempotencyHours: 24,
  logLevel: 'info',
}

t.test('config: no flag and no variable: the defaults', async (t) => {
  t.match(parseConfig([], {}), presets)
})

t.test('config: a secret: of 32 characters accepted, of fewer refused', async (t) => {
  const of = (secret: string) => parseConfig([], { AGENT_FORUM_SECRET: secret }).secret
  t.equal(of('s'.repeat(32)), 's'.repeat(32))
  const refusal = new ConfigError('AGENT_FORUM_SECRET must hold at least 32 characters')
  t.throws(() => of('s'.repeat(31)), refusal)
  t.throws(() => of(''), refusal)
})

const possible: [string, string, Partial<Config>][] = [
  ['host', '::1', { host: '::1' }],
  ['host', '10.0.0.5', { host: '10.0.0.5', allowedHosts: null }],
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
  [
    'public-url',
    'https://forum.example',
    { publicUrl: 'https://forum.example', allowedHosts: new Set(['forum.example']) },
  ],
  [
    'public-url',
    'HTTP://Forum.Example:80/',
    { publicUrl: 'http://forum.example', allowedHosts: new Set(['forum.example']) },
  ],
  [
    'public-url',
    'http://[::1]:8080',
    { publicUrl: 'http://[::1]:8080', allowedHosts: new Set(['[::1]']) },
  ],
  ['http', 'uws', { http: 'uws' }],
  ['http', 'node', { http: 'node' }],
  ['poll-after', '0', { pollAfterSeconds: 0 }],
  ['poll-after', '86400', { pollAfterSeconds: 86_400 }],
  ['segment-mb', '1', { segmentBytes: 2 ** 20 }],
  ['segment-mb', '1024', { segmentBytes: 2 ** 30 }],
  ['idempotency-hours', '1', { idempotencyHours: 1 }],
  ['idempotency-hours', '8760', { idempotencyHours: 8760 }],
  ...(['debug', 'warn', 'error', 'silent'] as const).map(
    (level): [string, string, Partial<Config>] => ['log-level', level, { logLevel: level }],
  ),
]
for (const [flag, value, expected] of possible) {
  t.test(`config: --${flag} ${value}: taken, as flag and as variable`, async (t) => {
    const variable = `AGENT_FORUM_${flag.toUpperCase().replace('-', '_')}`
    const whole = { ...parseConfig([], {}), ...expected }
    t.same(parseConfig([`--${flag}`, value], {}), whole)
    t.same(parseConfig([`--${flag}=${value}`], {}), whole)
    t.same(parseConfig([], { [variable]: value }), whole)
    t.same(parseConfig([`--${flag}`, value], { [variable]: 'impossible' }), whole)
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
  http: ['', 'apache', 'Node'],
  'poll-after': ['', '-1', '1.5', 'minute', '86401'],
  'segment-mb': ['', '0', '0.5', '1025', '64k'],
  'idempotency-hours': ['', '0', '-1', '0.5', '8761'],
  'log-level': ['', 'loud', 'INFO', 'trace'],
}
for (const [flag, values] of Object.entries(impossible)) {
  t.test(
    `config: --${flag} that is impossible: refused in one sentence that names where it was given`,
    async (t) => {
      const variable = `AGENT_FORUM_${flag.toUpperCase().replace('-', '_')}`
      const rule = ['host', 'data'].includes(flag) ? 'must not be empty' : 'takes .*\\S'
      for (const value of values) {
        const givenAs: [string, () => Config][] = [
          [`--${flag}`, () => parseConfig([`--${flag}=${value}`], {})],
          [variable, () => parseConfig([], { [variable]: value })],
        ]
        for (const [name, given] of givenAs) {
          const sentence = refusal(given)
          t.match(sentence, new RegExp(`^${name} ${rule}$`), value)
          t.notMatch(sentence, '\n')
        }
      }
    },
  )
}

t.test('config: arguments that are not flags: refused in one sentence', async (t) => {
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

t.test('config: a misspelled flag: the error suggests the right one', async (t) => {
  const misspelt: [string, string][] = [
    ['--prot', '--port'],
    ['--Port', '--port'],
    ['-port', '--port'],
    ['--publicurl', '--public-url'],
    ['--quota=public', '--quotas'],
    ['--ticket_limit', '--ticket-limit'],
  ]
  for (const [given, meant] of misspelt) {
    const sentence = `unknown flag ${given.split('=')[0]} (did you mean ${meant}?)`
    t.equal(
      refusal(() => parseConfig([given], {})),
      `${sentence}; --help lists the flags`,
    )
  }
  t.equal(
    refusal(() => parseConfig(['--colour'], {})),
    'unknown flag --colour; --help lists the flags',
  )
})

t.test('config: a word or a value too many: named as it was given', async (t) => {
  const given: [args: string[], sentence: string][] = [
    [['extra'], 'unexpected argument "extra"'],
    [['a. b', '--port', '1'], 'unexpected argument "a. b"'],
    [['--no-compat=on'], '--no-compat takes no value'],
    [['--help=x'], '--help takes no value'],
  ]
  for (const [args, sentence] of given) {
    t.equal(
      refusal(() => parseConfig(args, {})),
      `${sentence}; --help lists the flags`,
    )
  }
})

t.test('config: an unknown variable: named, with a suggestion', async (t) => {
  const environment = {
    AGENT_FORUM_PROT: '80',
    AGENT_FORUM_COLOUR: 'blue',
    AGENT_FORUM_PORT: '80',
    AGENT_FORUM_SECRET: 's'.repeat(32),
    AGENT_FORUM_IDENTITY: 'of-the-shell.json',
    PATH: '/bin',
  }
  t.same(unknownVariables(environment), [
    'AGENT_FORUM_PROT (did you mean AGENT_FORUM_PORT?)',
    'AGENT_FORUM_COLOUR',
  ])
})

t.test('config: a flag given twice: the last counts', async (t) => {
  t.equal(parseConfig(['--port', '1', '--port', '2'], {}).port, 2)
})

t.test('config: a switch: on as a flag, on or off as a variable', async (t) => {
  t.equal(parseConfig(['--no-compat'], {}).compat, false)
  const variable = (text: string) => () => parseConfig([], { AGENT_FORUM_NO_COMPAT: text })
  for (const text of ['on', 'true', '1']) t.equal(variable(text)().compat, false)
  for (const text of ['off', 'false', '0', '']) t.equal(variable(text)().compat, true)
  for (const text of ['yes', 'On', '2']) {
    t.match(refusal(variable(text)), /^AGENT_FORUM_NO_COMPAT is on or off, not ".+"$/)
  }
})

const xff = { header: 'x-forwarded-for', hops: 1 } as const
const cloudflare = { header: 'cf-connecting-ip' } as const

t.test('config: --trust-proxy: a header, or none for X-Forwarded-For', async (t) => {
  const of = (...args: string[]) => parseConfig(args, {})
  t.same(of('--trust-proxy').trustProxy, xff)
  t.match(of('--trust-proxy', '--port', '1'), { trustProxy: xff, port: 1 })
  t.match(of('--trust-proxy', 'cf-connecting-ip', '--port', '1'), {
    trustProxy: cloudflare,
    port: 1,
  })
  for (const text of ['xff', 'on']) t.same(of(`--trust-proxy=${text}`).trustProxy, xff)
  t.same(of('--trust-proxy', 'xff', '--proxy-hops', '3').trustProxy, { ...xff, hops: 3 })
  // In earlier versions this was a switch, and environments may still set it as one.
  const variable = (text: string) => parseConfig([], { AGENT_FORUM_TRUST_PROXY: text }).trustProxy
  for (const text of ['on', 'true', '1', 'xff']) t.same(variable(text), xff)
  for (const text of ['off', 'false', '0', '']) t.equal(variable(text), null)
  t.same(variable('cf-connecting-ip'), cloudflare)
  const off = parseConfig(['--trust-proxy', 'off'], { AGENT_FORUM_TRUST_PROXY: 'on' })
  t.equal(off.trustProxy, null, 'the flag wins')
})

t.test('config: --trusted-proxies: networks and addresses of both families', async (t) => {
  const list = '10.0.0.0/8, 192.0.2.9,2001:db8::/32,::1'
  const { trustProxy } = parseConfig(['--trust-proxy', '--trusted-proxies', list], {})
  const { proxies } = trustProxy as { proxies: BlockList }
  for (const inside of ['10.255.0.1', '192.0.2.9']) t.ok(proxies.check(inside, 'ipv4'), inside)
  for (const outside of ['11.0.0.1', '192.0.2.8']) t.notOk(proxies.check(outside, 'ipv4'), outside)
  for (const inside of ['2001:db8::7', '::1']) t.ok(proxies.check(inside, 'ipv6'), inside)
  for (const outside of ['2001:db9::', '::2']) t.notOk(proxies.check(outside, 'ipv6'), outside)
})

const wrongProxies: [args: string[], sentence: RegExp][] = [
  [['--trust-proxy', 'yes'], /^--trust-proxy takes xff or cf-connecting-ip, not "yes"$/],
  [['--trust-proxy', 'XFF'], /^--trust-proxy takes xff or cf-connecting-ip, not "XFF"$/],
  [['--trust-proxy', '--proxy-hops', '0'], /^--proxy-hops takes a whole number from 1 to 16/],
  [['--proxy-hops', '2'], /^--proxy-hops needs --trust-proxy xff$/],
  [['--trusted-proxies', '10.0.0.0/8'], /^--trusted-proxies needs --trust-proxy xff$/],
  [['--trust-proxy', 'cf-connecting-ip', '--proxy-hops', '2'], /^--proxy-hops needs/],
  [
    ['--trust-proxy', '--proxy-hops', '2', '--trusted-proxies', '10.0.0.0/8'],
    /^--proxy-hops and --trusted-proxies exclude each other$/,
  ],
  ...[
    '10.0.0.0/33',
    '10.0.0/8',
    '10.0.0.0/',
    '::/129',
    'a/8',
    '10.0.0.1,',
    '1.1.1.1;2.2.2.2',
    'fe80::%eth0/64',
    '2001:0db8:0000:0000:0000:0001:192.168.100.200%eth0',
  ].map((list): [string[], RegExp] => [
    ['--trust-proxy', '--trusted-proxies', list],
    /^--trusted-proxies takes networks like .+, not ".+"$/,
  ]),
  [['--cors', 'forum.example'], /^--cors takes an origin like .+, not "forum.example"$/],
  [['--cors', 'https://a.example/app'], /^--cors takes an origin like /],
  [['--cors', 'https://a.example,*'], /^--cors takes an origin like .+, not "\*"$/],
  [['--cors', 'https://a.example,'], /^--cors takes an origin like .+, not ""$/],
]
t.test('config: impossible proxies and origins: refused in one sentence', async (t) => {
  for (const [args, sentence] of wrongProxies) {
    t.match(
      refusal(() => parseConfig(args, {})),
      sentence,
      args.join(' '),
    )
  }
})

t.test('config: --cors: origins as browsers write them, or all', async (t) => {
  const of = (text: string) => parseConfig(['--cors', text], {}).cors
  t.equal(of(''), null)
  t.equal(of('*'), '*')
  t.same(of('https://a.example, HTTP://B.example:80/'), ['https://a.example', 'http://b.example'])
  t.same(parseConfig([], { AGENT_FORUM_CORS: 'http://localhost:3000' }).cors, [
    'http://localhost:3000',
  ])
})

t.test('config: help: every flag with its preset, one line each', async (t) => {
  const lines = flagHelp(settingFlags).split('\n')
  for (const line of lines) t.match(line, /^ {2}--[a-z-]+ ([A-Z]+|\[[A-Z]+\])? +\S/)
  for (const flag of [...Object.keys(impossible), 'trust-proxy', 'cors']) {
    t.equal(lines.filter((line) => line.startsWith(`  --${flag} `)).length, 1, flag)
  }
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
