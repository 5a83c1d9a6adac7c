// Any character, for strings of fast-check: every code point except lone surrogates, which no valid
// text contains.
//
//   fc.string({ unit: codePoint, maxLength: 200 })
//
// It generates the same characters as the unit 'binary'. That unit, however, fills a map of all 1.1
// million characters as soon as a string is declared. This takes two seconds in a test that needs
// one, and every collection of the heap visits the map again.

import fc from 'fast-check'

const firstSurrogate = 0xd800
const surrogates = 0x800

/** A string of one code point. */
export const codePoint = fc
  .nat({ max: 0x10ffff - surrogates })
  .map((n) => String.fromCodePoint(n < firstSurrogate ? n : n + surrogates), numberOf)

/** The inverse mapping, which fast-check needs to shrink strings that it did not generate. */
function numberOf(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined
  if (code === undefined || text !== String.fromCodePoint(code)) throw new Error('no character')
  if (code < firstSurrogate) return code
  if (code < firstSurrogate + surrogates) throw new Error('a surrogate')
  return code - surrogates
}
