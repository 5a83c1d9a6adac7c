// How a node proves who it is to the servers, and checks who they are.
//
// A1. A fault that only an operator can fix, in the settings or in the certificates, is recognized,
//     so that a start ends with a sentence instead of waiting (connect.ts, C1). A server that wants
//     another certificate of the client says so after the handshake, and the client reports only
//     that it got no answer. `refusalByServers` does a handshake of its own to hear it.

import { createConnection, isIP, type Socket } from 'node:net'
import { checkServerIdentity, connect, type PeerCertificate } from 'node:tls'
import {
  type Authenticator,
  AuthorizationError,
  type ConnectionOptions,
  credsAuthenticator,
  type TlsOptions,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node'

export interface EngineAccess {
  /** The URLs of the servers: `nats://host:port` or `tls://host:port`. */
  servers: readonly string[]
  /** The content of a credentials file: as nsc writes it, or `USER:PASSWORD`; or null. */
  credentials: string | null
  /** The PEM of the authority, of this node's certificate and of its key; each may be null. */
  tls: { ca: string | null; cert: string | null; key: string | null } | null
}

/** Returns the part of the client's options that concerns access. */
export function accessOptions(access: EngineAccess): ConnectionOptions {
  const { servers, credentials, tls } = access
  const authenticator = credentials === null ? {} : { authenticator: authenticatorOf(credentials) }
  // Without this option the client uses TLS where a server has it, but does not insist.
  if (tls === null && !servers.some((url) => url.startsWith('tls:'))) return authenticator
  // The client passes on to Node what its own types do not list.
  return { ...authenticator, tls: tlsOptions(access) as TlsOptions }
}

function tlsOptions({ servers, tls }: EngineAccess) {
  const files = Object.entries(tls ?? {}).filter(([, pem]) => pem !== null)
  return { ...Object.fromEntries(files), checkServerIdentity: identityCheck(servers) }
}

function authenticatorOf(credentials: string): Authenticator {
  const [, user, password] = /^([^:\s]+):(\S+)\s*$/.exec(credentials) ?? []
  if (user !== undefined) return usernamePasswordAuthenticator(user, password)
  return credsAuthenticator(new TextEncoder().encode(credentials))
}

/**
 * Returns a check of the servers' certificates. The client passes no name for a server that is
 * named by an IP address, so such a certificate has to name one of the addresses in the settings.
 */
function identityCheck(servers: readonly string[]) {
  const hosts = servers.map((url) => new URL(url).hostname.replace(/^\[|\]$/g, ''))
  const addresses = hosts.filter((host) => isIP(host) !== 0)
  return (name: string, certificate: PeerCertificate): Error | undefined => {
    const names = hosts.includes(name) ? [name, ...addresses] : addresses
    const errors = names.map((each) => checkServerIdentity(each, certificate))
    return errors.includes(undefined) ? undefined : errors[0]
  }
}

/** The codes of errors about a server's certificate, as OpenSSL and Node name them. */
const aboutServer = /^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_|INVALID_CA)/
/** The codes with which a server refuses the certificate of this node, or that it has none. */
const aboutClient = /ALERT_(?:CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE)/

/** Returns why the servers and this node will never talk to each other, or null if they may. */
export function refusalOf(error: unknown): string | null {
  if (error === null) return null
  const why = reasonOf(error)
  if (error instanceof AuthorizationError) {
    return `the servers refuse this node: ${why}; see --replicate-credentials`
  }
  const codes: string[] = []
  for (let each = error as NodeJS.ErrnoException; each instanceof Error; ) {
    codes.push(String(each.code))
    each = each.cause as NodeJS.ErrnoException
  }
  if (codes.some((code) => aboutServer.test(code))) {
    return `the certificate of a server is not accepted: ${why}; see --replicate-ca`
  }
  if (codes.some((code) => aboutClient.test(code))) {
    return `the servers refuse the certificate of this node: ${why}; see --replicate-cert`
  }
  return null
}

/** Returns the message of an error of the client, with that of its cause, on one line. */
export function reasonOf(error: unknown): string {
  const { message, cause, reason } = error as Error & { reason?: string }
  if (reason !== undefined) return reason // of OpenSSL, without the place in its source
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

const handshakeMs = 2_000
const defaultPort = 4222

/** Returns why one of the servers refuses the certificate of this node, or null if none says so. */
export async function refusalByServers(access: EngineAccess): Promise<string | null> {
  if (accessOptions(access).tls === undefined) return null
  for (const server of access.servers) {
    const refusal = refusalOf(await handshake(new URL(server), access))
    if (refusal !== null) return refusal
  }
  return null
}

/** Resolves to the error with which a handshake ends, or to null if it has none for a while. */
function handshake({ hostname, port }: URL, access: EngineAccess): Promise<Error | null> {
  const host = hostname.replace(/^\[|\]$/g, '')
  const plain = createConnection({ host, port: Number(port || defaultPort) })
  const sockets: Socket[] = [plain]
  const ended = new Promise<Error | null>((resolve) => {
    setTimeout(resolve, handshakeMs, null).unref()
    plain.once('error', resolve)
    plain.once('data', () => {
      // The server has sent its greeting, and waits for the handshake.
      const servername = isIP(host) === 0 ? host : ''
      const secure = connect({ ...tlsOptions(access), socket: plain, servername })
      secure.once('error', resolve)
      sockets.push(secure)
    })
  })
  return ended.finally(() => {
    for (const socket of sockets) socket.on('error', () => {}).destroy()
  })
}
