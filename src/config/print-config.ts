// agent-forum serve --print-config: prints every setting of a node with its source. Of a secret,
// only its place is shown.

import { join } from 'node:path'
import { type Config, type SettingName, secretVariable, settingFlags } from './config.ts'
import { headerOf } from './edge-settings.ts'
import { quotaFlagNames, quotaFlags } from './limit-flags.ts'
import { type FoundSetting, type SettingSources, switchOf } from './settings.ts'

interface Shown {
  /** The value as it would stand in a settings file, or null if it is not shown. */
  value: string | null
  from: string
}

/** Returns the lines, or one JSON object that maps the name of each setting to `{value, from}`. */
export function printConfig(
  settings: SettingSources<SettingName>,
  config: Config,
  asJson: boolean,
): string {
  const shown = shownSettings((name) => settings.find(name), config)
  if (asJson) return `${JSON.stringify(shown, null, 2)}\n`
  const rows = Object.entries(shown).map(([name, { value, from }]) => {
    return [name, value === null ? '(not shown)' : value === '' ? '-' : value, from] as const
  })
  const width = (column: 0 | 1) => Math.max(...rows.map((row) => row[column].length))
  const [names, values] = [width(0), width(1)]
  return rows
    .map(([name, value, from]) => `${name.padEnd(names)}  ${value.padEnd(values)}  ${from}\n`)
    .join('')
}

function shownSettings(
  find: (name: SettingName) => FoundSetting,
  { secret, data }: Config,
): Record<string, Shown> {
  const shown: Record<string, Shown> = {}
  for (const name of Object.keys(settingFlags) as SettingName[]) {
    const setting = find(name)
    shown[name] = { value: shownText(name, setting), from: setting.from }
  }
  // A quota that is not set follows from the profile.
  const profile = find('quotas')
  for (const name of quotaFlagNames) {
    if (find(name).text !== '') continue
    const limit = profile.text === 'public' ? quotaFlags[name].public : 0
    shown[name] = { value: `${limit}`, from: `quotas ${profile.text}` }
  }
  const from = secret === undefined ? join(data, 'secret') : secretVariable
  shown.secret = { value: null, from }
  return shown
}

/** A switch can be written in several ways, but is shown in one. */
function shownText(name: SettingName, setting: FoundSetting): string {
  if (name === 'trust-proxy') return headerOf(setting) ?? 'off'
  if (settingFlags[name].value !== null) return setting.text
  return switchOf(setting) ? 'on' : 'off'
}
