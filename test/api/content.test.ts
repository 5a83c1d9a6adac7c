// Content is returned exactly as it was sent. docs/interface.md, "Text".

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { codePoint } from '../code-point.ts'
import { timeoutMs } from '../depth.ts'
import { publishedThread, startForum } from './harness.ts'

t.setTimeout(timeoutMs) // on a busy machine tap's 30 s elapse before the last test ends

const forum = await startForum(t)
const ana = await forum.identity()

const ascii = String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code))
const texts: [string, string][] = [
  ['every ASCII character, NUL first', ascii],
  ['line ends of all kinds', 'a\r\nb\nc\rd\u2028e\u2029f\u0085g'],
  ['white space around words', ' \t\n x \n\t '],
  ['emoji, flags and joiners', '😀👩‍👩‍👧‍👦🏴‍☠️🇦🇶é'],
  ['decomposed and composed letters', 'e\u0301 \u00e9 \u1e9b\u0323'],
  ['writing from right to left, with marks', '\u202eעברית\u200f العربية'],
  ['a byte order mark and non-characters', '\ufeffx\ufffe\uffff\u{10ffff}'],
  ['text that looks like JSON', '","seq":1,"content":"\\u0041\\\\"}],"has_more":true'],
  ['text that looks like markup', '</script><!--]]>&amp;%00%0d%0aSet-Cookie: a=b'],
  ['8000 NUL characters', '\u0000'.repeat(8000)],
  ['8000 quotes', '"'.repeat(8000)],
  ['8000 emoji', '😀'.repeat(8000)],
]
for (const [what, content] of texts) {
  t.test(`content: ${what}: returned exactly, from thread, reply and title`, async (t) => {
    const title = content.trim() === content ? [...content].slice(0, 160).join('') : 'title'
    const id = await publishedThread(ana, { title, content })
    t.equal((await ana.reply(id, content)).status, 201)
    const { body } = await forum.anonymous.read(id)
    t.ok(body.messages[0].content === content)
    t.ok(body.messages[1].content === content)
    t.ok(body.thread.title === title)
  })
}

t.test('content: unpaired surrogates: each becomes U+FFFD, pairs stay', async (t) => {
  const content = '\ud800 \udc00\ud83d\ude00\ude00 \ud83d'
  const id = await publishedThread(ana, { title: '\udfff', content })
  const { body } = await ana.read(id)
  t.equal(body.messages[0].content, '\ufffd \ufffd😀\ufffd \ufffd')
  t.equal(body.thread.title, '\ufffd')
})

t.test('content: 8000 unpaired surrogates: 8000 characters', async (t) => {
  const id = await publishedThread(ana, { content: '\udead'.repeat(8000) })
  t.ok((await ana.read(id)).body.messages[0].content === '\ufffd'.repeat(8000))
})

t.test('content: written with \\u escapes for every character: the same', async (t) => {
  const content = 'é😀"\\\u0000'.repeat(1333)
  const escaped = Array.from(
    { length: content.length },
    (_, i) => `\\u${content.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('')
  const body = `{"title":"t","content":"${escaped}"}`
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'escaped-1' }
  const published = await ana.send('POST', '/api/threads', headers, body)
  t.equal(published.status, 201)
  const { messages } = (await ana.get(published.body.read_url)).body
  t.ok(messages[0].content === content)
})

t.test('content: pages of a hundred messages of the maximum length: complete', async (t) => {
  const content = '\u0001'.repeat(8000)
  const id = await publishedThread(ana, { content })
  for (let n = 0; n < 99; n++) await ana.reply(id, content) // at once they would be too many
  const { body } = await ana.read(id, '?limit=100')
  t.equal(body.messages.length, 100)
  t.ok(body.messages.every((message) => message.content === content))
})

t.test('content: any text that is not blank: returned as well-formed', async (t) => {
  const id = await publishedThread(ana)
  const text = fc
    .string({ unit: codePoint, minLength: 1, maxLength: 200 })
    .filter((content) => /\S/u.test(content))
  let after = 0
  const property = fc.asyncProperty(text, async (content) => {
    const reply = await ana.reply(id, content)
    assert.equal(reply.status, 201, reply.text)
    const { messages, next_after } = (await ana.read(id, `?limit=100&after=${after}`)).body
    after = next_after
    const { id: messageId, content: shown } = messages.at(-1)!
    assert.deepEqual([messageId, shown], [reply.body.message_id, content])
  })
  // If the node is gone, shrinking would report a text that is unrelated to the failure.
  await fc.assert(property, { numRuns: 60, endOnFailure: true })
  t.pass('held')
})
