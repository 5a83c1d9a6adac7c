// The format of the log: encoding and decoding.

import fc from 'fast-check'
import t from 'tap'
import {
  crcSeed,
  decodeSegmentHeader,
  encodeSegmentHeader,
  finishFrame,
  frameHeaderBytes,
  lastNonZero,
  readFrame,
} from '../../wal/journal/format.ts'

const storeId = '000102030405060708090a0b0c0d0e0f'
const seed = crcSeed(storeId)

const positions = fc.maxSafeNat()
const crcs = fc.integer({ min: 0, max: 2 ** 32 - 1 })

function frameOf(payload: Uint8Array, firstPosition = 8): Buffer {
  const bytes = Buffer.alloc(Math.ceil((frameHeaderBytes + payload.length) / 512) * 512)
  bytes.set(payload, frameHeaderBytes)
  const length = frameHeaderBytes + payload.length
  finishFrame(bytes, { length, count: 1, firstPosition, watermark: 7, link: 9 }, seed)
  return bytes
}

t.test('segment header: any values: read back as written', async () => {
  const any = fc.record({
    storeId: fc.constant(storeId),
    number: positions,
    firstPosition: positions,
    watermark: positions,
    link: crcs,
    settled: fc.boolean(),
  })
  fc.assert(
    fc.property(any, (header) => {
      const read = decodeSegmentHeader(encodeSegmentHeader(header))
      return read.kind === 'good' && JSON.stringify(read.header) === JSON.stringify(header)
    }),
  )
})

t.test('frame: any payload: read back, and not with another store', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), (payload) => {
      const bytes = frameOf(payload)
      const frame = readFrame(bytes, 0, seed)
      return frame?.length === frameHeaderBytes + payload.length && frame.end === bytes.length
    }),
  )
  t.equal(readFrame(frameOf(Buffer.from('x')), 0, crcSeed('ff'.repeat(16))), null)
})

t.test('J7: any bytes at all: no frame, no error, no length trusted', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 36, maxLength: 600 }), (noise) => {
      const bytes = Buffer.from(noise)
      Buffer.from('ff46524d', 'hex').copy(bytes)
      return readFrame(bytes, 0, seed) === null
    }),
  )
})

t.test('frame: one bit changed anywhere but in the padding: no frame', async (t) => {
  const bytes = frameOf(Buffer.from('payload'))
  for (let bit = 0; bit < (frameHeaderBytes + 7) * 8; bit++) {
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    if (readFrame(bytes, 0, seed) !== null) t.fail(`bit ${bit}`)
    bytes[bit >> 3]! ^= 1 << (bit & 7)
  }
  t.ok(readFrame(bytes, 0, seed))
})

t.test('last non-zero byte: wherever it is: found', async (t) => {
  const bytes = Buffer.alloc(200_000)
  t.equal(lastNonZero(bytes, 0), 0)
  for (const at of [0, 1, 65_535, 65_536, 134_463, 134_464, 199_999]) {
    bytes[at] = 1
    t.equal(lastNonZero(bytes, 0), at + 1)
    t.equal(lastNonZero(bytes, at + 1), at + 1)
  }
})
