// Serves MCP as Streamable HTTP, on loopback only. A web page in a browser cannot use it, not even
// by DNS rebinding: requests must name a loopback host, and come from no other origin.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server'

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
