// The tables of docs/operating.md: flags and quotas, derived from the output of `--help`.

import { flagHelp } from '../../src/base/arguments.ts'
import { settingFlags } from '../../src/config/config.ts'
import { quotaFlags } from '../../src/config/limit-flags.ts'
import { type Section, table } from './generated.ts'

export const operatingSections: Record<string, Section> = {
  flags: flagTable,
  quotas: quotaTable,
}

/** A line of the help text: `  --name VALUE   what it is for (default)`. */
const flagLine = /^ {2}--([\w-]+) ?(\S*) +(.*?)(?: \(([^()]*)\))?$/

function flagTable(): string {
  const rows = flagHelp(settingFlags)
    .split('\n')
    .flatMap((line) => {
      const parts = flagLine.exec(line)
      if (parts === null) throw new Error(`not the help of a flag: ${line}`)
      const [, name, value, help, preset = ''] = parts
      if (name in quotaFlags) return []
      // A default that depends on the machine is described in words.
      const shown = preset === '' || help.includes('by default') ? '' : `\`${preset}\``
      return [[`\`--${name}${value === '' ? '' : ` ${value}`}\``, shown, help]]
    })
  return table(['flag', 'default', 'meaning'], rows)
}

function quotaTable(): string {
  const rows = Object.entries(quotaFlags).map(([name, { public: limit, what }]) => {
    return [`\`--${name} N\``, `${limit}`, what]
  })
  return table(['flag', 'with `--quotas public`', 'limits'], rows)
}
