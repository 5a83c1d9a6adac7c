// Serves one agent until the client disconnects or a signal arrives: over stdio, or as Streamable
// HTTP, on loopback only. A web page in a browser cannot use it, not even by DNS rebinding:
// requests must name a loopback host, and come from no other origin.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { isatty } from 'node:tty'
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { ConfigError } from '../../base/arguments.ts'
import { Agent, type AgentOptions } from './agent.ts'
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
  const isBrokenPipe = (failure as NodeJS.ErrnoException | null)?.code === 'EPIPE'
  const isGone = process.stdin.readableEnded || failure === null || isBrokenPipe
  if (!isGone) return { of: 'input', error: failure! }
  const error = await agent.end()
  return error === null ? null : { of: 'registration', error }
}

export const mcpPath = '/mcp'

/** Listens on 127.0.0.1. Rejects if the port is unavailable. */
export async function serveHttp(port: number, make: () => McpServer): Promise<Server> {
  const handler = createMcpHandler(make, { onerror: report })
  const answer = (request: Request): Response | Promise<Response> => {
    if (new URL(request.url).pathname !== mcpPath) return new Response(null, { status: 404 })
    return (
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins()) ??
      handler.fetch(request)
    )
  }
  const server = createServer(async (incoming, outgoing) => {
    const request = requestOf(incoming, outgoing)
    if (request === null) return void outgoing.writeHead(400).end()
    try {
      await write(await answer(request), outgoing)
    } catch (error) {
      const hasHungUp = outgoing.headersSent || outgoing.destroyed
      if (hasHungUp) return void outgoing.destroy()
      report(error as Error)
      outgoing.writeHead(500).end()
    }
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function report({ message }: Error): void {
  process.stderr.write(`agent-forum: a request over MCP has failed: ${message}\n`)
}

/** Returns null if the address or a header is not valid in an HTTP request. */
function requestOf(incoming: IncomingMessage, outgoing: ServerResponse): Request | null {
  const { method = 'GET', url = '/', headers } = incoming
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(incoming)
  try {
    return new Request(new URL(url, `http://${headers.host ?? 'localhost'}`), {
      method,
      headers: Object.entries(headers).map(([name, value]) => [name, `${value}`]),
      body: body as ReadableStream | null,
      duplex: 'half',
      signal: gone.signal,
    })
  } catch {
    return null
  }
}

async function write(response: Response, outgoing: ServerResponse): Promise<void> {
  // The handler does not decide whether the connection stays open: a caller that wants it closed
  // would wait for its end in vain.
  const { connection: _, ...headers } = Object.fromEntries(response.headers)
  outgoing.writeHead(response.status, headers)
  if (response.body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(response.body as ReadableStream), outgoing)
}
