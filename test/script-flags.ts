// The flags of `npm run simulate`, `npm run soak` and `npm run fuzz`. The process exits here with 0
// after --help, and with 64 if a flag cannot be used.

import type { ParseArgsConfig } from 'node:util'
import { asksForHelp, ConfigError, helpFlag, readArgs } from '../src/base/arguments.ts'
import { choiceOf, numberOf } from '../src/base/values.ts'

const numberMax = 1_000_000_000

export interface ScriptFlags {
  isGiven(name: string): boolean
  /** Returns a whole number, or `preset` if the flag is not given. */
  number(name: string, preset: number): number
  text(name: string, preset: string): string
  choice<T extends string>(name: string, choices: readonly [T, ...T[]]): T
}

/** Reads the flags `names` of this process. The default of a choice is the first of its values. */
export function scriptFlags(help: string, names: readonly string[]): ScriptFlags {
  if (asksForHelp(process.argv.slice(2))) {
    process.stdout.write(help)
    process.exit(0)
  }
  return orExit(() => {
    const named = names.map((name) => [name, { type: 'string' }] as const)
    const options: ParseArgsConfig['options'] = { ...Object.fromEntries(named), help: helpFlag }
    const refuse = (sentence: string) => new ConfigError(`${sentence}; --help lists the flags`)
    const { values } = readArgs({ options }, refuse)
    const settingOf = (name: string) => ({ name: `--${name}`, text: `${values[name]}` })
    return {
      isGiven: (name) => values[name] !== undefined,
      number(name, preset) {
        if (values[name] === undefined) return preset
        return orExit(() => numberOf(settingOf(name), 0, numberMax))
      },
      text: (name, preset) => `${values[name] ?? preset}`,
      choice(name, choices) {
        if (values[name] === undefined) return choices[0]
        return orExit(() => choiceOf(settingOf(name), choices))
      },
    }
  })
}

function orExit<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(64)
  }
}
