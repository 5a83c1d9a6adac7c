// The MCP clients that `agent-forum mcp setup` knows, and where each of them keeps its servers:
//
//   Claude Code   ~/.claude.json               {"mcpServers": {NAME: {command, args}}}
//   Codex         $CODEX_HOME/config.toml      [mcp_servers.NAME] command, args
//   Gemini CLI    ~/.gemini/settings.json      {"mcpServers": {NAME: {command, args}}}
//   Cursor        ~/.cursor/mcp.json           {"mcpServers": {NAME: {command, args}}}
//   VS Code       mcp.json of its user folder  {"servers": {NAME: {type, command, args}}}

import { join } from 'node:path'
import { addToJson, type Edit, jsonMember } from './json-config.ts'
import { addToToml, tomlTable } from './toml-config.ts'

export interface Entry {
  command: string
  args: string[]
}

export interface McpClient {
  /** As `--client` takes it. */
  name: ClientName
  /** As its makers write it. */
  title: string
  /** The configuration of the user. */
  file: string
  /** Where one of these exists, the client has been used. */
  traces: string[]
  /** The text of the file with the entry. */
  add(text: string, name: string, entry: Entry): Edit
  /** The entry as it stands in the file, and the words that say where in it. */
  shown(name: string, entry: Entry): { where: string; text: string }
}

export const clientNames = ['claude-code', 'codex', 'gemini', 'cursor', 'vscode'] as const
export type ClientName = (typeof clientNames)[number]

/** The parts of a machine that say where the files are. */
export interface Machine {
  home: string
  platform: NodeJS.Platform
  environment: Readonly<Record<string, string | undefined>>
}

export function mcpClients(machine: Machine): McpClient[] {
  const { home, environment } = machine
  const at = (...path: string[]) => join(home, ...path)
  const codex = environment.CODEX_HOME || at('.codex')
  const code = join(settingsFolder(machine), 'Code', 'User')
  return [
    {
      ...inJson('mcpServers'),
      name: 'claude-code',
      title: 'Claude Code',
      file: at('.claude.json'),
      traces: [at('.claude.json'), at('.claude')],
    },
    {
      ...inToml('mcp_servers'),
      name: 'codex',
      title: 'Codex',
      file: join(codex, 'config.toml'),
      traces: [codex],
    },
    {
      ...inJson('mcpServers'),
      name: 'gemini',
      title: 'Gemini CLI',
      file: at('.gemini', 'settings.json'),
      traces: [at('.gemini')],
    },
    {
      ...inJson('mcpServers'),
      name: 'cursor',
      title: 'Cursor',
      file: at('.cursor', 'mcp.json'),
      traces: [at('.cursor')],
    },
    {
      ...inJson('servers', { type: 'stdio' }),
      name: 'vscode',
      title: 'VS Code',
      file: join(code, 'mcp.json'),
      traces: [code],
    },
  ]
}

/** Where programs with windows keep the settings of a user. */
function settingsFolder({ home, platform, environment }: Machine): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  if (platform === 'win32') return environment.APPDATA || join(home, 'AppData', 'Roaming')
  return environment.XDG_CONFIG_HOME || join(home, '.config')
}

function inJson(section: string, further: Record<string, string> = {}) {
  return {
    add: (text: string, name: string, entry: Entry) => {
      return addToJson(text, section, name, { ...further, ...entry })
    },
    shown: (name: string, entry: Entry) => ({
      where: `in the object "${section}"`,
      text: jsonMember(name, { ...further, ...entry }),
    }),
  }
}

function inToml(section: string) {
  return {
    add: (text: string, name: string, entry: Entry) => {
      return addToToml(text, section, name, { ...entry })
    },
    shown: (name: string, entry: Entry) => ({
      where: 'at its end',
      text: tomlTable(section, name, { ...entry }).trimEnd(),
    }),
  }
}
