// HTML without injection: whatever a template inserts is escaped, unless a template made it.
//
//   html`<p title="${title}">${content}</p>`
//
// H1. A text becomes HTML in `html`, `escaped`, `marked`, `linked`, `typed` and nowhere else;
//     markdown.ts uses them. Attributes are in double quotes, so one escaping serves both.
// H2. Characters that reorder others or are invisible are shown as their codes, so that a page
//     shows exactly what is in the message. `typed` leaves them as they are, because forms send
//     them back.

import { codeOf, emojiSelector, hidden } from '../../base/text.ts'

/** A piece of HTML, made by a template. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Insertion = string | number | Html | readonly Html[]

/** Returns the template with its insertions: texts are escaped, HTML is not, lists are joined. */
export function html(parts: TemplateStringsArray, ...insertions: readonly Insertion[]): Html {
  let text = parts[0]
  for (let i = 0; i < insertions.length; i++) text += textOf(insertions[i]) + parts[i + 1]
  return new Html(text)
}

export const emptyHtml = new Html('')

function textOf(insertion: Insertion): string {
  if (typeof insertion === 'string') return escaped(insertion)
  if (insertion instanceof Html) return insertion.text
  if (typeof insertion === 'number') return `${insertion}`
  let text = ''
  for (const piece of insertion) text += piece.text
  return text
}

/** The high surrogates of characters that may be hidden: shorthand, music, tags and selectors. */
const pairs = [0xd82f, 0xd834, 0xdb40, 0xdb41, 0xdb42, 0xdb43]
const emoji = /^\p{Emoji}$/u
const keycap = 0x20e3

const isHidden = (point: number) => hidden.test(String.fromCodePoint(point))

// Escaping goes by UTF-16 unit; with regular expressions a page takes twice as long.
/**
 * The form of each unit: an index of `forms`, 0 if the unit is shown as it is, or `inContext` if
 * its form depends on other units.
 */
const formOf = new Uint16Array(2 ** 16)
const forms = ['', '&amp;', '&lt;', '&gt;', '&quot;', '&#39;']
const entityMax = forms.length - 1
const inContext = 2 ** 16 - 1
for (const [i, mark] of [...'&<>"\''].entries()) formOf[mark.charCodeAt(0)] = i + 1
/** All units in order, to be searched at once: a search in each would add 15 ms to every start. */
const units = Buffer.from(formOf.map((_, unit) => unit).buffer).toString('utf16le')
for (const { index } of units.matchAll(new RegExp(hidden, 'gu'))) {
  formOf[index] = forms.push(codeOf(index)) - 1
}
for (const unit of [...pairs, emojiSelector]) formOf[unit] = inContext

/**
 * The codes of hidden surrogate pairs, cached because making one takes longer than all else here.
 */
const pairCodes = new Map<number, string>()

/**
 * Returns the code of a character whose form depends on other units; null if it is shown as it is.
 */
function codeAt(text: string, at: number): string | null {
  const point = text.codePointAt(at)!
  if (point === emojiSelector) return isOfEmoji(text, at) ? null : codeOf(point)
  const known = pairCodes.get(point)
  if (known !== undefined) return known
  if (!isHidden(point)) return null
  const code = codeOf(point)
  pairCodes.set(point, code)
  return code
}

/** Returns whether the selector at this index belongs to an emoji before it. */
function isOfEmoji(text: string, at: number): boolean {
  if (at === 0) return false
  const unit = text.charCodeAt(at - 1)
  const isSecond = unit >= 0xdc00 && unit < 0xe000
  const base = isSecond && at > 1 ? text.codePointAt(at - 2)! : unit
  if (!emoji.test(String.fromCodePoint(base))) return false
  return base > 0x7f || text.charCodeAt(at + 1) === keycap // digits are emoji only as keycaps
}

/**
 * Returns the text between two indexes as HTML, in one pass. Text outside matters only for emoji.
 */
export function escaped(text: string, begin = 0, end = text.length): string {
  let result = ''
  let done = begin
  for (let i = begin; i < end; i++) {
    const form = formOf[text.charCodeAt(i)]
    if (form === 0) continue
    const shown = form === inContext ? codeAt(text, i) : forms[form]
    if (shown === null) continue
    result += text.slice(done, i) + shown
    if (form === inContext && text.charCodeAt(i) !== emojiSelector) i += 1
    done = i + 1
  }
  return result + text.slice(done, end)
}

/** Returns a text as the content of a form control, in which its author edits it (H2). */
export function escapeForInput(text: string): Html {
  let result = ''
  let done = 0
  for (let i = 0; i < text.length; i++) {
    const form = formOf[text.charCodeAt(i)]
    if (form === 0 || form > entityMax) continue
    result += text.slice(done, i) + forms[form]
    done = i + 1
  }
  return new Html(result + text.slice(done))
}

/** Returns the text with these ranges of UTF-16 units, in their order, as `mark` elements. */
export function marked(text: string, ranges: readonly { start: number; end: number }[]): Html {
  let result = ''
  let done = 0
  for (const { start, end } of ranges) {
    result += `${escaped(text, done, start)}<mark>${escaped(text, start, end)}</mark>`
    done = end
  }
  return new Html(result + escaped(text, done))
}

// An address ends before spaces, quotes, brackets and hidden characters.
const border = /[\s<>"'`\\(){}[\]]/g
const endsAddress = new Uint8Array(formOf.map((form) => (form > entityMax ? 1 : 0)))
for (const { index } of units.matchAll(border)) endsAddress[index] = 1
/** After an address, these marks belong to the sentence around it. */
const sentenceMarks = new Set('.,;:!?\u2026')
/** Longer addresses do not become links: parsing a host takes time quadratic in its length. */
const [addressMax, hostMax, labelMax] = [2000, 253, 63]

/** Returns the end of an address whose scheme and slashes end at `begin`. */
export function addressEnd(text: string, begin: number): number {
  let end = begin
  while (end < text.length) {
    const isEnd = endsAddress[text.charCodeAt(end)] === 1
    if (isEnd && (formOf[text.charCodeAt(end)] !== inContext || codeAt(text, end) !== null)) break
    end += 1
  }
  return end
}

/** Returns whether this is an address to which a link can lead. */
function isAddress(text: string, hostBegin: number): boolean {
  if (text.length > addressMax) return false
  let label = 0
  for (let i = hostBegin; i < text.length && !'/?#'.includes(text[i]); i++) {
    label = text[i] === '.' ? 0 : label + 1
    if (label > labelMax || i - hostBegin >= hostMax) return false
  }
  return URL.canParse(text)
}

const target = /^(?:(https?:\/\/)|mailto:)[^\s\\<>"`{}]+$/i

/**
 * Returns whether a link may lead to this address. Addresses that are too long or have hidden
 * characters are refused.
 */
export function isTarget(address: string): boolean {
  if (address.length > addressMax || hidden.test(address)) return false
  const [found, scheme] = target.exec(address) ?? []
  if (found === undefined) return false
  return scheme === undefined || isAddress(address, scheme.length)
}

/** The attributes of an author's link: its target is not endorsed, and gets no reference to us. */
export const userLinkAttributes = 'rel="nofollow noopener ugc"'

/** Returns the path of the page that shows the thing with this id, or null if there is none. */
export type PathOf = (id: string) => string | null

const idAfter = 'thr'.length
const idAround = /(?<![\w/])(?:thr|msg|agt|gov)_[0-9a-f]{32}(?!\w)/y

/** Returns the id that has its underscore at this index, or null. */
function idAt(text: string, underscore: number): string | null {
  if (underscore < idAfter) return null
  idAround.lastIndex = underscore - idAfter
  return idAround.exec(text)?.[0] ?? null
}

/** Returns a text whose addresses, and whose ids that have a page, are links. */
export function linked(text: string, pathOf: PathOf): string {
  const slashes = '://'
  let result = ''
  let done = 0
  const link = (begin: number, end: number, attributes: string) => {
    const shown = escaped(text, begin, end)
    result += `${escaped(text, done, begin)}<a href="${attributes}>${shown}</a>`
    done = end
  }
  let [at, underscore] = [text.indexOf(slashes), text.indexOf('_')]
  while (at !== -1 || underscore !== -1) {
    if (at === -1 || (underscore !== -1 && underscore < at)) {
      const id = idAt(text, underscore)
      const path = id === null ? null : pathOf(id)
      const begin = underscore - idAfter
      if (path !== null) link(begin, begin + id!.length, `${path}"`)
      underscore = text.indexOf('_', underscore + 1)
      continue
    }
    const host = at + slashes.length
    const scheme = ['https', 'http'].find((name) => text.endsWith(name, at)) ?? ''
    let end = host
    if (scheme !== '') {
      const begin = at - scheme.length
      const next = addressEnd(text, host)
      end = next
      while (sentenceMarks.has(text[end - 1])) end -= 1
      const address = text.slice(begin, end)
      if (end > host && isAddress(address, host - begin)) {
        link(begin, end, `${escaped(text, begin, end)}" ${userLinkAttributes}`)
      }
      end = next
    }
    at = text.indexOf(slashes, end)
    if (underscore !== -1 && underscore < end) underscore = text.indexOf('_', end)
  }
  return result + escaped(text, done)
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/**
 * Formats a time in milliseconds since the epoch to the minute, in UTC. The attributes of the
 * element hold the exact time.
 */
export function time(at: number): Html {
  const date = new Date(at)
  return timeAs(date, `${dayOf(date)}, ${date.toISOString().slice(11, 16)}`)
}

/** Formats a time likewise, to the day. */
export function day(at: number): Html {
  const date = new Date(at)
  return timeAs(date, dayOf(date))
}

function dayOf(date: Date): string {
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

function timeAs(date: Date, shown: string): Html {
  const iso = date.toISOString()
  return html`<time datetime="${iso}" title="${iso}">${shown}</time>`
}

/** The colors of everything that people see, light and dark, as CSS variables. */
export const palette = `:root {
  color-scheme: light dark;
  --ground: #fbfaf8; --text: #1f2328; --soft: #59636e; --line: #d8d5cf; --link: #0a58a5;
  --code: #f2f0ec; --mark: #ffe9a3; --raised: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15181c; --text: #e4e6e8; --soft: #9aa4ae; --line: #343a41; --link: #7db7f5;
    --code: #1d2126; --mark: #5c4a12; --raised: #1a1e23;
  }
}
`
