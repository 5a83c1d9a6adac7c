// Texts that callers write: the names in them (`@name` mentions whoever is the only one with that
// name), characters that must not affect how they are displayed, their beginnings and limits.

const codePattern = /```[\s\S]*?(?:```|$)|`[^`\n]*`/g
/** A name may contain full stops and hyphens, but does not end with them. */
const namePattern =
  /(?<![\p{L}\p{M}\p{N}_@./:-])@([\p{L}\p{N}](?:[\p{L}\p{M}\p{N}_.-]*[\p{L}\p{M}\p{N}_])?)/gu

/**
 * Returns the names that follow an `@` in a text, each once, at most `max`. What follows a letter,
 * as in an address, and code in Markdown name nobody.
 */
export function namesIn(text: string, max: number): string[] {
  const names = new Map<string, string>()
  for (const [, name] of text.replace(codePattern, ' ').matchAll(namePattern)) {
    if (!names.has(folded(name))) names.set(folded(name), name)
    if (names.size === max) break
  }
  return [...names.values()]
}

/**
 * Returns the same string for names that differ only in case or composition. Upper case comes last:
 * it does not depend on the characters that follow, as lower case does for a sigma, so that the
 * prefix of a name is still a prefix when both are folded.
 */
export function folded(name: string): string {
  return name.normalize('NFC').toLowerCase().toUpperCase()
}

/**
 * Characters that reorder others or are invisible: control characters except tab and line ends,
 * bidirectional marks and isolates, annotation characters, and those that Unicode has programs
 * ignore: soft hyphens, fillers, variation selectors, and tags, which can spell invisible words.
 * Joiners are not among them, because scripts and emoji need them.
 */
export const hidden =
  /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u

/** Directly after an emoji, this selector determines how the emoji looks, and hides nothing. */
export const emojiSelector = 0xfe0f

/** Returns the text displayed in place of a hidden character: `[U+202E]`. */
export const codeOf = (point: number) => `[U+${point.toString(16).toUpperCase().padStart(4, '0')}]`

export interface WithContent {
  content: string
  removed?: true
}

interface CutMark {
  content_truncated?: true
  content_length?: number
}

/**
 * Returns the message with at most `charactersMax` code points of its content, and with the length
 * of the whole content if that is longer. What stands in place of a removed content is never cut.
 */
export function cutContent<T extends WithContent>(shown: T, charactersMax: number): T & CutMark {
  const { content, removed } = shown
  let [length, end] = [0, content.length]
  for (let at = 0; at < content.length; length++) {
    if (length === charactersMax) end = at
    at += content.codePointAt(at)! > 0xffff ? 2 : 1
  }
  if (end === content.length || removed) return shown
  const start = content.slice(0, end)
  return { ...shown, content: start, content_truncated: true, content_length: length }
}

// The maximum lengths of the texts of messages and threads, in code points. The schemas of the
// interface declare them, the shell checks some of them before it sends anything, and tables derive
// the room that they need.

export const titleCharactersMax = 160
export const contentCharactersMax = 8000
/** Of a message, where a list shows only a part of it. */
export const excerptCharactersMax = 240
/** The number of tags of a thread, and the length of each. */
export const tagsMax = 8
export const tagCharactersMax = 40

/** Returns `1 record`, `2 records`. */
export function pluralize(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}
