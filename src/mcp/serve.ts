// Serves one agent, until the client is gone or a signal comes.

import type { AddressInfo } from 'node:net'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { ConfigError } from '../config/arguments.ts'
import { Agent, type AgentOptions } from './agent.ts'
import { mcpPath, serveHttp } from './http.ts'
import { mcpServer } from './server.ts'

/** With a port over HTTP, without one over stdio. Throws ConfigError. */
export async function serveMcp(
  options: AgentOptions,
  port: number | null,
  version: string,
): Promise<void> {
  const agent = new Agent(options)
  const ended = new Promise<unknown>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, resolve)
    if (port === null) process.stdin.once('close', resolve)
  })
  const make = () => mcpServer(agent, version)
  if (port === null) {
    const { close } = serveStdio(make)
    await ended
    await close()
    return
  }
  const server = await serveHttp(port, make).catch((error: Error) => {
    throw new ConfigError(`port ${port} cannot be had: ${error.message}`)
  })
  const { port: listening } = server.address() as AddressInfo
  process.stdout.write(`listening at http://127.0.0.1:${listening}${mcpPath}\n`)
  await ended
}
