// The socket `admin.sock` in the data directory, through which operators moderate a running node
// and control access, and the operations behind it. protocol.ts describes the protocol.
//
// S1. The mode of the socket is 0600 from the moment it exists, because it is bound under a umask.
//     A socket left by an earlier process is removed first, but no other file of its name; the lock
//     of the directory makes this safe.
// S2. The socket exists from the moment when the directory is locked until the node stops. While
//     the node starts, it answers only `GET /status`. If it cannot be created, for example on a
//     file system without sockets, the node serves without it and logs a warning.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { messageOf } from '../../../wal/errors.ts'
import { parseJson } from '../../base/json.ts'
import { listenOnSocket, removeSocket } from '../../base/sockets.ts'
import type { Listener } from '../../edge/http/exchange.ts'
import type { Gate } from '../../edge/http/gate.ts'
import type { CheckpointSchedule, Erasure } from '../../engine/storage/checkpoints.ts'
import type { Forum } from '../../forum/forum.ts'
import { listInvitations } from '../../forum/invitations/commands.ts'
import { findMessage } from '../../forum/threads/queries.ts'
import { ownWork } from '../../kernel/sliced-work.ts'
import { invitationJson } from './access.ts'
import {
  type Administered,
  type Answer,
  actsPage,
  administer,
  isCommand,
  moderate,
  refusal,
  runCommand,
  textOf,
  unusable,
  whenDurable,
} from './commands.ts'
import {
  type ActsPage,
  type ErrorJson,
  type InvitesJson,
  type SignInJson,
  socketPath,
  withSocketPath,
} from './protocol.ts'

const bodyBytesMax = 16 * 1024

/** Adds what only the socket gives out. */
interface OverSocket extends Administered {
  /** Returns an address at which a browser can sign in, or null without an operators' port. */
  signInUrl(): string | null
}

export interface AdminSocket {
  /** Has it run commands, once the node has started. */
  open(node: OverSocket): void
  stop(): void
}

/**
 * Serves the status of the node (operators/ops/node-status.ts), and its commands once they are
 * open.
 */
export function serveAdmin(dir: string, status: () => object, log: Logger): AdminSocket {
  let node: OverSocket | null = null
  const server = createServer((request, response) => {
    answer(node, status, request).then(
      ([status, body]) => send(response, status, body),
      (error) => {
        if (request.destroyed && !request.complete) return // its caller has gone
        // A bug: the node continues, and the operator sees the error.
        log.error({ why: messageOf(error) }, 'admin_request_failed')
        send(response, 500, { error: 'failed', message: messageOf(error) })
      },
    )
  })
  const onError = (error: unknown) => {
    log.warn({ socket: socketPath(dir), why: messageOf(error) }, 'admin_socket_missing')
  }
  server.on('error', onError)
  try {
    withSocketPath(dir, (path) => listenOnSocket(server, path))
  } catch (error) {
    onError(error)
  }
  const open = (opened: OverSocket) => {
    node = opened
  }
  const stop = () => {
    if (!server.listening) return
    server.close()
    server.closeIdleConnections()
    try {
      removeSocket(socketPath(dir))
    } catch (error) {
      log.warn({ why: messageOf(error) }, 'admin_socket_left')
    }
  }
  return { open, stop }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' })
  response.end(`${JSON.stringify(body)}\n`)
}

type Read = ActsPage | Erasure | InvitesJson

async function answer(
  node: OverSocket | null,
  status: () => object,
  request: IncomingMessage,
): Promise<Answer | [status: number, body: Read | SignInJson | object]> {
  const base = 'http://admin.invalid'
  if (!URL.canParse(request.url!, base)) return unusable('The path is not valid.')
  const { pathname, searchParams } = new URL(request.url!, base)
  const name = pathname.slice(1)
  if (request.method === 'GET' && name === 'status') return [200, status()]
  if (node === null) return [503, { error: 'starting' }]
  if (request.method === 'GET' && (name === 'acts' || name === 'erasure')) {
    const parameter = name === 'acts' ? 'after' : 'position'
    const position = Number(searchParams.get(parameter) ?? 0)
    if (!Number.isSafeInteger(position)) return unusable(`${parameter} must be a position.`)
    if (name === 'erasure') return [200, node.erasure(position)]
    return shown(node, actsPage(node.state, position))
  }
  if (request.method === 'GET' && name === 'invites') {
    return shown(node, { invites: node.invitations().map(invitationJson) })
  }
  if (request.method === 'POST' && name === 'sign-in') {
    const url = node.signInUrl()
    return url === null ? unusable(noPort) : [200, { url }]
  }
  if (request.method !== 'POST' || !isCommand(name)) {
    const message = `There is no ${request.method} /${name}.`
    return [404, { error: 'invalid_request', message }]
  }
  const body = await bodyOf(request, bodyBytesMax)
  if (body === null) return [413, { error: 'too_large', message: 'The body is too long.' }]
  const sent = parseJson(body)
  if (sent === undefined) return unusable('The body is not JSON.')
  return runCommand(node, name, (sent ?? {}) as Record<string, unknown>)
}

/** Resolves with what was read from the state, once that is durable. */
async function shown<T>(node: OverSocket, read: T): Promise<[number, T | ErrorJson]> {
  const rejection = await node.whenDurable()
  return rejection === null ? [200, read] : refusal(rejection)
}

const noPort = 'the node has no port for operators; start it with --ops-port 8788'

/** Resolves with the body as text, or with null if it is longer than `bytesMax`. */
export async function bodyOf(request: IncomingMessage, bytesMax: number): Promise<string | null> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request) {
    bytes += piece.length
    if (bytes > bytesMax) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

interface Pages {
  open(node: Administered, publicUrl: string | null): void
  close(): void
  signInUrl(): string
}

interface AdminOptions {
  socket: AdminSocket | null
  checkpoints: CheckpointSchedule
  /** Tells whether every reader has applied the record at this position. */
  readers: { haveApplied(position: number): boolean } | null
  /** Tells whether the text removed at this position has left the index; null without an index. */
  search: { isGone(position: number): boolean } | null
  /** The pages of the operators' port, or null if there is no such port. */
  pages: Pages | null
  listener: Pick<Listener, 'overwriteBuffers'>
  /** The origin of the pages for people, or null if it is unknown. */
  publicUrl: string | null
}

export type Admin = Omit<Administered, 'state' | 'refusedCallers'> & { stop(): void }

/** Makes the socket run commands, and opens the pages of the operators' port. */
export function startAdmin(forum: Forum, gate: Gate, options: AdminOptions): Admin {
  const { socket, checkpoints, readers, search, pages, publicUrl } = options
  const erasure = (position: number) => {
    const erased = checkpoints.erasure(position)
    const haveApplied = readers?.haveApplied(position) ?? true
    const isGone = search?.isGone(position) ?? true
    return { ...erased, is_gone: erased.is_gone && haveApplied && isGone }
  }
  const administered: Administered = {
    state: forum.state,
    refusedCallers: forum.refusedCallers,
    invitations: () => listInvitations(forum),
    administer: (run) => administer(forum, gate, run),
    moderate: async (command, about) => {
      const outcome = await moderate(forum, gate, command, about)
      if (command === 'remove-message') await options.listener.overwriteBuffers?.()
      return outcome
    },
    erasure,
    findMessage: (id) => findMessage(forum, ownWork, id),
    textOf: (message) => textOf(forum, message),
    whenDurable: () => whenDurable(forum, gate, forum.state.position),
  }
  pages?.open(administered, publicUrl)
  socket?.open({ ...administered, signInUrl: () => pages?.signInUrl() ?? null })
  return { ...administered, stop: () => pages?.close() }
}
