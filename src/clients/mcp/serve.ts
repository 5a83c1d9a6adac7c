// Serves one agent until the client disconnects or a signal arrives.

import type { AddressInfo } from 'node:net'
import { isatty } from 'node:tty'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { ConfigError } from '../../base/arguments.ts'
import { Agent, type AgentOptions } from './agent.ts'
import { mcpPath, serveHttp } from './http.ts'
import { mcpServer } from './server.ts'

/** Why serving ended, or null if the client disconnected or a signal arrived. */
export type Ending = { of: 'input' | 'registration'; error: Error } | null

/** Serves over HTTP if a port is given, otherwise over stdio. Throws ConfigError. */
export async function serveMcp(
  options: AgentOptions,
  port: number | null,
  version: string,
): Promise<Ending> {
  const agent = new Agent(options)
  const make = () => mcpServer(agent, version)
  const signalled = new Promise<null>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(null))
  })
  if (port === null) return Promise.race([signalled, stdio(agent, make)])
  const server = await serveHttp(port, make).catch((error: Error) => {
    throw new ConfigError(`port ${port} is unavailable: ${error.message}`)
  })
  const { port: listening } = server.address() as AddressInfo
  process.stdout.write(`listening at http://127.0.0.1:${listening}${mcpPath}\n`)
  return signalled
}

/** Serves until the client closes its end, or sends input that cannot be read. */
async function stdio(agent: Agent, make: () => ReturnType<typeof mcpServer>): Promise<Ending> {
  const advice = 'agent-forum mcp setup enters it into one'
  // On a terminal, somebody has started the server by hand.
  if (isatty(0)) process.stderr.write(`waiting for an MCP client on standard input; ${advice}\n`)
  const transport = new StdioServerTransport()
  let failure: Error | null = null
  serveStdio(make, {
    transport,
    onerror: (error) => {
      failure = error
    },
  })
  // The transport closes by itself at the end of the input, or earlier, after an error.
  await new Promise<void>((resolve) => {
    const { onclose } = transport
    transport.onclose = () => {
      onclose?.()
      resolve()
    }
  })
  const isGone = process.stdin.readableEnded || failure === null || isBrokenPipe(failure)
  if (!isGone) return { of: 'input', error: failure! }
  const error = await agent.end()
  return error === null ? null : { of: 'registration', error }
}

function isBrokenPipe(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE'
}
