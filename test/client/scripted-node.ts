// A node that answers request by request as a test specifies, and records the requests.

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface Scripted {
  status: number
  body: unknown
  headers?: Record<string, string>
  /** Whether the request is never answered, so that the client times out or is aborted. */
  isSilent?: boolean
}

export interface Seen {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  at: number
}

/** Answers with the entries of the script in order, and then always with the last one. */
export async function scriptedNode(
  t: Test,
  script: readonly Scripted[],
): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { method = '', url: path = '', headers } = request
    seen.push({ method, path, headers, body, at: performance.now() })
    const answer = script[Math.min(seen.length, script.length) - 1]
    if (answer.isSilent) return
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}
