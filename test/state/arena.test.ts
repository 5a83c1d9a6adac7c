import fc from 'fast-check'
import t from 'tap'
import { Arena, pageBytes } from '../../src/state/arena.ts'

const unitsPerChunk = 2 ** 23
const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 200, size: 'max' })
/** Two of them do not fit in one chunk: room is kept for three bytes a character. */
const large = 'x'.repeat(20 * 2 ** 20)

t.test('A1: texts of every width: more are appended: all stay as they were', async () => {
  const arena = new Arena()
  const property = fc.property(
    fc.array(text, { minLength: 1, maxLength: 50, size: 'max' }),
    (texts) => {
      const entries = texts.map((each) => ({
        each,
        address: arena.append(each),
        bytes: arena.written,
      }))
      for (const { each, address, bytes } of entries) {
        if (bytes !== Buffer.byteLength(each)) throw new Error(`${bytes} bytes of ${each}`)
        if (arena.offset(address) % 8 !== 0) throw new Error('an entry starts at a multiple of 8')
        if (arena.text(address, 0, bytes) !== each) throw new Error(`${each} has changed`)
      }
    },
  )
  fc.assert(property)
})

t.test('A1: one, two, three and four bytes: cut between characters: whole texts', async (t) => {
  const arena = new Arena()
  const address = arena.append('aé€🦊z')
  t.equal(arena.written, 1 + 2 + 3 + 4 + 1)
  t.equal(arena.text(address, 1, 6), 'é€')
  t.equal(arena.text(address, 6, 11), '🦊z')
})

t.test('A1, A2, A3: a chunk is full: the next entry lies in the next chunk', async (t) => {
  const arena = new Arena()
  const first = arena.append('first')
  t.equal(first, pageBytes / 8, 'the first MiB is scratch')
  const addresses = [first, arena.append(large), arena.append(large), arena.append('last')]
  t.same(
    addresses.map((address) => Math.floor(address / unitsPerChunk)),
    [0, 0, 1, 1],
    'an entry lies in one chunk',
  )
  for (const address of addresses) {
    const chunk = Math.floor(address / unitsPerChunk)
    t.equal(arena.offset(address), (address - chunk * unitsPerChunk) * 8, 'A2')
    t.ok(arena.offset(address) >= pageBytes, 'A3')
  }
  t.not(arena.chunk(addresses[1]), arena.chunk(addresses[2]))
  t.equal(arena.text(first, 0, 5), 'first')
  t.equal(arena.text(addresses[2], 0, large.length), large)
  t.equal(arena.text(addresses[3], 0, 4), 'last')
})

t.test('arena: one chunk and some: bytes held: whole chunks and what is used', async (t) => {
  const arena = new Arena()
  t.equal(arena.bytes, pageBytes)
  arena.append('123456789')
  t.equal(arena.bytes, pageBytes + 16)
  arena.append(large)
  arena.append(large)
  t.equal(arena.bytes, 64 * 2 ** 20 + pageBytes + large.length)
})

t.test('arena: a text that could not fit in a chunk: an assertion says so', async (t) => {
  const arena = new Arena()
  t.throws(() => arena.append('x'.repeat(21 * 2 ** 20 + 1)), { code: 'ERR_ASSERTION' })
})
