// The words of a text, the same for what is indexed, what is searched for and what is marked.
//
//   TypeError: x is not…   typeerror · x · is · not …
//   Crème brûlée           creme · brulee
//   検索エンジン             検 · 索 · エ · ン · ジ · ン
//
// W1. A word is a run of letters and digits in lower case, without diacritics; other characters
//     separate words. In scripts that are written without spaces, and in Korean, which writes
//     particles at the end of a word, each character is a word. An emoji is a word.
// W2. The work is linear in the length of the text.
// W3. A word consists of ASCII letters and digits and of characters beyond ASCII, at least one of
//     them. So the tokenizer of the index, which knows only ASCII, never divides it.

/** A character that occurs in no word. It begins each mark of the index (query.ts). */
export const notOfWords = '\ue000'

/** Receives a word and its place in the text. Returns false if no more words are needed. */
type Visit = (word: string, start: number, end: number) => boolean | undefined

const unspaced = ['Han', 'Hira', 'Kana', 'Hang', 'Bopo', 'Thai', 'Laoo', 'Khmr', 'Mymr']
  .map((script) => `\\p{scx=${script}}`)
  .join('')
const letters = '\\p{L}\\p{N}\\p{M}'
/** Half-width marks of voiced kana, which Unicode counts as letters. */
const kanaMarks = '\\uff9e\\uff9f'
/** A character that is a word, with its marks; a run of other letters; an emoji. */
const pieces = new RegExp(
  `([[${letters}]&&[${unspaced}]][\\p{M}${kanaMarks}]*)` +
    `|([[${letters}]--[${unspaced}]]+)` +
    '|\\p{Regional_Indicator}{1,2}|\\p{Extended_Pictographic}',
  'gv',
)
const asciiPieces = /[a-z0-9]+/gi
const beyondAscii = /\P{ASCII}/u

/** Marks that are not part of a letter: accents, vowel points, and variation selectors. */
const diacritics = new RegExp(
  '[\\u0300-\\u036f\\u0483-\\u0489\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7' +
    '\\u0610-\\u061a\\u064b-\\u065f\\u0670\\u06d6-\\u06dc\\u1ab0-\\u1aff\\u1dc0-\\u1dff' +
    '\\u20d0-\\u20ff\\ufe00-\\ufe0f\\ufe20-\\ufe2f]',
  'g',
)
/** Letters with a stroke, or with two forms, which have no decomposition. */
const variants: Record<string, string> = { ß: 'ss', ı: 'i', ς: 'σ', ø: 'o', đ: 'd', ł: 'l', ħ: 'h' }
const variant = /[ßıςøđłħ]/g
/** What the decomposition of a letter or digit may add, such as the dot of ⒈. */
const noLetters = new RegExp(`[^${letters}]`, 'gu')

/** Calls `visit` for each word, in order. */
export function eachWord(text: string, visit: Visit): void {
  if (!beyondAscii.test(text)) {
    for (const match of text.matchAll(asciiPieces)) {
      const [piece] = match
      if (visit(piece.toLowerCase(), match.index, match.index + piece.length) === false) return
    }
    return
  }
  for (const match of text.matchAll(pieces)) {
    const [piece, character, run] = match
    const word = character ? foldedCharacter(piece) : run ? folded(piece) : piece
    if (word === '') continue // a mark without a letter
    if (visit(word, match.index, match.index + piece.length) === false) return
  }
}

export function wordsOf(text: string): string[] {
  const words: string[] = []
  eachWord(text, (word) => {
    words.push(word)
    return true
  })
  return words
}

/** Returns the words with spaces between, or the text itself if the index finds the same in it. */
export function spacedWords(text: string): string {
  return beyondAscii.test(text) ? wordsOf(text).join(' ') : text
}

/** Returns whether a word is a character of a script without spaces (W1). */
export function isCharacter(word: string): boolean {
  return startsUnspaced.test(word)
}

const startsUnspaced = new RegExp(`^[${unspaced}]`, 'v')

/** For characters without marks: the words of 7,700 take 1 to 2 ms, and 4 to 6 ms without this. */
const foldedCharacters = new Map<string, string>()
const foldedMax = 32_768

function foldedCharacter(piece: string): string {
  let word = foldedCharacters.get(piece)
  if (word === undefined) {
    word = folded(piece)
    const isShort = piece.length <= 2
    if (isShort && foldedCharacters.size < foldedMax) foldedCharacters.set(piece, word)
  }
  return word
}

function folded(piece: string): string {
  if (!beyondAscii.test(piece)) return piece.toLowerCase()
  return piece
    .normalize('NFKD')
    .replace(diacritics, '')
    .toLowerCase()
    .replace(variant, (letter) => variants[letter])
    .replace(noLetters, '')
    .normalize('NFC')
}
