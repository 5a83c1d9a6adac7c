// Admission when memory is low or many requests wait: which writes are admitted, and how operators
// are warned.

import t from 'tap'
import { Load, unlimited } from '../../../src/edge/http/load.ts'
import { type Memory, NodeAdmission } from '../../../src/engine/role/admission.ts'

const mib = 1024 * 1024

function newAdmission() {
  const load = new Load({ ...unlimited, writesMax: 3, queueBytesMax: 1000 })
  const gate = { length: 0 }
  const journal = { durable: 0 }
  const memory: Memory = { rss: 80 * mib, heapUsed: 10 * mib, heapLimit: 100 * mib }
  const freed = { times: 0 }
  const free = () => {
    freed.times += 1
  }
  const watched = { load, gate, journal, memoryBytesMax: 100 * mib, free }
  const admission = new NodeAdmission(watched, () => memory)
  return { admission, load, gate, journal, memory, freed }
}

t.test('admission: enough of everything: writes are admitted, no warning', async (t) => {
  const { admission } = newAdmission()
  admission.measure(0)
  t.equal(admission.refusal(), null)
  t.strictSame(admission.warnings, [])
})

for (const short of [{ rss: 101 * mib }, { heapUsed: 91 * mib }]) {
  const what = Object.keys(short)[0]
  t.test(`admission: ${what} near its limit: refused until it is below again`, async (t) => {
    const { admission, load, memory, freed } = newAdmission()
    admission.measure(0)
    t.equal(freed.times, 0)
    Object.assign(memory, short)
    admission.measure(0)
    t.equal(freed.times, 1, 'caches are freed')
    admission.measure(0)
    t.equal(freed.times, 1, 'once: pages are cached again while the memory stays low')
    t.match(admission.refusal(), { rejected: 'overloaded', retryAfter: 30, detail: /memory/ })
    t.match(admission.warnings, [/memory/])
    t.strictSame([load.isMemoryLow, load.refused.memory], [true, 1])
    Object.assign(memory, { rss: 99 * mib, heapUsed: 89 * mib })
    admission.measure(1)
    t.equal(admission.refusal(), null)
    t.notOk(load.isMemoryLow)
    Object.assign(memory, short)
    admission.measure(2)
    t.equal(freed.times, 2, 'again, because it had helped')
  })
}

t.test('admission: too many answers wait: refused, and counted', async (t) => {
  const { admission, load, gate } = newAdmission()
  gate.length = 2
  t.equal(admission.refusal(), null)
  gate.length = 3
  t.strictSame(admission.refusal(), { rejected: 'overloaded' })
  t.equal(load.refused.writes, 1)
  t.match(admission.warnings, [/queues: full, 3 answers wait/])
})

t.test('admission: too many bytes wait: refused', async (t) => {
  const { admission, load } = newAdmission()
  load.bodyBytes = 600
  load.answerBytes = 401
  t.strictSame(admission.refusal(), { rejected: 'overloaded' })
  load.answerBytes = 400
  t.equal(admission.refusal(), null)
})

t.test('admission: a slow disk: reported after a second, until it proceeds', async (t) => {
  const { admission, gate, journal } = newAdmission()
  admission.measure(0)
  gate.length = 2
  admission.measure(999)
  t.strictSame(admission.warnings, [])
  admission.measure(5100)
  t.match(admission.warnings, [/disk: slow, nothing became durable for 5 s, 2 wait/])
  journal.durable = 1
  admission.measure(5200)
  t.strictSame(admission.warnings, [])
  t.equal(admission.refusal(), null)
})

t.test('admission: an idle log: not reported as a slow disk', async (t) => {
  const { admission } = newAdmission()
  admission.measure(0)
  admission.measure(60_000)
  t.strictSame(admission.warnings, [])
})
