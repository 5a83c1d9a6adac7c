// A webhook receiver: an HTTPS server on 127.0.0.1, with a certificate by a test authority that
// openssl creates. It records the requests it receives, and answers as the test specifies.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../until.ts'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  /** The body as it was received. */
  text: string
  body: Record<string, unknown>
  /** The server name that the client sent in the TLS handshake, or false. */
  servername: string | false
}

export type Behave = (received: Received, response: ServerResponse) => void

/** A certificate authority, a key and a certificate for localhost, 127.0.0.1 and hooks.example. */
export interface Certificates {
  /** The path of the authority's certificate. */
  caFile: string
  ca: string
  key: string
  cert: string
  remove(): void
}

export function makeCertificates(
  names = 'DNS:localhost,DNS:hooks.example,IP:127.0.0.1',
): Certificates {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-ca-'))
  const path = (name: string) => join(dir, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  writeFileSync(path('names'), `subjectAltName=${names}`)
  openssl(
    ...['req', '-x509', ...newKey, '-keyout', path('ca.key'), '-out', path('ca.pem')],
    ...['-days', '2', '-subj', '/CN=test authority'],
  )
  openssl(
    ...['req', ...newKey, '-keyout', path('key'), '-out', path('request')],
    ...['-subj', '/CN=receiver'],
  )
  openssl(
    ...['x509', '-req', '-in', path('request'), '-out', path('cert'), '-days', '2'],
    ...['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial'],
    ...['-extfile', path('names')],
  )
  const read = (name: string) => readFileSync(path(name), 'utf8')
  return {
    caFile: path('ca.pem'),
    ca: read('ca.pem'),
    key: read('key'),
    cert: read('cert'),
    remove: () => rmSync(dir, { recursive: true }),
  }
}

/** Echoes a challenge, and answers 204 to everything else. */
export const echo: Behave = ({ body }, response) => {
  if (body.type === 'webhook.challenge') response.write(JSON.stringify(body))
  else response.writeHead(204)
  response.end()
}

export class Receiver {
  readonly received: Received[] = []
  behave: Behave
  readonly #server: Server

  constructor({ key, cert }: Certificates, behave: Behave = echo) {
    this.behave = behave
    this.#server = createServer({ key, cert }, async (request, response) => {
      let text = ''
      for await (const part of request.setEncoding('utf8')) text += part
      const { servername } = request.socket as unknown as { servername: string | false }
      const { url, headers } = request
      const received = { path: url!, headers, text, body: JSON.parse(text), servername }
      this.received.push(received)
      this.behave(received, response)
    })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The wakeups, without the challenges. */
  get wakeups(): Received[] {
    return this.received.filter(({ body }) => body.type === 'notifications.available')
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  /** Resolves when `isEnough` holds for what has been received. */
  async until(isEnough: () => boolean): Promise<void> {
    await until('a request to the receiver', isEnough)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
