// Templates: whatever is inserted remains text.

import t from 'tap'
import { placesOf } from '../../../src/forum/search/excerpt.ts'
import { parseQuery } from '../../../src/forum/search/query.ts'
import { html, linked, marked } from '../../../src/people/html/html.ts'
import { isLinear } from '../../linear.ts'
import { hidden, hostileTexts, shown } from '../hostile.ts'
import { type Element, elementsOf } from '../markup.ts'

const linkedText = (text: string) => linked(text, () => null)

/** Returns the elements of a page with this body, without those that every page has. */
function bodyOf(text: string): Element[] {
  const page = `<!doctype html>\n<html lang="en"><body>${text}</body></html>`
  return elementsOf(page).slice(2)
}

for (const [i, text] of hostileTexts.entries()) {
  const name = `${i}, ${JSON.stringify(text.slice(0, 40)).replaceAll(/[^\x20-\x7e]|#/g, '?')}`
  t.test(`html: inserted ${name}: one text, in an element and in an attribute`, async (t) => {
    const found = bodyOf(html`<p class="${text}">${text}</p>`.text)
    t.same(found, [{ name: 'p', attributes: { class: shown(text) }, text: shown(text) }])
  })

  t.test(`links: in ${name}: lead only to http addresses, and nothing is lost`, async (t) => {
    const [outer, ...links] = bodyOf(`<p>${linkedText(text)}</p>`)
    t.equal(outer!.text, shown(text))
    for (const { name, attributes, text: label } of links) {
      t.equal(name, 'a')
      t.same(attributes, { href: label, rel: 'nofollow noopener ugc' })
      t.match(new URL(label).protocol, /^https?:$/)
      t.notMatch(label, /["'<>\s]|\[U\+/)
    }
  })
}

t.test('html: lists, numbers and HTML of templates: inserted unchanged', async (t) => {
  const items = ['a', '<b>'].map((each) => html`<li>${each}</li>`)
  t.equal(html`<ol>${items}</ol>${7}`.text, '<ol><li>a</li><li>&lt;b&gt;</li></ol>7')
})

for (const [i, text] of hostileTexts.entries()) {
  const name = `${i}, ${JSON.stringify(text.slice(0, 40)).replaceAll(/[^\x20-\x7e]|#/g, '?')}`
  t.test(`marks: in ${name}: enclose what is asked for, and nothing is lost`, async (t) => {
    const query = parseQuery('alert evil.example 1 \u2764 \u4e00 "x x"')!
    const places = placesOf(text, query, 100)
    const [outer, ...marks] = bodyOf(`<p>${marked(text, places).text}</p>`)
    t.equal(outer!.text, shown(text))
    t.same(
      marks.map(({ name, text }) => ({ name, text })),
      places.map(({ start, end }) => ({ name: 'mark', text: shown(text.slice(start, end)) })),
    )
  })
}

t.test('marks: beside a selector of an emoji: leave it with its emoji', async (t) => {
  const heart = '\u2764\ufe0f'
  t.equal(marked(heart, [{ start: 0, end: 1 }]).text, '<mark>\u2764</mark>\ufe0f')
  t.equal(marked('a<b', []).text, 'a&lt;b')
})

t.test('links: an address in a sentence: ends before its punctuation', async (t) => {
  const hrefs = (text: string) =>
    bodyOf(`<p>${linkedText(text)}</p>`).flatMap(({ attributes }) => attributes.href ?? [])
  t.same(hrefs('See https://a.example/b. Or (http://c.example)? "https://d.example/e?f=g&h#i";'), [
    'https://a.example/b',
    'http://c.example',
    'https://d.example/e?f=g&h#i',
  ])
  t.same(hrefs('ftp://a.example mailto:b@c.example //d.example www.e.example https://'), [])
})

t.test('links: what is too long to be one: stays text, and is parsed by nobody', async (t) => {
  const isLink = (address: string) => linkedText(address).startsWith('<a ')
  const label = 'a'.repeat(63)
  t.ok(isLink(`http://${label}.${label}.${label}.example:8080/a?b`))
  t.notOk(isLink(`http://${label}a.example`))
  t.notOk(isLink(`http://${`${label}.`.repeat(4)}example/`))
  t.ok(isLink(`http://a.example/${'b'.repeat(1_900)}`))
  t.notOk(isLink(`http://a.example/${'b'.repeat(2_000)}`))
})

t.test('hidden characters: every one is shown as its code, others as they are', async (t) => {
  const wrong: string[] = []
  for (let point = 0; point < 0x110000; point++) {
    const isHidden = hidden.some(([from, to]) => point >= from && point <= to)
    const isMarkup = point < 0x80 && `&<>"'`.includes(String.fromCodePoint(point))
    const text = linkedText(`a${String.fromCodePoint(point)}b`)
    if (text.startsWith('a[U+') !== isHidden && !isMarkup) wrong.push(point.toString(16))
  }
  t.same(wrong, [])
})

t.test('emoji: the character that selects them is ordinary behind them only', async (t) => {
  const ordinary = [
    '\u2764\ufe0f',
    '#\ufe0f\u20e3',
    '\u{1f575}\u{1f3fd}\ufe0f\u200d\u2642\ufe0f',
    '\u00a9\ufe0f',
  ]
  for (const text of ordinary) t.equal(linkedText(text), text)
  t.equal(linkedText('1\ufe0f2'), '1[U+FE0F]2')
  t.equal(linkedText('\u2764\ufe0f\ufe0f'), '\u2764\ufe0f[U+FE0F]')
  t.equal(linkedText('\u2764\ufe0e'), '\u2764[U+FE0E]')
})

const ideographs = (from: number, length: number) =>
  String.fromCodePoint(...Array.from({ length }, (_, i) => 0x4e00 + ((from + i) % 20_000)))

/** Repetitive texts, which are costly if each part is compared with each other part. */
const repeated: Record<string, (length: number) => string> = {
  'punctuation behind an address': (length) => `http://a${'.'.repeat(length)}x`,
  'punctuation at the end': (length) => `http://a${'!'.repeat(length)}`,
  'one host of different ideographs': (length) => `http://${ideographs(0, length)}`,
  'schemes without a border': (length) => 'http://'.repeat(length / 7),
  'slashes without a scheme': (length) => '://'.repeat(length / 3),
  addresses: (length) => 'http://a.b '.repeat(length / 11),
  'backquotes that open no code': (length) => `${'`'.repeat(length)}x`,
  'ids that lead nowhere': (length) => `thr_${'a'.repeat(32)} `.repeat(length / 37),
  underscores: (length) => 'thr_'.repeat(length / 4),
  'hidden characters': (length) => '\u202e'.repeat(length),
  'selectors and emoji': (length) => '\u2764\ufe0f\ufe0f'.repeat(length / 3),
  markup: (length) => '<"\'&>'.repeat(length / 5),
  'line ends': (length) => '\r\n '.repeat(length / 3),
}
for (const [what, make] of Object.entries(repeated)) {
  t.test(`links: ${what}, 16 times as long: takes about 16 times as long`, async (t) => {
    t.ok(isLinear((length) => void Buffer.from(linkedText(make(length))), 4_000))
  })
}

t.test('markup: what no page writes: rejected by the parser', async (t) => {
  for (const wrong of [
    '<script>1</script>',
    '<p onclick="x">',
    '<p class=x></p>',
    '<p class="a" class="b"></p>',
    '<p>&nbsp;</p>',
    '<p>></p>',
    '<p></div>',
    '<p>',
    '<script src="https://evil.example/x.js"></script>',
    '<!-- x -->',
  ]) {
    t.throws(() => bodyOf(wrong), wrong)
  }
})
