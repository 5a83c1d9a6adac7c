// Any character, for strings of fast-check: every code point except a lone surrogate, which no
// valid text has.
//
//   fc.string({ unit: codePoint, maxLength: 200 })
//
// It generates what the unit 'binary' does. That one fills a map of all 1.1 million characters as
// soon as a string is declared, which takes two seconds of a test that takes one, and every
// collection of the heap goes through it again.

import fc from 'fast-check'

const firstSurrogate = 0xd800
const surrogates = 0x800

/** A string of one code point. */
export const codePoint = fc
  .nat({ max: 0x10ffff - surrogates })
  .map((n) => String.fromCodePoint(n < firstSurrogate ? n : n + surrogates), numberOf)

/** The inverse, with which fast-check shrinks strings that it did not generate. */
function numberOf(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined
  if (code === undefined || text !== String.fromCodePoint(code)) throw new Error('no character')
  if (code < firstSurrogate) return code
  if (code < firstSurrogate + surrogates) throw new Error('a surrogate')
  return code - surrogates
}
