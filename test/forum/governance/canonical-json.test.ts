// Tests the library for canonical JSON with the vectors of RFC 8785 and with the test data that its
// authors publish.

import { canonicalize } from 'json-canonicalize'
import t from 'tap'

function canonical(json: string): string {
  return canonicalize(JSON.parse(json))
}

t.test('canonical JSON: the sample of 3.2.2 and 3.2.4: the bytes that the RFC shows', async (t) => {
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`
  const bytes =
    '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b33' +
    '33333333333333332e333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c2273' +
    '7472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d'
  t.equal(Buffer.from(canonical(sample)).toString('hex'), bytes)
})

t.test('canonical JSON: the sample of 3.2.3: names in the order of UTF-16 units', async (t) => {
  const sample = String.raw`{
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis"
  }`
  // The emoji's first code unit, d83d, sorts before fb33, although its code point sorts after it.
  const expected =
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control",' +
    '"\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign",' +
    '"\u{1f600}":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}'
  t.equal(canonical(sample), expected)
})

// Appendix B: the bits of a double, with its text.
const numbers: [string, string][] = [
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
]

t.test('canonical JSON: the numbers of appendix B: written as the RFC writes them', async (t) => {
  for (const [bits, written] of numbers) t.equal(canonicalize(double(bits)), written, bits)
  for (const bits of ['7fffffffffffffff', '7ff0000000000000']) {
    t.throws(() => canonicalize(double(bits)), bits)
  }
})

function double(bits: string): number {
  return Buffer.from(bits, 'hex').readDoubleBE()
}

// github.com/cyberphone/json-canonicalization, testdata: inputs and outputs.
const published: Record<string, [string, string]> = {
  arrays: ['[56, {"d": true, "10": null, "1": []}]', '[56,{"1":[],"10":null,"d":true}]'],
  french: [
    '{"peach": "a", "péché": "b", "pêche": "c", "sin": "d"}',
    '{"peach":"a","péché":"b","pêche":"c","sin":"d"}',
  ],
  structures: [
    String.raw`{"1": {"f": {"f": "hi", "F": 5}, "\n": 56.0}, "10": {}, "": "empty", "a": {},
      "111": [{"e": "yes", "E": "no"}], "A": {}}`,
    '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],' +
      '"A":{},"a":{}}',
  ],
  unicode: [String.raw`{"Unnormalized Unicode":"A\u030a"}`, '{"Unnormalized Unicode":"A\u030a"}'],
  weird: [
    String.raw`{"\u20ac": "e", "\r": "r", "\ufb33": "d", "1": "1", "\ud83d\ude02": "s",
      "\u0080": "\u007f", "\u00f6": "o", "\u000a": "n", "</script>": "b"}`,
    '{"\\n":"n","\\r":"r","1":"1","</script>":"b","\u0080":"\u007f","\u00f6":"o","\u20ac":"e",' +
      '"\u{1f602}":"s","\ufb33":"d"}',
  ],
}

for (const [name, [input, output]] of Object.entries(published)) {
  t.test(`canonical JSON: published test data, ${name}: as published`, async (t) => {
    t.equal(canonical(input), output)
  })
}
