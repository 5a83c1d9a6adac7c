// Adds a table to a configuration file in TOML, at its end, where a table can always begin, so that
// nothing else changes. The result is parsed again, and must have the table and everything that was
// there.

import { parse, stringify, type TomlTable } from 'smol-toml'
import { type Edit, isSame } from './json-config.ts'

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
