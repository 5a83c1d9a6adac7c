// Markdown as HTML. markdown-it finds the structure, and the HTML is made here, so that html.ts
// escapes every text in it.
//
// K1. No text of an author becomes a tag or an attribute, except the `href` of a link, which is an
//     http, https or mailto address.
// K2. Pictures become links, so that a page loads nothing from elsewhere.
// K3. A heading becomes a paragraph that looks like one, so authors do not alter a page's outline.
// K4. Work is proportional to the length of the text, and limited. markdown-it reads ahead wherever
//     a rule might apply, which a text made for the purpose can cause again and again. Each step,
//     in which it examines a line or a mark, is therefore counted, and a text that needs more steps
//     than any text that is meant to be read is shown as it was written.
// K5. People see what agents read: nothing of a text is left out except marks, and the language of
//     code. So there are no link reference definitions, and the title of a link follows it.

import MarkdownIt, { type StateBlock, type StateInline, type Token } from 'markdown-it'
import {
  addressEnd,
  escaped,
  Html,
  isTarget,
  linked,
  type PathOf,
  userLinkAttributes,
} from './html.ts'

/** The maximum number of steps for a text (K4); 8,000 characters of prose take about 1,000. */
const stepsMax = 2_500
/** The number of steps that take as long as the tokens of a block. */
const blockSteps = 3
/** A text with deeper quotes or lists is shown as it was written. */
const depthMax = 12
/** Longer runs of `*`, `_` or `~` are text. */
const runMax = 8
/**
 * Code with a longer line may need scrolling on a narrow screen, so it takes the keyboard focus.
 */
const narrowMax = 36

class TooComplex extends Error {}

/** Counts steps. Like a rule that does not match, it leaves the text to the next rule. */
function countSteps(state: StateBlock | StateInline, count = 1): false {
  const env = state.env as { steps: number }
  env.steps += count
  if (env.steps > stepsMax) throw new TooComplex()
  return false
}

const parser = new MarkdownIt({ maxNesting: 2 * depthMax }).disable([
  ...['html_block', 'html_inline', 'linkify', 'replacements', 'smartquotes', 'reference'],
])
parser.normalizeLink = (address) => address
parser.normalizeLinkText = (address) => address
parser.validateLink = isTarget
parser.block.ruler.before('table', 'steps', countLine, {
  alt: ['paragraph', 'reference', 'blockquote', 'list'],
})
parser.block.ruler.before('table', 'cells', countCells)
parser.inline.ruler.before('text', 'steps', (state) => countSteps(state))
parser.inline.ruler.before('strikethrough', 'run', skipRun)
parser.inline.ruler.before('escape', 'address', skipAddress)

function countLine(state: StateBlock, _line: number, _end: number, isAhead: boolean): false {
  if (state.level > depthMax) throw new TooComplex()
  return countSteps(state, isAhead ? 1 : blockSteps)
}

const delimiterRow = /^[>\s]*[|:-][|:\s-]*$/

/**
 * Counts the cells of a table that begins here, because all of its rows are filled to the same
 * width. If that makes many more cells than were written, the whole text is shown as it was
 * written. The same holds if a row is too wide, because its last cells would be left out (K5).
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
  return countSteps(state, width * rows)
}

/** Returns the number of cells in a row of a table. */
function widthOf(row: string): number {
  const inner = row.replace(/^[>\s]*\|?/, '').trimEnd() // a pattern would try each of many spaces
  return (inner.endsWith('|') ? inner.slice(0, -1) : inner).split(/(?<!\\)\|/).length
}

/** Takes a run of marks as text if it is too long to be markup. */
function skipRun(state: StateInline, isAhead: boolean): boolean {
  const { src, pos, posMax } = state
  const mark = src[pos]
  if (mark !== '*' && mark !== '_' && mark !== '~') return false
  let end = pos + 1
  while (end < posMax && src[end] === mark) end += 1
  if (end - pos <= runMax) return countSteps(state, end - pos)
  return take(state, end, isAhead)
}

/** The marks that may follow an address, and may end emphasis around it. */
const behindAddress = new Set('*_~.,;:!?')

/** Takes the rest of an address as text, because marks in it are not markup. */
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

/** Matches whatever a rule of Markdown may apply to. Other texts take a twentieth of the time. */
const markup = /[*_`~[\\<&|]|^[ \t]*(?:[#>+=:-]|\d+[.)])|^(?: {4}| *\t)/m

/** Renders a text; `pathOf` is as in `linked`. */
export function markdown(text: string, pathOf: PathOf): Html {
  if (!markup.test(text)) return paragraphs(text, pathOf)
  const env = { steps: 0 }
  let tokens: Token[]
  try {
    tokens = parser.parse(text, env)
  } catch {
    return asWritten(text, pathOf) // also after a fault of the parser, which no text may exploit
  }
  return new Html(new Rendering(pathOf).blocks(tokens))
}

/** Returns the text as it was written, with nothing left out. */
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

/** Returns the title of a link or picture, which follows it (K5). */
function inParentheses(title: string): string {
  return title === '' ? '' : ` (${escaped(title)})`
}

function quoted(title: string): string {
  return title === '' ? '' : escaped(`"${title}"`)
}

/** Makes HTML from tokens. A token of an unknown kind is shown as its text. */
class Rendering {
  readonly #pathOf: PathOf
  /** The number of links around the current token; a link within another one is not a link. */
  #links = 0
  #title = ''
  /** The title, as it was written, of what only looks like a link. */
  #quoted = ''

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
    // The HTML parser drops one line break at the beginning, which could be that of the text.
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
        if (token.attrGet('href') === '') return this.#beginText(token)
        this.#links += 1
        if (this.#links > 1) return ''
        this.#title = `${token.attrGet('title') ?? ''}`
        return `<a href="${escaped(`${token.attrGet('href')}`)}" ${userLinkAttributes}>`
      case 'link_close':
        if (this.#links === 0) return `](${this.#quoted})`
        this.#links -= 1
        return this.#links > 0 ? '' : `</a>${inParentheses(this.#title)}`
      case 'image': {
        const title = `${token.attrGet('title') ?? ''}`
        if (token.attrGet('src') === '') return `![${escaped(content)}](${quoted(title)})`
        return this.#picture(`${token.attrGet('src')}`, content) + inParentheses(title)
      }
      default:
        return tagOf[type] ?? escaped(content)
    }
  }

  /** Begins what looks like a link, but has no address, or one that is refused. */
  #beginText(token: Token): string {
    this.#quoted = quoted(`${token.attrGet('title') ?? ''}`)
    return '['
  }

  #text(text: string): string {
    return this.#links > 0 ? escaped(text) : linked(text, this.#pathOf)
  }

  /** Returns a link to the picture, with the text that stands in for it (K2). */
  #picture(address: string, alternative: string): string {
    const shown = escaped(`Picture: ${alternative.trim() === '' ? address : alternative}`)
    return this.#links > 0
      ? shown
      : `<a href="${escaped(address)}" ${userLinkAttributes}>${shown}</a>`
  }
}
