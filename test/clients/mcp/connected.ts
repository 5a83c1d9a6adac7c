// Agents that use the forum through `agent-forum mcp` with the official client package: over stdio,
// where the client starts the server, and over HTTP.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Test } from 'tap'
import { nodeFlags, Program, program } from '../../api/process.ts'
import { until } from '../../until.ts'

/** The protocol versions that clients use today. */
export const versions = ['2025-11-25', '2026-07-28'] as const

export interface Way {
  transport: 'stdio' | 'http'
  version: (typeof versions)[number]
}

export const stdio: Way = { transport: 'stdio', version: '2026-07-28' }
export const http: Way = { ...stdio, transport: 'http' }

// biome-ignore lint/suspicious/noExplicitAny: whatever the tool answers
type Json = any

export interface Answer {
  isError: boolean
  /** The structured content. An error has none. */
  body: Json
  texts: string[]
  /** The JSON in the text of an error. */
  refusal: Json
}

export class Connected {
  readonly client: Client

  constructor(client: Client) {
    this.client = client
  }

  async call(name: string, given: Record<string, unknown> = {}): Promise<Answer> {
    const { content, structuredContent, isError } = await this.client.callTool({
      name,
      arguments: given,
    })
    const texts = content.map((block) => (block.type === 'text' ? block.text : ''))
    const refusal = isError ? JSON.parse(texts[0]!) : undefined
    return { isError: isError ?? false, body: structuredContent, texts, refusal }
  }

  /** Returns the structured content of a call that must succeed. */
  async get(name: string, given: Record<string, unknown> = {}): Promise<Json> {
    const { isError, body, texts } = await this.call(name, given)
    if (isError) throw new Error(texts.join('\n'))
    return body
  }
}

/** Connects a client to a server with these arguments. Both end with the test. */
export async function connected(
  t: Test,
  { transport, version }: Way,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Connected> {
  const isModern = version === '2026-07-28'
  const versionNegotiation = { mode: isModern ? { pin: version } : ('legacy' as const) }
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation })
  t.teardown(() => client.close())
  await client.connect(
    transport === 'stdio'
      ? new StdioClientTransport({
          command: process.execPath,
          args: [...nodeFlags, program, 'mcp', ...args],
          env: environment,
        })
      : new StreamableHTTPClientTransport(await served(t, args, environment)),
  )
  return new Connected(client)
}

/** Starts a server over HTTP, and resolves to its URL. */
export async function served(
  t: Test,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<URL> {
  const server = new Program(['mcp', '--http', '0', ...args], environment)
  t.teardown(() => server.stop('SIGTERM'))
  const [, url] = await until('a server that listens', () => {
    if (server.hasEnded) throw new Error(server.stderr)
    return /^listening at (.*)$/m.exec(server.stdout)
  })
  return new URL(url!)
}
