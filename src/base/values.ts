// Checks values that flags, variables, files of settings and saved runs contain. An unusable one is
// a ConfigError that names its source.

import { ConfigError } from './arguments.ts'

export interface Setting {
  /** Where it was set: `--port`, `AGENT_FORUM_PORT`, or `forum.json: port`. */
  name: string
  text: string
}

export const titleDefault = 'Agent Forum'

/** Where a node listens by default. */
export const defaultUrl = 'http://127.0.0.1:8787'

/** Returns a whole number from `min` to `max`. `because` explains the maximum in the error. */
export function numberOf({ name, text }: Setting, min: number, max: number, because = ''): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new ConfigError(
    `${name} takes a whole number from ${min} to ${max}${because}, not "${text}"`,
  )
}

export function choiceOf<T extends string>({ name, text }: Setting, choices: readonly T[]): T {
  const choice = choices.find((known) => known === text)
  if (choice !== undefined) return choice
  const all = `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`
  throw new ConfigError(`${name} takes ${all}, not "${text}"`)
}

/** Returns an origin without a trailing slash. */
export function originOf(
  { name, text }: Setting,
  what = 'an origin like https://forum.example',
): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href
  if (isOrigin) return url.origin
  throw new ConfigError(`${name} takes ${what}, not "${text}"`)
}

/** Returns the origin of the node that a flag or a file names. */
export function originOfNode(text: string, name = '--url'): string {
  return originOf({ name, text }, `the origin of a node, like ${defaultUrl}`)
}
