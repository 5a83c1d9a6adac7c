// Templates: whatever is inserted stays text.

import t from 'tap'
import { html, written } from '../../src/html/html.ts'
import { hostileTexts, shown } from '../pages/hostile.ts'
import { type Element, elementsOf } from '../pages/markup.ts'

/** The elements of a page with this body, without those that every page has. */
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
    const [outer, ...links] = bodyOf(`<p>${written(text).text}</p>`)
    t.equal(outer!.text, shown(text))
    for (const { name, attributes, text: label } of links) {
      if (name === 'code') continue
      t.equal(name, 'a')
      t.same(attributes, { href: label, rel: 'nofollow noopener' })
      t.match(new URL(label).protocol, /^https?:$/)
      t.notMatch(label, /["'<>\s]|\[U\+/)
    }
  })
}

t.test('html: lists, numbers and HTML of templates: inserted unchanged', async (t) => {
  const items = ['a', '<b>'].map((each) => html`<li>${each}</li>`)
  t.equal(html`<ol>${items}</ol>${7}`.text, '<ol><li>a</li><li>&lt;b&gt;</li></ol>7')
})

t.test('links: an address in a sentence: ends before its punctuation', async (t) => {
  const hrefs = (text: string) =>
    bodyOf(`<p>${written(text).text}</p>`).flatMap(({ attributes }) => attributes.href ?? [])
  t.same(hrefs('See https://a.example/b. Or (http://c.example)? "https://d.example/e?f=g&h#i";'), [
    'https://a.example/b',
    'http://c.example',
    'https://d.example/e?f=g&h#i',
  ])
  t.same(hrefs('ftp://a.example mailto:b@c.example //d.example www.e.example https://'), [])
})

t.test('written: fences: what is between them is code, and nothing is left out', async (t) => {
  const codeOf = (text: string) => {
    const [paragraph, ...elements] = bodyOf(`<p>${written(text).text}</p>`)
    t.equal(paragraph!.text, text)
    return elements.filter(({ name }) => name === 'code').map((element) => element.text)
  }
  t.same(codeOf('a\n```js\nlet b\n```\nc'), ['```js\nlet b\n```\n'])
  t.same(codeOf('```\n1\n```\nand\n```\n2\n```'), ['```\n1\n```\n', '```\n2\n```'])
  t.same(codeOf('```\n1\n```py\n2\n``` '), ['```\n1\n```py\n2\n``` '])
  t.same(codeOf('it begins:\n```\nand never ends'), ['```\nand never ends'])
  t.same(codeOf('a ``` in a line, ```b``` too\n ```\n'), [])
  t.same(codeOf('```\r\na\r\n```\r\nb'), ['```\r\na\r\n```\r\n'])
})

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
