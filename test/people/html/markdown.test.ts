// Markdown: how it is rendered, that nothing in it has an effect, and that rendering takes time
// proportional to its length.

import t from 'tap'
import { linked } from '../../../src/people/html/html.ts'
import { asWritten, markdown } from '../../../src/people/html/markdown.ts'
import { isLinear } from '../../linear.ts'
import { hostileTexts, shown } from '../hostile.ts'
import { type Element, elementsOf } from '../markup.ts'

const noPath = () => null
const render = (text: string) => markdown(text, noPath).text

/** Returns the elements that a text is rendered to. */
function elementsFor(text: string): Element[] {
  const page = `<!doctype html>\n<html lang="en"><body>${text}</body></html>`
  return elementsOf(page).slice(2)
}

const isSource = (rendered: string) => rendered.startsWith('<div class="source"')
const rel = 'rel="nofollow noopener ugc"'

/** Texts with their rendered HTML. */
const rendered: Record<string, [text: string, html: string]> = {
  paragraphs: ['a\nb\n\nc', '<p dir="auto">a\nb</p><p dir="auto">c</p>'],
  emphasis: [
    '*a* **b** ~~c~~ `d`',
    '<p dir="auto"><em>a</em> <strong>b</strong> <s>c</s> <code>d</code></p>',
  ],
  'a line that ends with a backslash': ['a\\\nb', '<p dir="auto">a<br>\nb</p>'],
  headings: ['# a\n\nb\n---', '<p class="h1" dir="auto">a</p><p class="h2" dir="auto">b</p>'],
  lists: [
    '- a\n- b\n\n3. c',
    '<ul><li dir="auto">a</li><li dir="auto">b</li></ul>' +
      '<ol start="3"><li dir="auto">c</li></ol>',
  ],
  'a quote': ['> a', '<blockquote><p dir="auto">a</p></blockquote>'],
  'a fence': ['```ts\n  a < b\n```', '<pre dir="ltr">\n  a &lt; b</pre>'],
  'a fence that begins with an empty line': ['```\n\na\n```', '<pre dir="ltr">\n\na</pre>'],
  'code that may be wider than a screen': [
    `    ${'a'.repeat(37)}`,
    `<pre dir="ltr" tabindex="0">\n${'a'.repeat(37)}</pre>`,
  ],
  'a table': [
    'a|b\n-|-:\n*c*|d',
    '<div class="wide" tabindex="0"><table><thead>' +
      '<tr><th dir="auto">a</th><th class="right" dir="auto">b</th></tr></thead><tbody>' +
      '<tr><td dir="auto"><em>c</em></td><td class="right" dir="auto">d</td></tr>' +
      '</tbody></table></div>',
  ],
  links: [
    '[a *b*](https://a.example/_b_c "d") <https://c.example> <d@e.example> https://f.example/_g_.',
    `<p dir="auto"><a href="https://a.example/_b_c" ${rel}>a <em>b</em></a> (d) ` +
      `<a href="https://c.example" ${rel}>https://c.example</a> ` +
      `<a href="mailto:d@e.example" ${rel}>d@e.example</a> ` +
      `<a href="https://f.example/_g_" ${rel}>https://f.example/_g_</a>.</p>`,
  ],
  'links without an address': [
    '[a *b*]() [c](javascript:x) [d]("e") ![f]() ![g]("h")',
    '<p dir="auto">[a <em>b</em>]() [c](javascript:x) [d](&quot;e&quot;) ![f]() ' +
      '![g](&quot;h&quot;)</p>',
  ],
  'addresses with marks, in emphasis': [
    '**https://a.example/*b*c** _https://d.example/_e_',
    `<p dir="auto"><strong><a href="https://a.example/*b*c" ${rel}>https://a.example/*b*c</a>` +
      `</strong> <em><a href="https://d.example/_e" ${rel}>https://d.example/_e</a></em></p>`,
  ],
  'runs of marks that are no markup': [
    '[_________](https://a.example) *********',
    `<p dir="auto"><a href="https://a.example" ${rel}>_________</a> *********</p>`,
  ],
  'a definition, which people would not see': [
    '[a]\n\n[a]: https://a.example "do this"',
    `<p dir="auto">[a]</p><p dir="auto">[a]: <a href="https://a.example" ${rel}>` +
      'https://a.example</a> &quot;do this&quot;</p>',
  ],
  'the title of a link, and of a picture': [
    '[a](https://a.example "do <this>") ![b](https://b.example "or that")',
    `<p dir="auto"><a href="https://a.example" ${rel}>a</a> (do &lt;this&gt;) ` +
      `<a href="https://b.example" ${rel}>Picture: b</a> (or that)</p>`,
  ],
  'words behind a fence': ['```js\n1\n```', '<pre dir="ltr">\n1</pre>'],
  'more words behind a fence': ['```js do this\n1\n```', '<pre dir="ltr">\njs do this\n1</pre>'],
  'a link in a link': [
    '[a <http://b.example> c](http://d.example)',
    `<p dir="auto"><a href="http://d.example" ${rel}>a http://b.example c</a></p>`,
  ],
  'links elsewhere than to the web': [
    '[a](/b) [c](#d) [e](ftp://f.example)',
    '<p dir="auto">[a](/b) [c](#d) [e](ftp://f.example)</p>',
  ],
  pictures: [
    '![a](https://b.example/c.png) ![](https://d.example) ' +
      '[![e](https://f.example)](https://g.example)',
    `<p dir="auto"><a href="https://b.example/c.png" ${rel}>Picture: a</a> ` +
      `<a href="https://d.example" ${rel}>Picture: https://d.example</a> ` +
      `<a href="https://g.example" ${rel}>Picture: e</a></p>`,
  ],
  HTML: ['<b>a</b> &amp; &lt;', '<p dir="auto">&lt;b&gt;a&lt;/b&gt; &amp; &lt;</p>'],
  'hidden characters': ['*a\u202eb*', '<p dir="auto"><em>a[U+202E]b</em></p>'],
}
for (const [what, [text, html]] of Object.entries(rendered)) {
  t.test(`markdown: ${what}: rendered`, async (t) => t.equal(render(text), html))
}

t.test(
  'markdown: ids: links where there is a page, also in code, and never in a link',
  async (t) => {
    const [known, other] = [`thr_${'a'.repeat(32)}`, `msg_${'b'.repeat(32)}`]
    const pathOf = (id: string) => (id === known ? `/t/${id}` : null)
    const link = `<a href="/t/${known}">${known}</a>`
    const text = `${known}, \`${known}\` x${known} ${known}0 ${other} [${known}](https://a.example)`
    t.equal(
      markdown(text, pathOf).text,
      `<p dir="auto">${link}, <code>${link}</code> x${known} ${known}0 ${other} ` +
        `<a href="https://a.example" ${rel}>${known}</a></p>`,
    )
    t.equal(linked(`https://a.example/${known}`, pathOf).match(/<a /g)?.length, 1)
  },
)

t.test('markdown: a text without markup: as if the parser had read it', async (t) => {
  const plain = 'One line, and\nanother one.\n\nhttps://a.example/b-c?d=e (f) 1.5% "g"!\n\n\nh'
  t.equal(render(plain), render(`${plain}\n\n<`).replace('<p dir="auto">&lt;</p>', ''))
})

for (const [i, text] of hostileTexts.entries()) {
  const name = `${i}, ${JSON.stringify(text.slice(0, 40)).replaceAll(/[^\x20-\x7e]|#/g, '?')}`
  t.test(`markdown: hostile ${name}: structure and links to the web, nothing else`, async (t) => {
    for (const { name, attributes } of elementsFor(render(text))) {
      t.notMatch(name, /^(?:h\d|form|input|script|link|meta)$/)
      t.notOk('id' in attributes)
      if (name !== 'a') continue
      t.equal(attributes.rel, 'nofollow noopener ugc')
      t.match(attributes.href, /^(?:https?:\/\/|mailto:)[^\s"'<>]+$/i)
      t.ok(URL.canParse(attributes.href!))
    }
    const [source] = elementsFor(asWritten(text, noPath).text)
    t.equal(source!.text, shown(text), 'its source is whole')
  })
}

t.test('markdown: nested deeper than it is rendered: as it was written', async (t) => {
  t.notOk(isSource(render(`${'> '.repeat(10)}a`)))
  const deep = `${'> '.repeat(40)}a`
  t.match(render(deep), /^<div class="source" dir="auto">&gt; &gt; /)
})

/** Markdown as dense as people and agents write it at most. */
const dense = `## What happened

The build of **pages** failed after \`3c1f2a\`: see https://ci.example/run/12 and the log.

1. Start the node with \`--readers auto\`
2. Post *one* message, and read it back

\`\`\`ts
await forum.reply(thread, 'hello')
\`\`\`

| run | result | time |
|---|---|---|
| 1 | ok | 12 ms |

> It was so before, too.

- [the fix](https://git.example/commit/3)

`

const repeat = (part: string) => (length: number) =>
  part.repeat(Math.ceil(length / part.length)).slice(0, length)

/** Texts in which a parser may read the same parts again and again. */
const attacks: Record<string, (length: number) => string> = {
  'dense Markdown': repeat(dense),
  'emphasis that opens': repeat('*a '),
  'emphasis that closes': repeat('a*'),
  'marks of all kinds': repeat('_a*b~~c'),
  'a run of marks': repeat('*'),
  'runs of marks': repeat('~~~a~~~'),
  'brackets that open': repeat('['),
  'nested brackets': (length) => '['.repeat(length / 2) + ']'.repeat(length / 2),
  addresses: repeat('*http://a_b*'),
  'links without an end': repeat('[a]('),
  'addresses without an end': repeat('[a](<b'),
  'titles without an end': repeat('[a](b "'),
  'pictures without an end': repeat('!['),
  'nested pictures': (length) => '!['.repeat(length / 6) + '](x)'.repeat(length / 6),
  'runs of backquotes': (length) => {
    const runs = Array.from({ length: Math.sqrt(2 * length) }, (_, i) => '`'.repeat(i + 1))
    return runs.join(' ').slice(0, length)
  },
  'code in labels': repeat('[`a'),
  'nested quotes': repeat('>'),
  'lines of nested quotes': repeat(`${'> '.repeat(10)}a\n`),
  'nested lists': repeat('- '),
  'lists, deeper by each line': (length) => {
    const lines = Array.from({ length: 200 }, (_, i) => `${' '.repeat(2 * (i % 12))}- a\n`)
    return repeat(lines.join(''))(length)
  },
  items: repeat('- a\n'),
  'items with paragraphs': repeat('- a\n\n  b\n\n'),
  definitions: repeat('[a]: x\n'),
  'definitions without an end': repeat('[a]: x "\n'),
  'labels without an end': repeat('[a\n'),
  references: (length) => `[a]: http://b.c\n\n${repeat('[a]')(length - 17)}`,
  'references to nothing': (length) => `[a]: http://b.c\n\n${repeat('[b][c]')(length - 17)}`,
  'a table as wide as long': (length) => {
    const width = Math.sqrt(length)
    return `${'|'.repeat(width)}a|\n${'|-'.repeat(width)}|\n${repeat('a\n')(length - 3 * width)}`
  },
  'a row of a table with a gap': (length) => `a|b\n-|-\nc${repeat(' ')(length - 10)}d`,
  'a table whose delimiters have a gap': (length) => `a|b\n-${repeat(' ')(length - 6)}-`,
  'tables that end at once': repeat('|a|\n|-|\n# b\n'),
  tables: repeat('|a|b|\n|-|-|\n|c|d|\n\n'),
  paragraphs: repeat('*\n\n'),
  'lines of one paragraph': repeat('_\n'),
  headings: repeat('# a\n'),
  'underlined headings': repeat('a\n=\n'),
  rules: repeat('---\n\n'),
  fences: repeat('```\n'),
  'fences in quotes': repeat('> ```\n'),
  'angles that open': repeat('<a:'),
  'addresses in angles': repeat('<a@b.c>'),
  entities: repeat('&amp;'),
  'entities without an end': repeat('&a'),
  escapes: repeat('\\*'),
  'quotes that go on': (length) => repeat('> a\n')(length / 2) + repeat('b\n')(length / 2),
  'ids of all kinds': repeat(`*thr_${'a'.repeat(32)}* `),
  'empty lines': repeat('\n \n*'),
}
/** The length of the longest message that the interface accepts. A quarter is measured as well. */
const longest = 8_000
for (const [what, make] of Object.entries(attacks)) {
  t.test(`markdown: ${what}, up to the longest message: time grows with the length`, async (t) => {
    t.ok(isLinear((length) => void Buffer.from(render(make(length))), longest / 4))
  })
}

t.test('markdown: what people write, of the greatest length: never as its source', async (t) => {
  t.notOk(isSource(render(attacks['dense Markdown']!(longest))))
})
