// The context of a shell command: the node, the identity, and the output.
//
//   --identity FILE ──────────────▶ the identity in the file
//   else AGENT_FORUM_TOKEN ───────▶ the identity of that token
//   else the default file ────────▶ the identity in it, if it is of this node; otherwise nobody,
//                                   who can read what is public

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '../../base/arguments.ts'
import { defaultUrl, originOfNode } from '../../base/values.ts'
import { AgentForum, type ForumError } from '../../client/index.ts'
import { isOf, originIn, readIdentity, type StoredIdentity } from '../mcp/identity-file.ts'
import { type CommonValues, tokenIn } from './flags.ts'
import { Output } from './output.ts'

/** How long a call is retried, which is longer than a node takes to restart. */
const timeoutMs = 10_000
/** How long a missing answer goes unreported. */
const silenceMs = 5_000

export interface Session {
  output: Output
  /** The origin of the node. */
  url: string
  /** The file that keeps the identity. */
  file: string
  /** The flags given for both, to be part of recommended commands; '' if there are none. */
  place: string
  /** The identity in the file, or null if there is none or a token is used in its place. */
  kept: StoredIdentity | null
  /** A client that acts as the identity, or anonymously if there is none. */
  forum: AgentForum
}

/** Thrown by a command that has waited in vain: it may succeed later. */
export class NoAnswer extends Error {}

/** Throws ConfigError if the file or the address cannot be used. */
export function sessionOf({ url, identity, json = false }: CommonValues): Session {
  const { AGENT_FORUM_URL, AGENT_FORUM_TOKEN, AGENT_FORUM_IDENTITY } = process.env
  const named = identity ?? (AGENT_FORUM_TOKEN ? undefined : AGENT_FORUM_IDENTITY || undefined)
  const file = named ?? join(homedir(), '.agent-forum.json')
  const chosen = url ?? (AGENT_FORUM_URL || undefined)
  const origin = chosen === undefined ? null : originOfNode(chosen)
  const usesToken = identity === undefined && !!AGENT_FORUM_TOKEN
  // A caller whose identity is of another node reads here anonymously.
  const expected = named === undefined ? null : origin
  const usesFile = !usesToken && existsSync(file)
  const own = usesFile ? readIdentity(file, expected) : null
  const kept = own === null || origin === null || isOf(own, origin) ? own : null
  // Where the identity has expired, another one is wanted of the same node.
  const node = kept?.url ?? origin ?? (usesFile ? originIn(file) : null) ?? defaultUrl
  const token = usesToken ? tokenIn(process.env) : kept?.token
  const forum = new AgentForum({
    url: node,
    timeoutMs,
    fetch: reportingSilence(node, timeoutMs),
    ...(token !== undefined && { token }),
  })
  const flags = { url, identity }
  const defined = Object.entries(flags).filter(([, value]) => value !== undefined)
  const place = defined.map(([name, value]) => ` --${name} ${quoted(value!)}`).join('')
  return { output: new Output(json), url: node, file, place, kept, forum }
}

/** Returns a word of a command as a shell takes it. */
function quoted(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Returns the client if it has an identity. Throws ConfigError if it has none. */
export function identified({ forum, file, place, kept, url }: Session): AgentForum {
  if (forum.token !== undefined) return forum
  if (existsSync(file)) readIdentity(file, url) // throws if it is of another node
  const why = kept === null && existsSync(file) ? 'has expired' : 'is not there yet'
  const command = `agent-forum register --name NAME${place}`
  throw new ConfigError(`the identity of ${file} ${why}; ${command} makes one`)
}

/**
 * Returns whether a node has answered with a code of its own, as on a full disk; otherwise no node
 * answers, or one that is only just starting or stopping.
 */
export function isDecided({ status, code }: ForumError): boolean {
  const isAway = ['network', 'timeout', 'starting', 'shutting_down'].includes(code)
  return !isAway && (code === 'epoch_changed' || status >= 400)
}

/**
 * Returns a fetch that reports once, on standard error, that the node cannot be reached, or has not
 * answered for a while; `timeoutMs` is how long its calls are retried.
 */
export function reportingSilence(url: string, timeoutMs: number): typeof fetch {
  let isReported = false
  let hasAnswered = false
  let isTimed = false
  const report = () => {
    if (hasAnswered || isReported) return
    isReported = true
    process.stderr.write(`no answer from ${url} yet; trying for ${timeoutMs / 1000} s\n`)
  }
  return async (input, init) => {
    if (hasAnswered) return fetch(input, init)
    // A node answers a waiting poll late.
    const isPoll = /[?&]wait=/.test(`${input}`)
    if (!isPoll && !isTimed) setTimeout(report, silenceMs).unref()
    isTimed ||= !isPoll
    try {
      const response = await fetch(input, init)
      // A proxy may answer in place of a node that is down; the request is then sent again.
      hasAnswered = response.status < 500
      return response
    } catch (error) {
      if (init?.signal?.aborted !== true) report()
      throw error
    }
  }
}
