// The settings of replication: their effect, and that none of them can be set without one.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../src/config/config.ts'

const replication = (...args: string[]) => parseConfig(args, {}).replication

t.test('config: no flag of replication: a node that is alone', async (t) => {
  t.equal(replication(), null)
  t.equal(replication('--takeover-seconds', '5'), null, 'what is preset changes nothing')
})

t.test('config: lead or follow: the servers, and presets for the rest', async (t) => {
  const lead = replication('--replicate', 'nats://a:4222, tls://[::1]:4223')
  t.same(lead, {
    servers: ['nats://a:4222', 'tls://[::1]:4223'],
    leads: true,
    isStandby: false,
    stream: 'agent-forum',
    replicas: 3,
    credentials: null,
    tls: null,
    takeoverMs: 5_000,
    beginAt: null,
  })
  const follow = replication('--follow', 'nats://a', '--standby', '--takeover-seconds', '2')
  t.match(follow, { servers: ['nats://a'], leads: false, isStandby: true, takeoverMs: 2_000 })
})

t.test('config: the word of an operator: a position, for a node that may lead', async (t) => {
  t.match(replication('--replicate', 'nats://a', '--begin-stream', '63'), { beginAt: 63 })
  t.match(replication('--follow', 'nats://a', '--standby', '--begin-stream', '0'), { beginAt: 0 })
  const follow = () => replication('--follow', 'nats://a', '--begin-stream', '63')
  t.throws(follow, /--begin-stream needs --replicate or --standby/)
  t.throws(() => replication('--replicate', 'nats://a', '--begin-stream', 'now'), /--begin-stream/)
})

t.test('config: credentials: read from their file, never from a URL', async (t) => {
  const file = join(t.testdir(), 'node.creds')
  writeFileSync(file, 'a secret')
  t.match(replication('--follow', 'nats://a', '--replicate-credentials', file), {
    credentials: 'a secret',
  })
  t.throws(() => replication('--follow', 'nats://me:pass@a'), /takes no passwords/)
})

const refused: [string[], RegExp][] = [
  [['--replicate', ''], /--replicate is empty: it takes URLs like nats:.*; a standalone node has/],
  [['--replicate', 'nats://a', '--follow', ''], /--follow is empty/],
  [['--standby'], /--standby needs --replicate or --follow/],
  [['--replicate-replicas', '5'], /--replicate-replicas needs --replicate or --follow/],
  [['--replicate', 'nats://a', '--follow', 'nats://a'], /exclude each other/],
  [['--replicate', 'http://a'], /--replicate takes URLs like nats:/],
  [['--replicate', 'a:4222'], /takes URLs like nats:/],
  [['--replicate', 'nats://a,'], /takes URLs like nats:/],
  [['--replicate', 'nats://a/b'], /takes URLs like nats:/],
  [['--follow', 'nats://a', '--replicate-stream', 'a.b'], /letters, digits, - and _/],
  [['--follow', 'nats://a', '--replicate-stream', ''], /must not be empty/],
  [['--replicate', 'nats://a', '--replicate-replicas', '2'], /takes 1, 3 or 5/],
  [['--replicate', 'nats://a', '--takeover-seconds', '0'], /from 1 to 600/],
  [['--replicate', 'nats://a', '--replicate-credentials', '/nowhere'], /file that can be read/],
  [['--replicate', 'nats://a', '--replicate-key', import.meta.filename], /go together/],
]

for (const [args, why] of refused) {
  t.test(`config: ${args.join(' ')}: refused`, async (t) => {
    t.throws(() => replication(...args), why)
  })
}

t.test(
  'config: an empty variable: refused by its name; an empty key of the file: the default',
  async (t) => {
    const variables = { AGENT_FORUM_FOLLOW: '' }
    t.throws(() => parseConfig([], variables), /^AGENT_FORUM_FOLLOW is empty: it takes URLs/)
    const file = join(t.testdir(), 'forum.json')
    writeFileSync(file, '{"replicate": ""}')
    t.equal(parseConfig(['--config', file], {}).replication, null)
  },
)
