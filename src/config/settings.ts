// Checks single settings. An unusable value is a ConfigError that names the flag, the environment
// variable, or the file and the key in it, by which it was set.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Durability } from '../../wal/journal/journal.ts'
import { ConfigError } from '../base/arguments.ts'

export interface Setting {
  /** What set it: `--port`, `AGENT_FORUM_PORT`, or `forum.json: port`. */
  name: string
  text: string
}

/** A text that is not empty: an empty host would mean every address of the machine. */
export function textOf({ name, text }: Setting): string {
  if (text !== '') return text
  throw new ConfigError(`${name} takes a value that is not empty`)
}

/** A whole number from `min` to `max`; `because` says what sets the maximum, if a flag does not. */
export function numberOf({ name, text }: Setting, min: number, max: number, because = ''): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new ConfigError(
    `${name} takes a whole number from ${min} to ${max}${because}, not "${text}"`,
  )
}

/** Hours from 0 to `max`, which may have a fraction. */
export function hoursOf({ name, text }: Setting, max: number): number {
  const value = Number(text)
  if (/^\d+(?:\.\d+)?$/.test(text) && value <= max) return value
  throw new ConfigError(`${name} takes hours from 0 to ${max}, not "${text}"`)
}

/** On (`on`, `true`, `1`) or off (`off`, `false`, `0`, empty). */
export function switchOf({ name, text }: Setting): boolean {
  if (['on', 'true', '1'].includes(text)) return true
  if (['off', 'false', '0', ''].includes(text)) return false
  throw new ConfigError(`${name} is on or off, not "${text}"`)
}

export function choiceOf<T extends string>({ name, text }: Setting, choices: readonly T[]): T {
  const choice = choices.find((known) => known === text)
  if (choice !== undefined) return choice
  const all = `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`
  throw new ConfigError(`${name} takes ${all}, not "${text}"`)
}

const defaultIntervalMs = 100

export function durabilityOf({ name, text }: Setting): Durability {
  if (text === 'always' || text === 'none') return { mode: text }
  const interval = /^interval(?::(\d{1,5}))?$/.exec(text)
  const ms = Number(interval?.[1] ?? defaultIntervalMs)
  if (interval !== null && ms >= 1) return { mode: 'interval', ms }
  throw new ConfigError(`${name} takes always, interval[:ms] or none, not "${text}"`)
}

/** An origin without a slash at its end; null for an empty text. */
export function originOf({ name, text }: Setting): string | null {
  if (text === '') return null
  const url = URL.canParse(text) ? new URL(text) : null
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href
  if (isOrigin) return url.origin
  throw new ConfigError(`${name} takes an origin like https://forum.example, not "${text}"`)
}

/** The PEM text of the named file; null for an empty name. */
export function certificateOf({ name, text }: Setting): string | null {
  if (text === '') return null
  try {
    const pem = readFileSync(text, 'utf8')
    new X509Certificate(pem)
    return pem
  } catch (error) {
    throw new ConfigError(`${name} takes a PEM certificate: ${(error as Error).message}`)
  }
}
