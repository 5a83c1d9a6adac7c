// Adds an entry to a configuration file in JSON without changing anything else in its text.
//
//   {
//     "theme": "dark",
//     "mcpServers": {
//       "github": { … }▲
//     }                └── ,\n    "forum": { … }
//   }
//
// J1. Only strict JSON is edited: a file with comments is left to its owner.
// J2. The text before and after the insertion stays the same, byte for byte. The result is parsed
//     again, and must have the entry and everything that was there.

import { isDeepStrictEqual } from 'node:util'

/** Sections and entries are objects. */
type Members = Record<string, unknown>

/**
 * The outcome of adding an entry: the new text; `present` if the entry is there already; another
 * entry of that name; or why the entry cannot be added.
 */
export type Edit = { text: string } | 'present' | { other: unknown } | { refusal: string }

const plain = 'is not plain JSON: it has comments, trailing commas or a mistake'

/** Adds `section[name] = entry` to the text; an empty text is an empty file. */
export function addToJson(text: string, section: string, name: string, entry: Members): Edit {
  if (text.trim() === '') return { text: `${json({ [section]: { [name]: entry } }, '  ')}\n` }
  const old = parsed(text)
  if (old === undefined) return { refusal: plain }
  if (!isMembers(old)) return { refusal: 'does not hold an object' }
  const servers = Object.hasOwn(old, section) ? old[section] : undefined
  if (servers !== undefined && !isMembers(servers)) {
    return { refusal: `has a "${section}" that is not an object` }
  }
  if (servers !== undefined && Object.hasOwn(servers, name)) {
    return isSame(servers[name], entry) ? 'present' : { other: servers[name] }
  }
  const spans = objectsOf(text, section)
  if (spans === null) return { refusal: `has "${section}" more than once` }
  const edited =
    spans.section === null
      ? insert(text, spans.whole, section, { [name]: entry })
      : insert(text, spans.section, name, entry)
  const wanted = { ...old, [section]: { ...servers, [name]: entry } }
  return isSame(parsed(edited), wanted)
    ? { text: edited }
    : { refusal: 'is nested too deeply to be checked' }
}

/** Whether both have the same content; false if they are too deep to be compared. */
export function isSame(one: unknown, other: unknown): boolean {
  try {
    return isDeepStrictEqual(one, other)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Returns one member in the form in which it is written into an object. */
export function jsonMember(name: string, value: Members): string {
  return `${JSON.stringify(name)}: ${json(value, '  ')}`
}

function json(value: unknown, indent: string): string {
  return JSON.stringify(value, null, indent)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The offsets of an object in the text. */
interface Span {
  /** After its opening brace. */
  start: number
  /** After its last member, or `start` if it is empty. */
  membersEnd: number
  /** At its closing brace. */
  end: number
}

/**
 * Finds the outermost object of a text of valid JSON, and the object under the key in it, which is
 * null if there is none. Returns null if the key occurs more than once.
 */
function objectsOf(text: string, key: string): { whole: Span; section: Span | null } | null {
  const whole: Span = { start: 0, membersEnd: 0, end: 0 }
  let section: Span | null = null
  let depth = 0
  let count = 0
  /** Whether the outermost object's member that is being read has the key. */
  let isInSection = false
  let last: Token = { start: 0, end: 0 }
  for (const each of tokensOf(text)) {
    const char = text[each.start]
    if (depth === 1 && char === ':') {
      isInSection = JSON.parse(text.slice(last.start, last.end)) === key
      if (isInSection) count += 1
    } else if (char === '{' || char === '[') {
      depth += 1
      if (depth === 1) whole.start = each.end
      if (depth === 2 && isInSection) section = { start: each.end, membersEnd: 0, end: 0 }
    } else if (char === '}' || char === ']') {
      const closed = depth === 1 ? whole : depth === 2 && isInSection ? section : null
      if (closed !== null) [closed.membersEnd, closed.end] = [last.end, each.start]
      depth -= 1
    }
    last = each
  }
  return count > 1 ? null : { whole, section }
}

interface Token {
  start: number
  end: number
}

/** Yields the tokens of a text of valid JSON. */
function* tokensOf(text: string): Generator<Token> {
  for (let end = 0; end < text.length; ) {
    const start = end
    if (text[start] === '"') end = stringEnd(text, start)
    else if (/[{}[\],:]/.test(text[start])) end = start + 1
    else if (/\s/.test(text[start])) {
      end = start + 1
      continue
    } else while (end < text.length && /[^\s{}[\],:]/.test(text[end])) end += 1
    yield { start, end }
  }
}

/** Returns the offset after the closing quote of a string. */
function stringEnd(text: string, start: number): number {
  let end = start + 1
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end + 1
}

/** Inserts a member at the end of an object, formatted like the rest of the file. */
function insert(text: string, { start, membersEnd, end }: Span, name: string, value: Members) {
  const before = text.slice(0, membersEnd) + (membersEnd === start ? '' : ',')
  const rest = text.slice(membersEnd)
  const isOneLine = !text.trim().includes('\n') && !/^\{\s*\}$/.test(text.trim())
  if (isOneLine) {
    return `${before}${JSON.stringify(name)}:${JSON.stringify(value)}${rest}`
  }
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = /\{\r?\n([ \t]+)"/.exec(text)?.[1] ?? '  '
  const outer = indentAt(text, start)
  const lines = `${JSON.stringify(name)}: ${json(value, unit)}`.split('\n')
  const inserted = lines.map((line) => `${lineEnd}${outer}${unit}${line}`).join('')
  const closing = text.slice(membersEnd, end).includes('\n') ? '' : lineEnd + outer
  return before + inserted + closing + rest
}

/** Returns the white space with which the line of this offset begins. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)![0]
}
