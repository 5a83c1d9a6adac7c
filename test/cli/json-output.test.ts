// --json of the tools: one line of JSON on stdout, which states the same facts as the text.

import t from 'tap'
import { publishedThread, startForum } from '../api/harness.ts'
import { run } from '../api/process.ts'
import { damagedCopy } from './damaged-log.ts'

async function jsonOf(args: readonly string[]): Promise<{ code: number | null; found: unknown }> {
  const { code, stdout, stderr } = await run([...args, '--json'])
  t.equal(stderr, '')
  t.match(stdout, /^\{[^\n]*\}\n$/)
  return { code, found: JSON.parse(stdout) }
}

t.test('--json: verify, inspect, backup, repair: of a whole and of a damaged log', async (t) => {
  const forum = await startForum(t, ['--segment-mb', '1'])
  const ana = await forum.identity({ display_name: 'ana' })
  const thread = await publishedThread(ana, { title: 'Title' })
  for (let n = 0; n < 5; n++) await ana.reply(thread, `reply ${n}`)
  await forum.stop()
  const { data } = forum
  const to = `${data}-backup`

  const segments = [
    { name: '0000000001.wal', bytes: 2 ** 20, firstPosition: 1, lastPosition: 7, records: 7 },
    { name: '0000000002.wal', bytes: 2 ** 20, records: null, frames: null },
  ]
  const whole = { data, error: null, position: 7, end: 'sealed', segments, torn: [] }
  t.match(await jsonOf(['wal', 'verify', '--data', data]), { code: 0, found: whole })
  const records = { 'identity.created': 1, 'thread.posted': 1, 'reply.posted': 5 }
  t.match(await jsonOf(['wal', 'inspect', '--data', data]), { code: 0, found: { records } })
  t.match(await jsonOf(['backup', '--data', data, '--to', to]), {
    code: 0,
    found: {
      to,
      position: 7,
      checkpoint: 0,
      records: 7,
      segments: 1,
      bytes: Number,
      hasSecret: true,
    },
  })
  t.same(await jsonOf(['wal', 'repair', '--data', data, '--copy-to', `${data}-no`]), {
    code: 0,
    found: { data, copy: null, position: null, lost: [] },
  })

  const damaged = damagedCopy(data)
  t.match(await jsonOf(['wal', 'verify', '--data', damaged]), {
    code: 77,
    found: { error: /is damaged at offset \d+, position 5: /, position: null, end: null },
  })
  const copy = `${data}-copy`
  t.match(await jsonOf(['wal', 'repair', '--data', damaged, '--copy-to', copy]), {
    code: 0,
    found: { data: damaged, copy, position: 4, lost: [/^lost: positions 5 to 7; /] },
  })
})

t.test('--json: there is no such directory: the same sentence on stderr as without', async (t) => {
  const args = ['wal', 'verify', '--json', '--data', '/nowhere/forum']
  const { code, stdout, stderr } = await run(args)
  t.strictSame([code, stdout], [64, ''])
  t.match(stderr, /^agent-forum: [^\n]+\n$/)
})
