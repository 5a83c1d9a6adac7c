import t from 'tap'
import { readiness } from '../../../src/operators/ops/readiness.ts'
import type { Vitals } from '../../../src/operators/ops/vitals.ts'
import { vitalsOf } from './vitals.ts'

t.test('readiness: the node starts: not ready, and how far the start is', async (t) => {
  const vitals = vitalsOf('starting', null)
  t.strictSame(readiness(vitals, false), {
    isReady: false,
    text: 'starting: 0% of the checkpoint read, 0 of 0 bytes\n',
  })
  vitals.start = { step: 'checkpoint', done: 3, of: 4 }
  t.equal(readiness(vitals, false).text, 'starting: 75% of the checkpoint read, 3 of 4 bytes\n')
  vitals.start = { step: 'indexes', done: 2, of: 7 }
  t.equal(readiness(vitals, false).text, 'starting: 2 of 7 indexes filled\n')
  vitals.start = { step: 'log', done: 299, of: 1000 }
  t.equal(readiness(vitals, false).text, 'starting: 29% of the log replayed, 299 of 1000 bytes\n')
  t.equal(
    readiness(vitals, true).text,
    '[-] log: starting: 29% of the log replayed, 299 of 1000 bytes\n' +
      '[-] storage: not open yet\n' +
      '[-] requests: starting: 29% of the log replayed, 299 of 1000 bytes\n' +
      '[+] page files: not scrubbed yet\n',
  )
})

t.test('readiness: the node serves: ready', async (t) => {
  const vitals = vitalsOf(null, 'ok')
  t.strictSame(readiness(vitals, false), { isReady: true, text: 'ok\n' })
  const checked = '[+] log: at 7\n[+] storage: ok\n[+] requests: answered\n'
  t.equal(readiness(vitals, true).text, `${checked}[+] page files: not scrubbed yet\n`)
  vitals.scrub.ageSeconds = () => 61.5
  t.equal(readiness(vitals, true).text, `${checked}[+] page files: scrubbed 61 s ago, all good\n`)
  for (const [found, pages] of [
    [1, '1 damaged page'],
    [2, '2 damaged pages'],
  ] as const) {
    vitals.scrub.found = found
    const line = `[-] page files: scrubbed 61 s ago, ${pages} found, see the log\n`
    t.equal(readiness(vitals, true).text, checked + line)
  }
})

t.test('readiness: a reader is away: one line says so', async (t) => {
  const vitals = vitalsOf(null, 'ok')
  const counts = { configured: 2, serving: 1 }
  vitals.readers = { counts, warnings: ['readers: 1 of 2 serve'] } as unknown as Vitals['readers']
  t.equal(readiness(vitals, false).text, 'degraded: readers: 1 of 2 serve\n')
  const lines = readiness(vitals, true).text.split('\n')
  t.same(
    lines.filter((line) => line.includes('readers')),
    ['[-] readers: 1 of 2 serve'],
  )
})

t.test('readiness: the disk is full: ready, because reads go on', async (t) => {
  const { isReady, text } = readiness(vitalsOf(null, 'storage_full'), true)
  t.ok(isReady)
  t.match(text, '[-] storage: storage_full')
})

t.test('readiness: the node drains: not ready, and what it waits for', async (t) => {
  const vitals = vitalsOf('shutting_down', 'ok')
  vitals.gate = { length: 3 }
  t.strictSame(readiness(vitals, false), {
    isReady: false,
    text: 'draining: 3 answers wait for the log\n',
  })
})
