// Adds an entry to a configuration file in JSON or TOML without changing anything else in its text.
// In TOML it is a table at the end, where a table can always begin.
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
import { visit } from 'jsonc-parser'
import { parse, stringify, type TomlTable } from 'smol-toml'
import { parseJson } from '../../../base/json.ts'

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
  const old = parseJson(text)
  if (old === undefined) return { refusal: plain }
  if (!isMembers(old)) return { refusal: 'does not hold an object' }
  const servers = Object.hasOwn(old, section) ? old[section] : undefined
  if (servers !== undefined && !isMembers(servers)) {
    return { refusal: `has a "${section}" that is not an object` }
  }
  if (servers !== undefined && Object.hasOwn(servers, name)) {
    return isSame(servers[name], entry) ? 'present' : { other: servers[name] }
  }
  const sections = valuesOf(text, section)
  if (sections === null) return { refusal: tooDeep }
  if (sections.length > 1) return { refusal: `has "${section}" more than once` }
  const whole = { start: text.indexOf('{') + 1, end: text.lastIndexOf('}') }
  const edited =
    sections.length === 0
      ? insert(text, whole, section, { [name]: entry })
      : insert(text, sections[0], name, entry)
  const wanted = { ...old, [section]: { ...servers, [name]: entry } }
  return isSame(parseJson(edited), wanted) ? { text: edited } : { refusal: tooDeep }
}

/** Whether both have the same content; false if they are too deep to be compared. */
function isSame(one: unknown, other: unknown): boolean {
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

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The offsets of an object in the text: after its opening brace, and at its closing brace. */
interface Span {
  start: number
  end: number
}

/**
 * Finds the objects under the key in the outermost object of a text of valid JSON. Returns null if
 * the text is nested too deeply. A tree of its nodes would take ten times as long.
 */
function valuesOf(text: string, key: string): Span[] | null {
  const found: Span[] = []
  let depth = 0
  /** The value of the outermost object's member that is being read, if the member has the key. */
  let value: Span | undefined
  try {
    visit(text, {
      onObjectProperty(name) {
        if (depth !== 1) return
        value = name === key ? { start: 0, end: 0 } : undefined
        if (value) found.push(value)
      },
      onObjectBegin(offset) {
        depth += 1
        if (depth === 2 && value) value.start = offset + 1
      },
      onObjectEnd(offset) {
        if (depth === 2 && value) value.end = offset
        depth -= 1
      },
      onArrayBegin() {
        depth += 1
      },
      onArrayEnd() {
        depth -= 1
      },
    })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
  return found
}

/** Inserts a member at the end of an object, formatted like the rest of the file. */
function insert(text: string, { start, end }: Span, name: string, value: Members) {
  const membersEnd = start + text.slice(start, end).trimEnd().length
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

/** Adds `[section.name]` to the text; an empty text is an empty file. */
export function addToToml(text: string, section: string, name: string, entry: TomlTable): Edit {
  const old = parsed(text)
  if (old === null) return { refusal: 'is not TOML' }
  const servers = Object.hasOwn(old, section) ? old[section] : {}
  if (!isTable(servers)) return { refusal: `has "${section}" that is not a table` }
  if (Object.hasOwn(servers, name)) {
    const present = servers[name]
    // Tables that were parsed have no prototype.
    return isSame({ ...(present as TomlTable) }, entry) ? 'present' : { other: present }
  }
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = tomlTable(section, name, entry).split('\n')
  const gap = text === '' ? '' : text.endsWith('\n') ? lineEnd : lineEnd.repeat(2)
  const edited = text + gap + lines.join(lineEnd)
  const wanted = { ...old, [section]: { ...servers, [name]: entry } }
  const found = parsed(edited)
  if (found !== null && stringify(found) === stringify(wanted)) return { text: edited }
  return { refusal: `has "${section}" in a form to which no table can be added` }
}

/** Returns one table in the form in which it is written. */
export function tomlTable(section: string, name: string, entry: TomlTable): string {
  return stringify({ [section]: { [name]: entry } })
}

function parsed(text: string): TomlTable | null {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' })
  } catch {
    return null
  }
}

function isTable(value: unknown): value is TomlTable {
  const isObject = typeof value === 'object' && value !== null
  return isObject && !Array.isArray(value) && !(value instanceof Date)
}
