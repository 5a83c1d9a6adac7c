// The flags of the benchmarks that have a few: the default of each says of what kind it is.

import { parseArgs } from 'node:util'

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

/** Returns the value of each flag on the command line. A list has commas between its items. */
export function flagsOf<T extends Record<string, Preset>>(
  presets: T,
): { [Name in keyof T]: Value<T[Name]> } {
  const entries = Object.entries(presets)
  const options = entries.map(([name, preset]) => {
    return [name, { type: typeof preset === 'boolean' ? 'boolean' : 'string' }] as const
  })
  const { values } = parseArgs({ options: Object.fromEntries(options) })
  const found = entries.map(([name, preset]) => [name, parsedAs(preset, values[name])])
  return Object.fromEntries(found)
}

function parsedAs(preset: Preset, given: string | boolean | undefined): unknown {
  if (typeof given !== 'string') return given ?? preset
  if (typeof preset !== 'object') return typeof preset === 'number' ? Number(given) : given
  const isNumbers = typeof preset[0] === 'number'
  return given.split(',').map((item) => (isNumbers ? Number(item) : item))
}
