// What a reader is made from: the main process sends it over their socket, before anything else.

import type { RoleName } from '../api/route.ts'
import {
  type Config,
  checkSettings,
  type SettingName,
  type SettingTexts,
  settingFlags,
} from '../config/config.ts'
import { replicationFlags } from '../config/replication-flags.ts'
import type { FoundSetting } from '../config/settings.ts'

/** What the main process tells a reader at its start. */
export interface ReaderSetup {
  /** Its number, from 1. */
  reader: number
  version: string
  storeId: string
  epoch: string
  epochBegin: number | null
  role: RoleName
  publicUrl: string
  /** Opens the sessions of people. */
  sessionKey: Buffer
  port: number
  texts: SettingTexts
  nodeLimits: Config['nodeLimits']
}

/** The configuration of a reader: that of the main process, with limits that it has divided. */
export function configOf({ texts, nodeLimits }: ReaderSetup): Config {
  const settings = checkSettings({ find: (name) => settingOf(name, texts[name]) }, {})
  return { ...settings, nodeLimits }
}

/** The main process has checked the settings; files that they name are its own affair. */
function settingOf(name: SettingName, text: string): FoundSetting {
  const isMainOnly =
    ['config', 'webhook-ca', 'ops-port'].includes(name) || Object.hasOwn(replicationFlags, name)
  return isMainOnly
    ? { name: `--${name}`, text: settingFlags[name].preset, from: 'default' }
    : { name: `--${name}`, text, from: 'the main process' }
}
