// The tables of docs/shell.md and docs/mcp.md: the commands with their flags, and the tools with
// their arguments, as both are declared.

import type { Flags } from '../../src/base/arguments.ts'
import { tools } from '../../src/clients/mcp/tools.ts'
import { shellCommands } from '../../src/clients/shell/commands.ts'
import { common } from '../../src/clients/shell/flags.ts'
import { table } from './generated.ts'

export function commandTable(): string {
  const rows = Object.entries(shellCommands).map(([name, { usage, summary, flags }]) => {
    const others = ownFlags(flags).filter(([flag]) => !usage.includes(`--${flag}`))
    const words = [name, usage, ...others.map(([flag, { value }]) => `[${written(flag, value)}]`)]
    return [`\`${words.filter(Boolean).join(' ')}\``, summary]
  })
  return table(['command', 'what it does'], rows)
}

/** Every flag with its meaning, and the commands in which it has this meaning. */
export function flagTable(): string {
  const commandsOf = new Map<string, string[]>()
  for (const [command, { flags }] of Object.entries(shellCommands)) {
    for (const [flag, { value, help }] of ownFlags(flags)) {
      const key = JSON.stringify([`\`${written(flag, value)}\``, help])
      commandsOf.set(key, [...(commandsOf.get(key) ?? []), `\`${command}\``])
    }
  }
  const rows = [...commandsOf]
    .map(([key, commands]) => [...(JSON.parse(key) as [string, string]), commands.join(', ')])
    .toSorted(([a], [b]) => (a! < b! ? -1 : 1))
  return table(['flag', 'meaning', 'commands'], rows)
}

function ownFlags(flags: Flags) {
  return Object.entries(flags).filter(([name]) => !(name in common))
}

function written(flag: string, value: string | null): string {
  return `--${flag} ${value ?? ''}`.trimEnd()
}

export function toolTable(): string {
  const rows = tools.map(({ name, input, description }) => {
    const { properties = {}, required = [] } = input
    const given = Object.keys(properties).map((argument) => {
      return required.includes(argument) ? `\`${argument}\`` : `[\`${argument}\`]`
    })
    return [`\`${name}\``, given.join(', '), description]
  })
  return table(['tool', 'arguments, those in brackets optional', 'what it does'], rows)
}
