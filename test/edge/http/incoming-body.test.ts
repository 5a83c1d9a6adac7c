// Incoming bodies: B1 `done` is called once, B2 held bytes are counted and released.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import {
  type Body,
  dropBytesMax,
  IncomingBody,
  overloaded,
  tooLarge,
} from '../../../src/edge/http/incoming-body.ts'
import { Load, unlimited } from '../../../src/edge/http/load.ts'

function receive(queueBytesMax = Number.POSITIVE_INFINITY, bytesMax = 10) {
  const load = new Load({ ...unlimited, queueBytesMax })
  const received: Body[] = []
  const body = new IncomingBody(load, bytesMax, (whole) => {
    received.push(Buffer.isBuffer(whole) ? Buffer.from(whole) : whole) // B2: `whole` is overwritten
  })
  return { load, received, body }
}

t.test('body: in chunks: assembled, and counted until its end', async (t) => {
  const { load, received, body } = receive()
  body.add(Buffer.from('hel'))
  body.add(Buffer.from('lo'))
  t.equal(load.bodyBytes, 5)
  body.end()
  t.strictSame(received, [Buffer.from('hello')])
  t.equal(load.bodyBytes, 0)
})

t.test('body: byte by byte: the memory depends on its bytes, not its chunks', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const bytes = 100_000
  const { received, body } = receive(bytes, bytes)
  const held = () => {
    collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = held()
  for (let i = 0; i < bytes; i++) body.add(Buffer.from([i]))
  const growth = held() - before
  // A chunk kept as an object would cost 110 bytes. Compiling this code may take a megabyte.
  t.ok(growth < 30 * bytes, `${growth} bytes are held`)
  body.end()
  t.strictSame(received, [Buffer.from(Array.from({ length: bytes }, (_, i) => i))])
})

t.test('body: over its limit: released at once, refused at its end', async (t) => {
  const { load, received, body } = receive()
  body.add(Buffer.alloc(8))
  body.add(Buffer.alloc(8))
  t.strictSame([load.bodyBytes, received], [0, []])
  body.end()
  t.strictSame(received, [tooLarge])
})

t.test('body: without end: refused, and the connection is closed', async (t) => {
  const { received, body } = receive()
  body.add(Buffer.alloc(dropBytesMax))
  t.strictSame([received, body.isHopeless], [[], false])
  body.add(Buffer.alloc(1))
  t.strictSame([received, body.isHopeless], [[tooLarge], true])
  body.add(Buffer.alloc(1))
  body.end()
  t.equal(received.length, 1)
})

t.test('body: no room for it: released at once, overloaded at its end, counted', async (t) => {
  const { load, received, body } = receive(6)
  body.add(Buffer.alloc(4))
  body.add(Buffer.alloc(4))
  t.equal(load.bodyBytes, 0)
  body.end()
  t.strictSame(received, [overloaded])
  t.equal(load.refused.bodies, 1)
})

t.test('B1, B2: chunks, ends and hang-ups in any order: one outcome, nothing held', async (t) => {
  const step = fc.oneof(fc.nat(12), fc.constantFrom('end' as const, 'drop' as const))
  fc.assert(
    fc.property(fc.array(step), fc.integer({ min: 0, max: 30 }), (steps, room) => {
      const { load, received, body } = receive(room)
      let ended = false
      for (const each of [...steps, 'drop' as const]) {
        if (each === 'end') body.end()
        else if (each === 'drop') body.drop()
        else body.add(Buffer.alloc(each))
        ended ||= typeof each === 'string'
        if (load.bodyBytes > Math.min(room, 10) || (ended && load.bodyBytes !== 0)) return false
      }
      return received.length <= 1
    }),
  )
  t.pass('held')
})
