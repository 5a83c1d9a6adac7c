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
import { type Node, parseTree } from 'jsonc-parser'

/** Sections and entries are objects. */
type Members = Record<string, unknown>

/**
 * The outcome of adding an entry: the new text; `present` if the entry is there already; another
 * entry of that name; or why the entry cannot be added.
 */
export type Edit = { text: string } | 'present' | { other: unknown } | { refusal: string }

const plain = 'is not plain JSON: it has comments, trailing commas or a mistake'
const tooDeep = 'is nested too deeply to be checked'

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
  const whole = treeOf(text)
  if (whole === null) return { refusal: tooDeep }
  const sections = whole.children!.filter(({ children }) => children![0].value === section)
  if (sections.length > 1) return { refusal: `has "${section}" more than once` }
  const edited =
    sections.length === 0
      ? insert(text, whole, section, { [name]: entry })
      : insert(text, sections[0].children![1], name, entry)
  const wanted = { ...old, [section]: { ...servers, [name]: entry } }
  return isSame(parsed(edited), wanted) ? { text: edited } : { refusal: tooDeep }
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

/** Returns the nodes of a text of valid JSON, with their offsets; null if they are too deep. */
function treeOf(text: string): Node | null {
  try {
    return parseTree(text)!
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Inserts a member at the end of an object, formatted like the rest of the file. */
function insert(text: string, object: Node, name: string, value: Members) {
  const start = object.offset + 1
  const last = object.children!.at(-1)
  const membersEnd = last === undefined ? start : last.offset + last.length
  const end = object.offset + object.length - 1
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
