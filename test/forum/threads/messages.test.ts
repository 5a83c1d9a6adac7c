import fc from 'fast-check'
import t from 'tap'
import { Messages } from '../../../src/forum/threads/messages.ts'
import { Page } from '../../../src/kernel/text/page.ts'
import { Text } from '../../../src/kernel/text/text.ts'
import { codePoint } from '../../code-point.ts'

const author = 'a'.repeat(32)
const threadId = `thr_${'b'.repeat(32)}`
const signatureOf = (name: string) =>
  `"author_id":"agt_${author}","display_name":${JSON.stringify(name)},"kind":"guest"`

function newMessages() {
  const text = new Text()
  return { page: new Page(text), messages: new Messages(text) }
}

const { page, messages } = newMessages()

const own = { author: 3, thread: 5, at: 99 }

function add(
  content: string,
  name = 'Ana',
  seq = 17,
  mentionIds: string[] = [],
  type?: string,
): { message: number; signature: string } {
  const signature = signatureOf(name)
  const id = seq.toString(16).padStart(32, '0')
  const escapedContent = JSON.stringify(content)
  const message = messages.add({ id, seq, ...own, signature, escapedContent, mentionIds, type })
  return { message, signature }
}

function hasContent(message: number, content: string, signature: string): boolean {
  return messages.isSame(message, signature, { content, mentionIds: [] })
}

function written(write: (page: Page) => void): string {
  page.begin(messages.address(0), 200_000)
  write(page)
  return Buffer.from(page.finish()).toString()
}

const anyText = fc.string({ unit: codePoint, minLength: 1, maxLength: 100, size: 'max' })
const anySeq = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })

t.test('M2: any content and name: written to a page: the message, as JSON', async (t) => {
  const property = fc.property(anyText, anyText, anySeq, (content, name, seq) => {
    const { message } = add(content, name, seq)
    const text = written((target) => messages.write(target, message, true))
    const id = `msg_${seq.toString(16).padStart(32, '0')}`
    const by = { author_id: `agt_${author}`, display_name: name, kind: 'guest' }
    const expected = JSON.stringify({ seq, id, ...by, content, created_at: 99 })
    if (text !== expected) throw new Error(`${text} is not ${expected}`)
    const second = written((target) => messages.write(target, message, false))
    if (second !== `,${expected}`) throw new Error('there is no comma before a later one')
    if (messages.bytes(message) !== Buffer.byteLength(second)) throw new Error('other bytes')
    const ids = `id":"${id}","author_id":"${by.author_id}"`
    const found = messages.ids(message, by.author_id)
    if (found !== ids) throw new Error(`${found} is not ${ids}`)
  })
  fc.assert(property)
  t.ok(messages.count >= 100)
})

t.test('M2: any message: as a feed item: its id, author, thread and time, as JSON', async () => {
  const property = fc.property(anyText, anySeq, (content, seq) => {
    const { message } = add(content, 'Ana', seq)
    const text = messages.feedItem(message, `agt_${author}`, threadId)
    const id = `msg_${seq.toString(16).padStart(32, '0')}`
    const by = { author_id: `agt_${author}`, thread_id: threadId, created_at: 99 }
    const expected = JSON.stringify({ seq, message_id: id, ...by })
    if (text !== expected) throw new Error(`${text} is not ${expected}`)
  })
  fc.assert(property)
})

const idsOf = (numbers: number[]) => numbers.map((n) => `agt_${n.toString(16).padStart(32, '0')}`)
const anyType = fc.constantFrom(undefined, 'question', 'bug', 'bug-report')
const anyMentions = fc.uniqueArray(fc.nat(20), { maxLength: 10, size: 'max' }).map(idsOf)

t.test('M2: any mentions: written to a page: after the time, and absent when none', async () => {
  const property = fc.property(anyText, anyMentions, (content, mentions) => {
    const { message } = add(content, 'Ana', 17, mentions)
    const written_ = JSON.parse(written((target) => messages.write(target, message, true)))
    const expected = mentions.length === 0 ? undefined : mentions
    if (JSON.stringify(written_.mention_ids) !== JSON.stringify(expected)) {
      throw new Error(JSON.stringify(written_))
    }
  })
  fc.assert(property)
})

t.test('content: any, with any mentions: compared: equal to its own, to no other', async () => {
  const property = fc.property(anyText, anyMentions, anyMentions, (content, mentionIds, other) => {
    const { message, signature } = add(content, 'Ana', 17, mentionIds)
    const same = (content: string, mentionIds: string[]) =>
      messages.isSame(message, signature, { content, mentionIds })
    if (!same(content, mentionIds)) throw new Error('its own is not known')
    for (const wrong of [other, mentionIds.toReversed(), mentionIds.slice(1), []]) {
      const isWrong = JSON.stringify(wrong) !== JSON.stringify(mentionIds)
      if (isWrong && same(content, wrong)) throw new Error(`it mentions ${wrong} too`)
    }
    if (same(`${content}.`, mentionIds)) throw new Error('it has another content too')
  })
  fc.assert(property)
})

t.test('type: any, or none: written, chosen and compared: only its own', async () => {
  const property = fc.property(
    anyText,
    anyMentions,
    anyType,
    anyType,
    (content, mentionIds, type, other) => {
      const { message, signature } = add(content, 'Ana', 17, mentionIds, type)
      const text = written((target) => messages.write(target, message, true))
      if (JSON.parse(text).type !== type) throw new Error(text)
      const isSame = type === other
      if (messages.isSame(message, signature, { content, mentionIds, type: other }) !== isSame) {
        throw new Error(`${type} is compared with ${other}`)
      }
      const isChosen = other === undefined || isSame
      if (messages.ofType(other)(message) !== isChosen) throw new Error(`${other} chooses ${type}`)
      if (messages.ofType('unknown')(message)) throw new Error('an unknown type chooses it')
    },
  )
  fc.assert(property)
})

t.test('content: any: compared: equal to its own, and to no other', async () => {
  const property = fc.property(anyText, anyText, anyText, (content, other, name) => {
    const { message, signature } = add(content, name)
    if (!hasContent(message, content, signature)) throw new Error('its own is not known')
    for (const wrong of [other, content + other, content.slice(0, -1), other + content]) {
      if (wrong === content) continue
      if (hasContent(message, wrong, signature)) throw new Error(`it has ${wrong} too`)
    }
  })
  fc.assert(property)
})

// Pairs of contents whose bytes could be mistaken for each other.
const pairs: [string, string][] = [
  ['hello', 'hell'],
  ['hell', 'hello'],
  ['hello","created_at":99', 'hello'],
  ['hello', 'hello","created_at":99'],
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\n', 'n'],
  ['é', 'e'],
  ['e\u0301', 'é'],
  ['🦊', '\ufffd'],
  ['🦊🦊', '🦊'],
  ['€', '\ufffd'],
  ['a\u0000', 'a'],
]

for (const [content, other] of pairs) {
  const name = `content: ${JSON.stringify(content)}: with ${JSON.stringify(other)}: different`
  t.test(name, async (t) => {
    const { message, signature } = add(content)
    t.equal(hasContent(message, content, signature), true)
    t.equal(hasContent(message, other, signature), false)
  })
}

t.test('M2: 8,000 characters of six bytes each: added: kept completely', async (t) => {
  const content = '\u0001'.repeat(8000)
  const { message, signature } = add(content, '\u0001'.repeat(80), Number.MAX_SAFE_INTEGER)
  t.ok(messages.bytes(message) > 48_000)
  t.ok(hasContent(message, content, signature))
  const text = written((target) => messages.write(target, message, true))
  t.equal(JSON.parse(text).content, content)
})

t.test('M1: added in turn: numbers, seqs and times increase together', async (t) => {
  const { messages } = newMessages()
  const common = {
    author: 0,
    signature: signatureOf('Ana'),
    thread: 1,
    escapedContent: '"x"',
    mentionIds: [],
  }
  for (const seq of [2, 3, 9]) {
    const id = seq.toString(16).padStart(32, '0')
    t.equal(messages.add({ id, seq, at: seq * 10, ...common }), messages.count - 1)
  }
  t.same(
    [0, 1, 2].map((n) => [messages.seq(n), messages.createdAt(n)]),
    [
      [2, 20],
      [3, 30],
      [9, 90],
    ],
  )
  t.same([messages.author(1), messages.thread(1)], [0, 1])
})
