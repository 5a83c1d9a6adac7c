// What stands behind the name of a command: ids, numbers and texts.

import { ConfigError } from '../base/arguments.ts'

/** No message has more bytes; a node accepts bodies of 256 KiB. */
const inputBytesMax = 256 * 1024

/** A command without words has none. Throws ConfigError. */
export function noWords(command: string, words: readonly string[]): void {
  if (words.length > 0) throw new ConfigError(`${command} takes no "${words[0]}"`)
}

/** The one word of a command. Throws ConfigError. */
export function oneWord(command: string, what: string, words: readonly string[]): string {
  if (words.length === 1) return words[0]
  throw new ConfigError(`${command} takes ${what}; try ${command} --help`)
}

/** The first word, and the text: the second word, or standard input. Throws ConfigError. */
export async function wordAndText(
  command: string,
  what: string,
  words: readonly string[],
): Promise<[word: string, text: string]> {
  const [word, text, ...more] = words
  if (word === undefined || more.length > 0) {
    throw new ConfigError(`${command} takes ${what} and a text, in quotes; try ${command} --help`)
  }
  return [word, text ?? (await standardInput())]
}

/** A number of a flag; undefined where it is not given. Throws ConfigError. */
export function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new ConfigError(`--${flag} takes a whole number, which ${text} is not`)
}

/** The ids of a flag, separated by commas. */
export function idsOf(text: string | undefined): string[] {
  return (text ?? '').split(',').filter((id) => id !== '')
}

/** The text of standard input, without the line breaks at its end, as `$(…)` of a shell has it. */
async function standardInput(): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write('the text, and then Ctrl-D on a line of its own:\n')
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of process.stdin) {
    parts.push(part)
    bytes += part.length
    if (bytes > inputBytesMax) throw new ConfigError('standard input is too long for a message')
  }
  return textOf(Buffer.concat(parts))
}

function textOf(bytes: Buffer): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    let end = text.length
    while (end > 0 && (text[end - 1] === '\n' || text[end - 1] === '\r')) end -= 1
    return text.slice(0, end)
  } catch {
    throw new ConfigError('standard input is not UTF-8')
  }
}
