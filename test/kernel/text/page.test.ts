import fc from 'fast-check'
import t from 'tap'
import { Page } from '../../../src/kernel/text/page.ts'
import { pageBytes } from '../../../src/kernel/text/page-slots.ts'
import { Text } from '../../../src/kernel/text/text.ts'

/** Two fillers do not fit in one slab. */
const filler = 'x'.repeat(40 * 2 ** 20)

/** Returns a text of two slabs, with the entries alternating between them. */
function twoSlabs(texts: string[]): { text: Text; addresses: number[] } {
  const text = new Text()
  const addresses: number[] = []
  for (const [i, each] of texts.entries()) if (i % 2 === 0) addresses[i] = text.append(each)
  text.append(filler)
  text.append(filler)
  for (const [i, each] of texts.entries()) if (i % 2 === 1) addresses[i] = text.append(each)
  return { text, addresses }
}

const texts = ['aé€🦊z', '"content":"second"', '', 'third', '€'.repeat(5000)].map((s) => `${s}!`)
const { text, addresses } = twoSlabs(texts)
const page = new Page(text)
const ascii = fc.string({ minLength: 0, maxLength: 60, size: 'max', unit: 'grapheme-ascii' })
const part = fc.oneof(
  ascii.map((text) => ({ text })),
  fc.record({ entry: fc.nat(texts.length - 1), from: fc.nat(6), cut: fc.nat(6) }),
)

t.test('page: texts and entries of any slab: put together: the bytes of all', async () => {
  const home = fc.nat(texts.length - 1)
  const room = fc.constantFrom(0, pageBytes, 3 * pageBytes) // at home, or in a buffer of its own
  const property = fc.property(
    fc.array(part, { maxLength: 40, size: 'max' }),
    home,
    room,
    (parts, at, spare) => {
      const expected: Buffer[] = parts.map((each) => {
        if ('text' in each) return Buffer.from(each.text)
        const bytes = Buffer.from(texts[each.entry])
        return bytes.subarray(each.from, Math.max(each.from, bytes.length - each.cut))
      })
      const whole = Buffer.concat(expected)
      page.begin(addresses[at], whole.length + spare)
      for (const [i, each] of parts.entries()) {
        if ('text' in each) page.text(each.text)
        else page.entry(addresses[each.entry], each.from, each.from + expected[i].length)
      }
      if (!whole.equals(page.finish())) throw new Error('the page holds other bytes')
    },
  )
  fc.assert(property, { numRuns: 300 })
  for (const [i, each] of texts.entries()) {
    t.equal(text.text(addresses[i], 0, Buffer.byteLength(each)), each, 'entries are untouched')
  }
})

t.test('P2: a page as large as the scratch: filled: the first entry behind it stays', async (t) => {
  page.begin(addresses[0], pageBytes)
  page.text('y'.repeat(pageBytes))
  t.equal(page.finish().length, pageBytes)
  t.equal(text.text(addresses[0], 0, 12), texts[0])
})

t.test('P2: larger than the scratch: larger than any before: all of it', async (t) => {
  const lines = 200
  page.begin(addresses[4], lines * 15_001)
  for (let i = 0; i < lines; i++) page.entry(addresses[4], 0, 15_001)
  t.equal(Buffer.from(page.finish()).toString(), texts[4].repeat(lines))
})

t.test('P2: more is written than was announced: finished: an assertion says so', async (t) => {
  page.begin(addresses[0], 4)
  page.text('12345')
  t.throws(() => page.finish(), { code: 'ERR_ASSERTION' })
})

t.test('P1: finished: entries are appended, a slab fills: the page stays', async (t) => {
  page.begin(addresses[0], 100)
  page.text('kept until the next one begins')
  const bytes = page.finish()
  text.append(filler)
  text.append('more')
  t.equal(Buffer.from(bytes).toString(), 'kept until the next one begins')
})
