// Markdown as HTML. Its structure is found by markdown-it, and the HTML is made here, so that each
// text in it is escaped by html.ts.
//
// K1. No text of an author becomes a tag or an attribute, but for the `href` of a link: an address
//     of http, https or mailto.
// K2. Pictures are links: a page loads nothing from elsewhere.
// K3. A heading is a paragraph that looks like one: the outline of a page is the page's own.
// K4. Work is proportional to the length of the text, and limited. markdown-it reads ahead at each
//     place where a rule might apply, again and again in texts that are made for that. So each look
//     at a line or a mark is counted, and a text that needs more of them than one that is meant to
//     be read is shown as it was written.
// K5. People see what agents read: nothing that is written is left out but marks, and the language
//     of code. So there are no definitions of links, and the title of a link stands behind it.

import MarkdownIt, { type StateBlock, type StateInline, type Token } from 'markdown-it'
import { addressEnd, escaped, foreign, Html, isTarget, linked, type PathOf } from './html.ts'

/** Looks that any text may take (K4); a text of 8,000 characters of prose takes about 1,000. */
const looksMax = 2_500
/** The tokens of a block take as long. */
const blockLooks = 3
/** Deeper quotes and lists are not rendered. */
const depthMax = 12
/** Longer runs of `*`, `_` and `~` are text. */
const runMax = 8
/** A longer line of code may have to be scrolled on a narrow screen, which keys can do, too. */
const narrowMax = 36

class TooComplex extends Error {}

/** Counts looks. Like other rules that find nothing, it leaves the text to the next one. */
function look(state: StateBlock | StateInline, count = 1): false {
  const env = state.env as { looks: number }
  env.looks += count
  if (env.looks > looksMax) throw new TooComplex()
  return false
}

const parser = new MarkdownIt({ maxNesting: 2 * depthMax }).disable([
  ...['html_block', 'html_inline', 'linkify', 'replacements', 'smartquotes', 'reference'],
])
parser.normalizeLink = (address) => address
parser.normalizeLinkText = (address) => address
parser.validateLink = isTarget
parser.block.ruler.before('table', 'look', lookAtLine, {
  alt: ['paragraph', 'reference', 'blockquote', 'list'],
})
parser.block.ruler.before('table', 'cells', countCells)
parser.inline.ruler.before('text', 'look', (state) => look(state))
parser.inline.ruler.before('strikethrough', 'run', skipRun)
parser.inline.ruler.before('escape', 'address', skipAddress)

function lookAtLine(state: StateBlock, _line: number, _end: number, isAhead: boolean): false {
  if (state.level > depthMax) throw new TooComplex()
  return look(state, isAhead ? 1 : blockLooks)
}

const delimiterRow = /^[>\s]*[|:-][|:\s-]*$/

/**
 * Counts the cells of a table that begins here: all of its rows are filled to the same width. One
 * that would have many more cells than were written is shown as it was written, and so is one with
 * rows that are too wide, whose last cells would not be shown (K5).
 */
function countCells(state: StateBlock, line: number): false {
  const { src, bMarks, eMarks, lineMax } = state
  if (line + 1 >= lineMax) return false
  const delimiters = src.slice(bMarks[line + 1], eMarks[line + 1])
  if (!delimiterRow.test(delimiters)) return false
  const width = widthOf(delimiters)
  let rows = 2
  for (; line + rows < lineMax && !state.isEmpty(line + rows); rows++) {
    if (width > 1 && widthOf(src.slice(bMarks[line + rows], eMarks[line + rows])) > width) {
      throw new TooComplex()
    }
  }
  const written = eMarks[line + rows - 1] - bMarks[line]
  if (width > 1 && 2 * width * rows > written) throw new TooComplex()
  return look(state, width * rows)
}

/** How many cells a row of a table has. */
function widthOf(row: string): number {
  const inner = row.replace(/^[>\s]*\|?|\|?\s*$/g, '')
  return inner.split(/(?<!\\)\|/).length
}

/** Takes a run of marks that is too long to be markup as text. */
function skipRun(state: StateInline, isAhead: boolean): boolean {
  const { src, pos, posMax } = state
  const mark = src[pos]
  if (mark !== '*' && mark !== '_' && mark !== '~') return false
  let end = pos + 1
  while (end < posMax && src[end] === mark) end += 1
  if (end - pos <= runMax) return look(state, end - pos)
  return take(state, end, isAhead)
}

/** What stands behind an address, and may end emphasis around it. */
const behindAddress = new Set('*_~.,;:!?')

/** Takes the rest of an address as text: marks in it are no markup. */
function skipAddress(state: StateInline, isAhead: boolean): boolean {
  const { src, pos, posMax } = state
  const begin = pos + '://'.length
  if (!src.startsWith('://', pos) || !/https?$/.test(src.slice(Math.max(0, pos - 5), pos)))
    return false
  let end = Math.min(addressEnd(src, begin), posMax)
  while (end > begin && behindAddress.has(src[end - 1])) end -= 1
  return end > begin && take(state, end, isAhead)
}

function take(state: StateInline, end: number, isAhead: boolean): true {
  if (!isAhead) state.pending += state.src.slice(state.pos, end)
  state.pos = end
  return true
}

/** What any rule of Markdown may apply to. Texts without it take a twentieth of the time. */
const markup = /[*_`~[\\<&|]|^[ \t]*(?:[#>+=:-]|\d+[.)])|^(?: {4}| *\t)/m

/** The text rendered; `pathOf` as in `linked`. */
export function markdown(text: string, pathOf: PathOf): Html {
  if (!markup.test(text)) return paragraphs(text, pathOf)
  const env = { looks: 0 }
  let tokens: Token[]
  try {
    tokens = parser.parse(text, env)
  } catch {
    return asWritten(text, pathOf) // also if the parser has a fault, which no text may make use of
  }
  return new Html(new Rendering(pathOf).blocks(tokens))
}

/** The text as it was written, nothing left out. */
export function asWritten(text: string, pathOf: PathOf): Html {
  return new Html(`<div class="source" dir="auto">${linked(text, pathOf)}</div>`)
}

function paragraphs(text: string, pathOf: PathOf): Html {
  let result = ''
  for (const each of text.split(/\n\s*\n/)) {
    const trimmed = each.trim()
    if (trimmed !== '') result += `<p dir="auto">${linked(trimmed, pathOf)}</p>`
  }
  return new Html(result)
}

const tagOf: Record<string, string> = {
  bullet_list_open: '<ul>',
  bullet_list_close: '</ul>',
  ordered_list_close: '</ol>',
  list_item_open: '<li dir="auto">',
  list_item_close: '</li>',
  blockquote_open: '<blockquote>',
  blockquote_close: '</blockquote>',
  heading_close: '</p>',
  hr: '<hr>',
  table_open: '<div class="wide" tabindex="0"><table>',
  table_close: '</table></div>',
  thead_open: '<thead>',
  thead_close: '</thead>',
  tbody_open: '<tbody>',
  tbody_close: '</tbody>',
  tr_open: '<tr>',
  tr_close: '</tr>',
  th_close: '</th>',
  td_close: '</td>',
  softbreak: '\n',
  hardbreak: '<br>\n',
  em_open: '<em>',
  em_close: '</em>',
  strong_open: '<strong>',
  strong_close: '</strong>',
  s_open: '<s>',
  s_close: '</s>',
}

/** The title of a link or picture (K5). */
function behind(title: string): string {
  return title === '' ? '' : ` (${escaped(title)})`
}

/** Makes HTML of tokens. A kind of token that is not known here is shown as its text. */
class Rendering {
  readonly #pathOf: PathOf
  /** How many links the text is in: those within another one are no links. */
  #links = 0
  #title = ''

  constructor(pathOf: PathOf) {
    this.#pathOf = pathOf
  }

  blocks(tokens: readonly Token[]): string {
    let result = ''
    for (const token of tokens) {
      result += token.children === null ? this.#block(token) : this.#inline(token.children)
    }
    return result
  }

  #block(token: Token): string {
    const { type, tag, hidden, content } = token
    switch (type) {
      case 'paragraph_open':
        return hidden ? '' : '<p dir="auto">'
      case 'paragraph_close':
        return hidden ? '' : '</p>'
      case 'heading_open':
        return `<p class="${tag}" dir="auto">`
      case 'ordered_list_open': {
        const start = Number(token.attrGet('start') ?? 1)
        return start === 1 ? '<ol>' : `<ol start="${start}">`
      }
      case 'th_open':
      case 'td_open': {
        const [, side] = /^text-align:(center|right)$/.exec(`${token.attrGet('style')}`) ?? []
        return side === undefined ? `<${tag} dir="auto">` : `<${tag} class="${side}" dir="auto">`
      }
      case 'fence':
      case 'code_block': {
        const info = token.info.trim()
        const isLanguage = /^[\w+#.-]{0,30}$/.test(info)
        return this.#code(isLanguage ? content : `${info}\n${content}`)
      }
      default:
        return tagOf[type] ?? escaped(content)
    }
  }

  #code(content: string): string {
    const lines = content.replace(/\n$/, '').split('\n')
    const isWide = lines.some(({ length }) => length > narrowMax)
    const focus = isWide ? ' tabindex="0"' : ''
    // The parser drops one line break at the beginning, which may be that of the text.
    return `<pre dir="ltr"${focus}>\n${linked(lines.join('\n'), this.#pathOf)}</pre>`
  }

  #inline(tokens: readonly Token[]): string {
    let result = ''
    for (const token of tokens) result += this.#span(token)
    return result
  }

  #span(token: Token): string {
    const { type, content } = token
    switch (type) {
      case 'text':
        return this.#text(content)
      case 'code_inline':
        return `<code>${this.#text(content)}</code>`
      case 'link_open':
        this.#links += 1
        if (this.#links > 1) return ''
        this.#title = `${token.attrGet('title') ?? ''}`
        return `<a href="${escaped(`${token.attrGet('href')}`)}" ${foreign}>`
      case 'link_close':
        this.#links -= 1
        return this.#links > 0 ? '' : `</a>${behind(this.#title)}`
      case 'image':
        return (
          this.#picture(`${token.attrGet('src')}`, content) +
          behind(`${token.attrGet('title') ?? ''}`)
        )
      default:
        return tagOf[type] ?? escaped(content)
    }
  }

  #text(text: string): string {
    return this.#links > 0 ? escaped(text) : linked(text, this.#pathOf)
  }

  /** A link to the picture, with the text that stands in for it (K2). */
  #picture(address: string, alternative: string): string {
    const shown = escaped(`Picture: ${alternative.trim() === '' ? address : alternative}`)
    return this.#links > 0 ? shown : `<a href="${escaped(address)}" ${foreign}>${shown}</a>`
  }
}
