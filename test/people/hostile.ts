// Texts that would have an effect if a page treated them as more than text, or their Markdown as
// more than structure.

const plainTexts: readonly string[] = [
  '<script>alert(1)</script>',
  '</title><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  "' autofocus onfocus=alert(1) x='",
  '" style="position:fixed;inset:0" x="',
  '<!-- <img src="--><img src=x onerror=alert(1)//">',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<textarea></textarea><script>alert(1)</script>',
  '</pre></div></article></main></body></html><script>alert(1)</script>',
  '<style>@import "//evil.example/x.css";</style>',
  '<base href="//evil.example/">',
  '<meta http-equiv="refresh" content="0;url=//evil.example">',
  '<iframe srcdoc="&lt;script&gt;alert(1)&lt;/script&gt;">',
  '&lt;script&gt;alert(1)&lt;/script&gt; &#x3c;script&#62; &lt',
  '{{constructor.constructor("alert(1)")()}} $\u007balert(1)} <%= 7*7 %> #{7*7}',
  'javascript:alert(1) data:text/html,<script>alert(1)</script> vbscript:msgbox(1)',
  'https://evil.example/"onmouseover="alert(1)',
  "https://evil.example/'onmouseover='alert(1)",
  'https://evil.example/<script>alert(1)</script>',
  'https://evil.example/?a=1&b=<2>&amp;c="3"',
  'http://javascript:alert(1)@evil.example/ https:// http://[ https://%zz',
  'https://evil.example/\u202egpj.exe https://\u2066evil.example\u2069/',
  'see https://forum.example/a_(b), and https://forum.example/x.',
  '\u202eright to left\u202c \u2067isolated\u2069 \u200f mark \u061c',
  'no\u200bwidth\ufeff \u2060 \u00ad \u3164 \u{e0041}\u{e0042}',
  'a variation \u{e0100}, a letter \u{10000}, half a tag \udb40',
  'control \u0000 \u0001 \u0008 \u000b \u001b[31m \u007f \u0085 \u009f',
  'tab\t and\r\nlines\nof \u2028 all \u2029 kinds',
  '\ud800 half a pair \udfff',
  '```\n</code></div><script>alert(1)</script>\n```\n<b>',
  '```<img src=x onerror=alert(1)>\n',
  'x'.repeat(8000),
  '\u202e'.repeat(2000),
  '<'.repeat(4000),
  '&'.repeat(4000),
  'https://a.example/'.repeat(300),
  'a\u0301\u0327'.repeat(500),
  `a${'\u0301\u0327'.repeat(500)}`,
  `a${'\n'.repeat(7998)}b`,
  'soft\u00adhyphen joi\u034fner \u17b4\u17b5 \u180b\u180f \ufe00 \ufff0 \u{e0fff} \u{1d173}',
  '\ufe0f1\ufe0f 1\ufe0f\u20e3 \u2764\ufe0f\ufe0f \u{1f3f3}\ufe0f\u200d\u{1f308} a\ufe0f',
  'http://a.example/\u2764\ufe0f',
  `http://a${'.'.repeat(7980)}`,
  `http://${String.fromCodePoint(...Array.from({ length: 7990 }, (_, i) => 0x4e00 + i))}`,
]

/** Attacks on whatever turns Markdown into HTML. */
export const hostileMarkdown: readonly string[] = [
  '[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](<javascript:alert(1)>)',
  '[a](&#106;avascript:alert(1)) [b](java&#x73;cript&colon;alert(1)) [c](javascript&Tab;:alert(1))',
  '[a](java\\script:alert(1)) [b]( javascript:alert(1)) [c](\u0001javascript:alert(1))',
  '[a](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==) ![b](data:image/svg+xml,<svg>)',
  '[a](vbscript:alert(1)) [b](file:///etc/passwd) [c](//evil.example/) [d](/sign-out) [e](#m1)',
  '<javascript:alert(1)> <data:text/html,<script>alert(1)</script>> <JAVASCRIPT:alert(1)>',
  '[a]: javascript:alert(1)\n[b]: data:text/html,x "title"\n\n[a] [b] [x][a] ![x][b]',
  '[a]: https://evil.example/"onmouseover="alert(1) (onfocus=alert(1))\n\n[a]',
  '[a](https://evil.example/"onmouseover="alert(1)) [b](<https://evil.example/ onfocus=alert(1)>)',
  '[a](https://evil.example/ "\' onmouseover=alert(1) x=\'") [b](https://evil.example "</a><b>")',
  '![a](https://evil.example/pixel.png) ![" onerror="alert(1)](https://evil.example/x.png)',
  '[![a](https://evil.example/a.png)](https://evil.example/b) [[a](https://c.example)](https://d)',
  '![![a](javascript:alert(1))](https://evil.example/x.svg#"><script>alert(1)</script>)',
  '[a](https://\u202egro.elpmaxe) [b](https://evil\u200b.example) [\u202ec](https://d.example)',
  '[https://bank.example/login](https://evil.example/login)',
  '[a](mailto:ana@a.example?subject=x&body="><script>) <mailto:b@b.example> <c@c.example>',
  '<div id="main"><h1>Forum</h1></div>\n\n<script>alert(1)</script>\n\n<style>*{color:red}</style>',
  'a <b onclick="alert(1)">b</b> <!-- c --> <?php d ?> <![CDATA[ e ]]>',
  '<a href="javascript:alert(1)">a</a>',
  '# Agent Forum\n## Reviews\nNot found\n=========\nReviews\n---\n###### Sign in #######',
  '# <script>alert(1)</script> {#main} {.site onclick=alert(1)}\n\n[main]: #main {#news}',
  '```html" onclick="alert(1)\n<script>alert(1)</script>\n```',
  '~~~ <img src=x onerror=alert(1)>\n</pre><script>alert(1)</script>',
  '    <script>alert(1)</script>\n\n`</code><script>alert(1)</script>` ``<img onerror=alert(1)>``',
  `${'`'.repeat(300)}\n<script>alert(1)</script>\n${'`'.repeat(299)}`,
  '| a | b |\n|:-:|--:" onclick="alert(1)|\n| c | d |',
  '| <img src=x onerror=alert(1)> | b |\n|:-:|--:|\n| </table> | `|` |',
  '1. a\n99999999999. b\n\n987654321. c\n0. d" onclick="alert(1)',
  '&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;',
  '&NotEqualTilde; &#0; &#x202e;&#x2066; &nbsp; &quot;onclick=&quot;alert(1)',
  '\\<script>alert(1)\\</script> \\[a](javascript:alert(1)) *<b>* **<i>** ~~<u>~~ _"_',
  `${'> '.repeat(11)}deep\n\n${'> '.repeat(200)}deeper\n\n${'- '.repeat(200)}a`,
  `${'['.repeat(3000)}a${']'.repeat(3000)}(javascript:alert(1))`,
  `${'!['.repeat(1000)}a${'](https://evil.example/x.png)'.repeat(100)}`,
  `|${'a|'.repeat(400)}\n|${'-|'.repeat(400)}\n${'a\n'.repeat(2000)}`,
  `<${'pre>\n'.repeat(500)}${'*_~`'.repeat(500)}`,
  'thr_00000000000000000000000000000000 msg_00000000000000000000000000000000" agt_<b>',
  '[thr_00000000000000000000000000000000](javascript:alert(1))',
  '`msg_00000000000000000000000000000000` gov_00000000000000000000000000000000<script>',
  '- [ ] <input type=checkbox onclick=alert(1)>\n- [x] b\n\n***\n\n- \u202ec\n- \u2067d',
]

export const hostileTexts: readonly string[] = [...plainTexts, ...hostileMarkdown]

/** Ranges of code points that change the order of others, are invisible, or both. */
export const hidden = [
  [0x00, 0x08],
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200b],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
] as const

/** Emoji whose last character makes them emoji, and is itself invisible. */
const emoji = /[0-9#*]\ufe0f\u20e3|(?![0-9#*])\p{Emoji}\ufe0f/gu

/** Returns a text as pages show it, with hidden characters replaced by their codes. */
export function shown(text: string): string {
  const selectors = new Set(
    [...text.matchAll(emoji)].map((found) => found.index + found[0].indexOf('\ufe0f')),
  )
  let index = 0
  const characters = Array.from(text, (character) => {
    const point = character.codePointAt(0)!
    const isHidden = hidden.some(([from, to]) => point >= from && point <= to)
    const isShown = !isHidden || selectors.has(index)
    index += character.length
    return isShown ? character : `[U+${point.toString(16).toUpperCase().padStart(4, '0')}]`
  })
  return characters.join('')
}
