// The MCP clients that `agent-forum mcp setup` knows, and where each of them keeps its servers:
//
//   Claude Code   ~/.claude.json               {"mcpServers": {NAME: {command, args}}}
//   Codex         $CODEX_HOME/config.toml      [mcp_servers.NAME] command, args
//   Gemini CLI    ~/.gemini/settings.json      {"mcpServers": {NAME: {command, args}}}
//   Cursor        ~/.cursor/mcp.json           {"mcpServers": {NAME: {command, args}}}
//   VS Code       mcp.json of its user folder  {"servers": {NAME: {type, command, args}}}

import { join } from 'node:path'
import { addToJson, addToToml, type Edit, jsonMember, tomlTable } from './config-text.ts'

export interface Entry {
  command: string
  args: string[]
}

export interface McpClient {
  /** The name that `--client` takes. */
  name: ClientName
  /** The name as its makers write it. */
  title: string
  /** The path of the user's configuration. */
  file: string
  /** Paths of which at least one exists if the client has been used. */
  traces: string[]
  add(text: string, name: string, entry: Entry): Edit
  /** Returns the entry as it stands in the file, and a phrase that says where in the file. */
  shown(name: string, entry: Entry): { where: string; text: string }
}

export const clientNames = ['claude-code', 'codex', 'gemini', 'cursor', 'vscode'] as const
export type ClientName = (typeof clientNames)[number]

/** The facts about a machine that determine where the files are. */
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

/** Returns the folder in which desktop programs keep the settings of a user. */
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
