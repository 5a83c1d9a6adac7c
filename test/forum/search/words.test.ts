// The words of a text, the words that a query finds among them, and the content of an excerpt.

import fc from 'fast-check'
import t from 'tap'
import { excerptCharactersMax } from '../../../src/base/text.ts'
import { excerptOf, placesOf } from '../../../src/forum/search/excerpt.ts'
import { matchOf, parseQuery } from '../../../src/forum/search/query.ts'
import { eachWord, notOfWords, spacedWords, wordsOf } from '../../../src/forum/search/words.ts'
import { isLinear } from '../../linear.ts'

t.test(
  'words: texts of any language: case, diacritics and punctuation do not matter',
  async (t) => {
    const texts: Record<string, string[]> = {
      'TypeError: x is not a function': ['typeerror', 'x', 'is', 'not', 'a', 'function'],
      'E42 foo_bar a.b.c --force': ['e42', 'foo', 'bar', 'a', 'b', 'c', 'force'],
      'https://forum.example/a?b=1#c': ['https', 'forum', 'example', 'a', 'b', '1', 'c'],
      'Crème BRÛLÉE': ['creme', 'brulee'],
      'Łódź đang Ø Straße İSTANBUL ısı': ['lodz', 'dang', 'o', 'strasse', 'istanbul', 'isi'],
      'ΟΔΟΣ οδος Ёлка': ['οδοσ', 'οδοσ', 'елка'],
      'ﬁ １２３ ⒈ ½': ['fi', '123', '1', '12'],
      'שָׁלוֹם مُحَمَّد': ['שלום', 'محمد'],
      'हिन्दी में': ['हिन्दी', 'में'],
      機械学習: ['機', '械', '学', '習'],
      'ガ ｶﾞ が か': ['ガ', 'ガ', 'が', 'か'],
      한국어를: ['한', '국', '어', '를'],
      iPhone手机2: ['iphone', '手', '机', '2'],
      กำลัง: ['ก', 'ํา', 'ลั', 'ง'],
      '👍🏽 👩‍💻 🇩🇪 ❤️': ['👍', '👩', '💻', '🇩🇪', '❤'],
      '1️⃣': ['1'],
      '': [],
      ' \u0301 ': [],
    }
    for (const [text, words] of Object.entries(texts)) t.same(wordsOf(text), words, text)
  },
)

t.test('words: any text: consist of what the index never divides', async (t) => {
  const allowed = /^[a-z0-9\u0080-\uffff]+$/
  for (let point = 0; point < 0x20000; point++) {
    const text = String.fromCodePoint(point)
    if (/\p{Cs}/u.test(text)) continue
    for (const word of wordsOf(`a ${text}b`)) {
      if (!allowed.test(word) || word.includes(notOfWords))
        t.fail(`U+${point.toString(16)}: ${word}`)
    }
  }
})

t.test('words: in ASCII: the text as it is has the same for the index', async (t) => {
  t.equal(spacedWords('Foo_bar: "x"'), 'Foo_bar: "x"')
  t.equal(spacedWords('Foo_bär'), 'foo bar')
})

t.test('words: when visited: are told where they stand', async (t) => {
  const text = 'ça: 机器 x'
  const places: string[] = []
  eachWord(text, (word, start, end) => {
    places.push(`${word}=${text.slice(start, end)}`)
    return true
  })
  t.same(places, ['ca=ça', '机=机', '器=器', 'x=x'])
})

t.test('query: whatever is typed: is words, phrases and exclusions', async (t) => {
  const queries: [string, string[], string[]][] = [
    ['error E42', ['error', 'e42'], []],
    ['"x is not" -js', ['x is not'], ['js']],
    ['foo_bar', ['foo', 'bar'], []],
    ['-foo_bar x', ['x'], ['foo bar']],
    ['-"a b" x', ['x'], ['a b']],
    ['x "open end', ['x', 'open end'], []],
    ['a"b c"d', ['a', 'b c', 'd'], []],
    ['--force -5 - - x', ['force', 'x'], ['5']],
    ['well-known', ['well', 'known'], []],
    [
      'a OR b NOT (c*) AND NEAR(d e, 2) ^f {g}: +h',
      'a or b not c and near d e 2 f g h'.split(' '),
      [],
    ],
    ['same SAME "same"', ['same'], []],
    ['"words": \'quoted\'', ['words', 'quoted'], []],
    ['👍 c++', ['👍', 'c'], []],
  ]
  for (const [text, all, none] of queries) {
    const query = parseQuery(text)
    t.same(
      query?.all.map((term) => term.join(' ')),
      all,
      text,
    )
    t.same(
      query?.none.map((term) => term.join(' ')),
      none,
      text,
    )
  }
  for (const text of ['-a', '!?', '""', '-"a b"', ' ', '- -x'])
    t.equal(parseQuery(text), null, text)
})

t.test('query: in scripts without spaces: has the words of the language, whole', async (t) => {
  t.same(parseQuery('"機械学習"')!.all, [['機', '械', '学', '習']])
  t.same(parseQuery('한국어')!.all, [['한', '국', '어']])
  const words = parseQuery('机器学习')!.all.map((term) => term.join(''))
  t.equal(words.join(''), '机器学习')
  t.ok(words.length < 4, 'characters of one word are together')
  t.same(parseQuery('iPhone手')!.all, [['iphone'], ['手']])
})

t.test('query: for the index: has nothing but words in quotes', async (t) => {
  const query = parseQuery('a "b c" -d -e_f')!
  t.equal(matchOf(query, []), '("a" AND "b c") NOT ("d" OR "e f")')
  t.equal(matchOf(parseQuery('a')!, ['\ue000t1']), '"\ue000t1" AND "a"')
})

t.test('excerpt: around the first match: is a part of the text, of bounded length', async (t) => {
  const query = parseQuery('needle')!
  const long = `${'lorem ipsum '.repeat(50)}Needle ${'dolor '.repeat(100)}`
  const excerpt = excerptOf(long, query)
  t.ok(long.includes(excerpt))
  t.ok(excerpt.includes('Needle'))
  t.equal([...excerpt].length, excerptCharactersMax)
  t.match(excerpt, /^(lorem|ipsum)/, 'it begins with a whole word')
  t.equal(excerptOf('short', query), 'short', 'without a match it is the beginning')
  t.equal(excerptOf('short', null), 'short')
  const astral = '😀'.repeat(400)
  t.equal([...excerptOf(`${astral} needle`, query)].length, 80 + 6, 'counted in code points')
  t.notMatch(excerptOf(`${astral}needle`, query), /^[\udc00-\udfff]/, 'never half of a character')
})

t.test('excerpt: its places: all matches of words and phrases, in order', async (t) => {
  const shown = (text: string, q: string, max = 10) =>
    placesOf(text, parseQuery(q)!, max).map(({ start, end }) => text.slice(start, end))
  t.same(shown('A Crème, a creme; cream', 'crème'), ['Crème', 'creme'])
  t.same(shown('x is not, x was not', '"x is" not'), ['x is', 'not', 'not'])
  t.same(shown('機械の学習と学習', '学習'), ['学習', '学習'])
  t.same(shown('a a a a', 'a', 2), ['a', 'a'])
})

t.test(
  'excerpt: places of terms in any text: those that a comparison word by word finds',
  async () => {
    const word = fc.constantFrom('a', 'b', 'c')
    const terms = fc.array(fc.array(word, { minLength: 1, maxLength: 5 }), { maxLength: 6 })
    await fc.assert(
      fc.property(terms, fc.array(word, { maxLength: 40 }), (all, words) => {
        const found: { start: number; end: number }[] = []
        let from = 0
        for (let end = 1; end <= words.length; end++) {
          const here = all.filter((term) => {
            const start = end - term.length
            return start >= from && term.every((each, i) => words[start + i] === each)
          })
          if (here.length === 0) continue
          const length = Math.max(...here.map((term) => term.length))
          found.push({ start: 2 * (end - length), end: 2 * end - 1 })
          from = end
        }
        t.same(placesOf(words.join(' '), { all, none: [] }, 100), found)
      }),
    )
  },
)

t.test(
  'words and excerpts: of texts made to be slow: take time in proportion to the length',
  async (t) => {
    const hostile = ['-', '"', 'a', 'a ', '\u0301', 'é', '機', '👩‍', '\u0000', ' -"', 'é-', '"a ']
    const query = parseQuery('"a a a a a a a a b" "é é é x" "機 機 機 械" zzz')!
    for (const piece of hostile) {
      const work = (length: number) => {
        const text = piece.repeat(length / piece.length)
        spacedWords(text)
        excerptOf(text, query)
        parseQuery(text.slice(0, 500)) // a longer query is not accepted
      }
      t.ok(isLinear(work, 2000), JSON.stringify(piece)) // a message has 8,000 characters at most
    }
  },
)

t.test('X1: as many more terms, and as much more text: takes as much longer', async (t) => {
  const characters = (count: number) =>
    Array.from({ length: count }, (_, i) => String.fromCodePoint(0x4e00 + 7 * i)).join(' ')
  const work = (length: number) => {
    const q = characters(length)
    excerptOf(`${'\u3042'.repeat(30 * length)} ${q}`, parseQuery(q))
  }
  t.ok(isLinear(work, 60))
  // Terms with one last word, and a long term of which all words but the first are present.
  const phrases = (length: number) => {
    const pairs = Array.from({ length }, (_, i) => `"${String.fromCodePoint(0x4e00 + 7 * i)}a"`)
    excerptOf('a '.repeat(20 * length), parseQuery(pairs.join('')))
  }
  t.ok(isLinear(phrases, 40), 'terms with the same last word')
  const long = (length: number) => {
    excerptOf('a '.repeat(20 * length), parseQuery(`"b ${'a '.repeat(length)}"`))
  }
  t.ok(isLinear(long, 100), 'a long term')
  t.ok(
    isLinear((length) => wordsOf('a\u0301'.repeat(length)), 2_000),
    'letters with marks',
  )
  t.ok(
    isLinear((length) => wordsOf(`\u3042${'\u0301'.repeat(length)}`), 4_000),
    'many marks',
  )
  t.ok(
    isLinear((length) => wordsOf('\u{1f44d}\ufe0f'.repeat(length)), 2_000),
    'emoji',
  )
})
