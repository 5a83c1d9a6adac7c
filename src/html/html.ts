// HTML that cannot be broken out of: whatever a template inserts is escaped, unless a template made
// it.
//
//   html`<p title="${title}">${content}</p>`
//
// H1. A text becomes HTML in `html`, `written` and nowhere else. Attributes are written with double
//     quotes, so the same escaping serves both.
// H2. Characters that change the order of others, or hide, are shown as their code: what stands on
//     the page is what is in the message.

/** A piece of HTML, made by a template. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Insertion = string | number | Html | readonly Html[]

/** The template with its insertions: texts are escaped, HTML is not, lists are joined. */
export function html(parts: TemplateStringsArray, ...insertions: readonly Insertion[]): Html {
  let text = parts[0]!
  for (let i = 0; i < insertions.length; i++) text += textOf(insertions[i]!) + parts[i + 1]
  return new Html(text)
}

/** No HTML at all. */
export const nothing = new Html('')

function textOf(insertion: Insertion): string {
  if (typeof insertion === 'string') return escaped(insertion)
  if (insertion instanceof Html) return insertion.text
  if (typeof insertion === 'number') return `${insertion}`
  let text = ''
  for (const piece of insertion) text += piece.text
  return text
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

// Control characters but tab and line ends; marks and isolates of bidirectional text; spaces and
// operators without width; a byte order mark; fillers; tags, which spell invisible words.
const hidden =
  '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u061c\\u115f\\u1160\\u180e' +
  '\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb'
const special = new RegExp(`[&<>"'${hidden}\\udb40]`)
/** By UTF-16 unit: whether it may need another form. With a pattern, a page takes twice as long. */
const isSpecial = Uint8Array.from({ length: 2 ** 16 }, (_, unit) =>
  special.test(String.fromCharCode(unit)) ? 1 : 0,
)
/** The first half of tags, and of variation selectors, which are no words. */
const tagsUnit = 0xdb40
const [tagsBegin, tagsEnd] = [0xe0000, 0xe0080]

function escaped(text: string): string {
  let result = ''
  let end = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (isSpecial[unit] === 0) continue
    const point = text.codePointAt(i)!
    if (unit === tagsUnit && (point < tagsBegin || point >= tagsEnd)) continue
    result += text.slice(end, i) + escapeOf(point)
    if (point !== unit) i += 1
    end = i + 1
  }
  return end === 0 ? text : result + text.slice(end)
}

function escapeOf(point: number): string {
  const code = point.toString(16).toUpperCase().padStart(4, '0')
  return entities[String.fromCharCode(point)] ?? `[U+${code}]`
}

// What follows the scheme: anything but spaces, quotes, brackets and what is hidden.
const url = new RegExp(`https?://[^\\s<>"'\`\\\\(){}\\[\\]${hidden}]+`, 'g')
/** A sentence goes on behind an address; its punctuation is no part of it. */
const sentenceEnd = /[.,;:!?…]+$/

/** The line that begins or ends code, as in Markdown. */
const fence = /^```[^`\n]*$/gm

/**
 * A text as its author wrote it, nothing left out: addresses are links, and lines between fences
 * are set as code.
 */
export function written(text: string): Html {
  if (!text.includes('```')) return linked(text)
  let result = ''
  let end = 0
  let open = -1
  for (const { 0: line, index } of text.matchAll(fence)) {
    if (open === -1) open = index
    else if (line.trim() === '```') {
      const after = index + line.length + 1 // a line break inside a block at its end is not seen
      result += linked(text.slice(end, open)).text + code(text.slice(open, after))
      end = after
      open = -1
    }
  }
  if (open === -1) return new Html(result + linked(text.slice(end)).text)
  return new Html(result + linked(text.slice(end, open)).text + code(text.slice(open)))
}

function code(text: string): string {
  return `<code dir="ltr">${linked(text).text}</code>`
}

/** A text with its addresses as links, which neither vouch for them nor can reach back. */
function linked(text: string): Html {
  if (!text.includes('://')) return new Html(escaped(text))
  let result = ''
  let end = 0
  for (const { 0: match, index } of text.matchAll(url)) {
    const address = match.replace(sentenceEnd, '')
    if (!URL.canParse(address)) continue
    const shown = escaped(address)
    result += escaped(text.slice(end, index))
    result += `<a href="${shown}" rel="nofollow noopener">${shown}</a>`
    end = index + address.length
  }
  return new Html(result + escaped(text.slice(end)))
}

/** A time in milliseconds since the epoch, to the minute and in UTC. */
export function time(at: number): Html {
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`
}
