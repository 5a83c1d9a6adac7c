// The first message to a reader: everything that it needs to start.

import {
  type Config,
  checkSettings,
  type SettingName,
  type SettingTexts,
  settingFlags,
} from '../../config/config.ts'
import { replicationFlags } from '../../config/replication-flags.ts'
import type { FoundSetting } from '../../config/settings.ts'
import type { RoleName } from '../../edge/api/route.ts'

export interface ReaderSetup {
  /** The reader's number, from 1. */
  reader: number
  version: string
  storeId: string
  epoch: string
  epochBegin: number | null
  role: RoleName
  publicUrl: string
  /** The key that opens the sessions of people. */
  sessionKey: Buffer
  port: number
  texts: SettingTexts
  nodeLimits: Config['nodeLimits']
}

/** Returns a reader's configuration: the main process's, with the limits that it has divided. */
export function configOf({ texts, nodeLimits }: ReaderSetup): Config {
  const settings = checkSettings({ find: (name) => settingOf(name, texts[name]) }, {})
  return { ...settings, nodeLimits }
}

/** Files that settings name concern only the main process, which has checked all settings. */
function settingOf(name: SettingName, text: string): FoundSetting {
  const isMainOnly =
    ['config', 'webhook-ca', 'ops-port'].includes(name) || Object.hasOwn(replicationFlags, name)
  return isMainOnly
    ? { name: `--${name}`, text: settingFlags[name].preset, from: 'default' }
    : { name: `--${name}`, text, from: 'the main process' }
}
