// Declares the flags of small benchmarks: a default also gives the type of its flag.

import { readArgs } from '../src/base/arguments.ts'

type Preset = number | string | boolean | readonly number[] | readonly string[]

type Value<P extends Preset> = P extends number
  ? number
  : P extends string
    ? string
    : P extends boolean
      ? boolean
      : P extends readonly number[]
        ? number[]
        : string[]

/**
 * Returns the value of each flag on the command line. A list has commas between its items; one of
 * words takes those of its default. The process exits with 64, after a line that says why and names
 * the flags, if one is unknown or a value cannot be used.
 */
export function flagsOf<T extends Record<string, Preset>>(
  presets: T,
): { [Name in keyof T]: Value<T[Name]> } {
  const entries = Object.entries(presets)
  const options = entries.map(([name, preset]) => {
    return [name, { type: typeof preset === 'boolean' ? 'boolean' : 'string' }] as const
  })
  const config = { args: process.argv.slice(2), options: Object.fromEntries(options) }
  const known = entries.map(([name, preset]) => `--${name} (${preset})`).join(', ')
  const { values } = readArgs(config, (sentence) => refuse(`${sentence}; flags: ${known}`))
  const found = entries.map(([name, preset]) => [name, parsedAs(name, preset, values[name])])
  return Object.fromEntries(found)
}

function parsedAs(name: string, preset: Preset, given: string | boolean | undefined): unknown {
  if (typeof given !== 'string') return given ?? preset
  if (typeof preset === 'number') {
    return numberOf(name, given) || refuse(`--${name} takes a number above 0`)
  }
  if (typeof preset !== 'object') return given
  const items = given.split(',')
  if (typeof preset[0] === 'number') return items.map((item) => numberOf(name, item))
  const unknown = items.find((item) => !preset.some((known) => known === item))
  if (unknown !== undefined) refuse(`--${name} takes ${preset.join(', ')}, not "${unknown}"`)
  return items
}

function numberOf(name: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  return refuse(`--${name} takes a number, not "${text}"`)
}

export function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`)
  process.exit(64)
}
