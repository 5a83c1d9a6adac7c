// Parses the words and flag values of a command: ids, numbers and texts.

import { ConfigError } from '../../base/arguments.ts'
import { subjectNamed } from '../../base/named-subjects.ts'
import { contentCharactersMax, pluralize, titleCharactersMax } from '../../base/text.ts'

/** More than any text of a message takes in UTF-8, with line breaks at its end. */
const inputBytesMax = 256 * 1024

/** Throws ConfigError if a command without words was given any. */
export function noWords(command: string, words: readonly string[]): void {
  if (words.length > 0) throw new ConfigError(`${command} takes no "${words[0]}"`)
}

/** Returns the thread that is the only word of a command. Throws ConfigError. */
export function oneThread(command: string, words: readonly string[]): string {
  if (words.length === 1) return idOf('thread', command, words[0])
  throw new ConfigError(`${command} takes a thread; try ${command} --help`)
}

/**
 * Returns the id of a thread or an identity, which is named by its id or by the address of its
 * page. `place` is the command or the flag. Throws ConfigError.
 */
export function idOf(noun: 'thread' | 'identity', place: string, text: string): string {
  const { id, unusable } = subjectNamed(noun, text)
  if (unusable === null) return id
  throw new ConfigError(`${place} ${unusable}`)
}

/** Returns the title and the text that a command publishes. Throws ConfigError. */
export async function titleAndText(
  command: string,
  words: readonly string[],
): Promise<[string, string]> {
  const [title, text] = wordAndMore(command, 'a title', words)
  checkLength('title', title, titleCharactersMax)
  return [title, await contentOf(text)]
}

/** Returns the thread and the text of a command that replies. Throws ConfigError. */
export async function threadAndText(
  command: string,
  words: readonly string[],
): Promise<[string, string]> {
  const [thread, text] = wordAndMore(command, 'a thread', words)
  return [idOf('thread', command, thread), await contentOf(text)]
}

function wordAndMore(
  command: string,
  what: string,
  [word, text, ...more]: readonly string[],
): [word: string, text: string | undefined] {
  if (word !== undefined && more.length === 0) return [word, text]
  throw new ConfigError(`${command} takes ${what} and a text, in quotes; try ${command} --help`)
}

/** Returns the whole number of a flag, or undefined if it is not given. Throws ConfigError. */
export function numberOf(flag: string, text: string | undefined, min = 0): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) {
    throw new ConfigError(`--${flag} takes a whole number, not "${text}"`)
  }
  if (Number(text) < min) throw new ConfigError(`--${flag} takes ${min} or more, not ${text}`)
  return Number(text)
}

/** Returns an object with this field, or an empty one if the flag is not given. */
export function optional<N extends string>(
  name: N,
  value: number | undefined,
): { [name in N]?: number } {
  return value === undefined ? {} : ({ [name]: value } as { [name in N]: number })
}

/** Returns the identities of a flag, which commas separate. Throws ConfigError. */
export function identitiesOf(flag: string, text: string | undefined): string[] {
  return listOf(`--${flag}`, text).map((each) => idOf('identity', `--${flag}`, each))
}

/**
 * Returns what is listed at `place`, a flag or a command, separated by commas. An empty list is
 * most likely a variable that is not set, and would choose everything. Throws ConfigError.
 */
export function listOf(place: string, text: string | undefined): string[] {
  const listed = (text ?? '').split(',').filter((each) => each !== '')
  if (text === undefined || listed.length > 0) return listed
  throw new ConfigError(`${place} takes at least one, not "${text}"`)
}

/** Checks an idempotency key by the rule of the service. Throws ConfigError. */
export function keyOf(key: string | undefined): { key?: string } {
  if (key === undefined) return {}
  if (/^[A-Za-z0-9_.:-]{8,128}$/.test(key)) return { key }
  throw new ConfigError(`--key takes 8 to 128 of A-Z a-z 0-9 _ . : -, not "${key}"`)
}

/** Returns the text of a message: the argument, or standard input if there is none. */
async function contentOf(argument: string | undefined): Promise<string> {
  const text = argument ?? (await standardInput())
  checkLength('text', text, contentCharactersMax)
  return text
}

/** Counts code points as characters, as the service does. Throws ConfigError. */
function checkLength(what: string, text: string, max: number): void {
  const { length } = Array.from(text)
  if (length <= max) return
  throw new ConfigError(
    `the ${what} has ${pluralize(length, 'character')}, and can have at most ${max}`,
  )
}

/** Returns standard input as a text without trailing line breaks, like `$(…)` in a shell. */
async function standardInput(): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write('the text, and then Ctrl-D on a line of its own:\n')
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of process.stdin) {
    parts.push(part)
    bytes += part.length
    if (bytes > inputBytesMax) {
      const limit = `a text can have at most ${contentCharactersMax} characters`
      throw new ConfigError(`standard input has more than ${inputBytesMax} bytes, and ${limit}`)
    }
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
