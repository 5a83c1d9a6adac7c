// Names in texts: `@name` mentions whoever is the only one with that name.

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
