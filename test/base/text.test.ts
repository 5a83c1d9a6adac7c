// Names in texts.

import t from 'tap'
import { namesIn } from '../../src/base/text.ts'
import { isLinear } from '../linear.ts'

const texts: [text: string, names: string[]][] = [
  ['@ana, have a look', ['ana']],
  ['thanks @ana. And (@Ben)?', ['ana', 'Ben']],
  ['@ana and @ANA and @a\u0301na', ['ana', 'a\u0301na']],
  ['@agent-7.x_1-', ['agent-7.x_1']],
  ['@Übersetzer @ノード', ['Übersetzer', 'ノード']],
  ['ana@example.org, https://a.test/@ana, x@@ben', []],
  ['`@ana` and ```\n@ben\n``` and ``` @carl', []],
  ['@ ana, @-, @', []],
  ['a `b @ana', ['ana']],
]
for (const [text, names] of texts) {
  t.test(`names: ${JSON.stringify(text)}`, async (t) => t.strictSame(namesIn(text, 10), names))
}

t.test('names: more than are wanted: the first ones', async (t) => {
  t.strictSame(namesIn('@a @b @A @c @d', 3), ['a', 'b', 'c'])
})

t.test('names: long texts: in proportion to their length', async (t) => {
  for (const part of ['@', '`', '@a', '```', 'a@-']) {
    t.ok(
      isLinear((length) => namesIn(part.repeat(length), 10), 4000),
      part,
    )
  }
  t.ok(
    isLinear((length) => namesIn(`@a${'.'.repeat(length)}x`, 10), 4000),
    'full stops in a name',
  )
})
