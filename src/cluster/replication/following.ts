// A node that follows: it reads the stream into its own log and state, answers reads at its durable
// position, and forwards requests that may write to the leader.
//
//   stream ─▶ StreamTail ─▶ OwnLog ─▶ own log ──durable──▶ Role ─▶ gate, waiting polls
//   writes ─▶ Forwarder ─▶ CallLink ─▶ leader
//
// F1. Every record that is shown is durable in this node's own log and is in the stream, so that no
//     takeover can take it back.
// F2. A note reports this node's progress to the leader, which trims the stream.

import type { Logger } from 'pino'
import type { Journal } from '../../../wal/journal/journal.ts'
import type { TrustProxy } from '../../edge/http/client-address.ts'
import type { Standing } from '../../edge/http/gate.ts'
import type { Load } from '../../edge/http/load.ts'
import type { Role } from '../../engine/role/role.ts'
import type { Forum } from '../../forum/forum.ts'
import { CallLink } from './call-link.ts'
import { Forwarder } from './forwarding.ts'
import type { LogStream } from './log-stream.ts'
import { type FollowerNote, followerKey } from './notes.ts'
import { OwnLog } from './own-log.ts'
import { StreamTail } from './stream-tail.ts'

const noteEveryMs = 5_000
/**
 * A follower that is further behind is not ready, and identifies nobody (edge/http/gate.ts, G4).
 */
const lagSecondsMax = 30

export interface FollowingParts {
  stream: LogStream
  node: string
  /** Its own log, to which nothing else appends. */
  journal: Journal
  role: Role
  forum: Forum
  load: Load
  trustProxy: TrustProxy | null
  log: Logger
  /** The sequence of the message that continues the log. */
  next: number
  /** Called once, when the node can follow no longer: the stream or its own log prevents it. */
  onFailed: (error: Error) => void
}

interface Lag {
  positions: number
  seconds: number
}

export class Following {
  readonly forwarder: Forwarder
  readonly #parts: FollowingParts
  readonly #ownLog: OwnLog
  readonly #link: CallLink
  #tail: StreamTail
  #noting: NodeJS.Timeout | null = null
  #term: number

  /** Makes the forum a follower; reads nothing before `start`. */
  constructor(parts: FollowingParts) {
    const { role, forum, journal, load, trustProxy, stream } = parts
    this.#parts = parts
    this.#term = forum.state.term.number
    this.#ownLog = new OwnLog(journal, role, forum.state)
    this.#tail = this.#tailFrom(parts.next)
    const link = new CallLink(stream.calls, forum.state)
    this.#link = link
    const { gate, service } = role
    this.forwarder = new Forwarder({ link, gate, journal: role, load, trustProxy, service })
    role.follow({
      journal,
      forward: this.forwarder,
      standing: this.#standing(),
      onShown: () => {
        this.#ownLog.moved()
        if (forum.state.term.number !== this.#term) this.#termBegan()
      },
    })
  }

  get lag(): Lag {
    return this.#tail.lag()
  }

  get warnings(): string[] {
    return this.#tail.warnings
  }

  start(): void {
    this.#tail.start()
    void this.#note()
    this.#noting = setInterval(() => void this.#note(), noteEveryMs).unref()
  }

  /** Pauses reading; resolves when the message that is being processed is in the log. */
  pause(): Promise<void> {
    return this.#tail.stop()
  }

  /** Resumes reading after `pause`. */
  resume(): void {
    this.#tail = this.#tailFrom(this.#tail.next)
    this.#tail.start()
  }

  /** Stops following: the forum keeps its state, and the log is available to others again. */
  async stop(): Promise<void> {
    if (this.#noting !== null) clearInterval(this.#noting)
    this.#link.termBegan() // gives up requests if this node has taken over
    const paused = this.pause()
    this.#ownLog.stop()
    await paused
  }

  /** Pages may always be shown; what the state lacks counts only while the follower keeps up. */
  #standing(): Standing {
    const isLagging = () => this.lag.seconds > lagSecondsMax
    const always = Number.POSITIVE_INFINITY
    return {
      get decidesUntilMs() {
        return isLagging() ? 0 : always
      },
      showsUntilMs: always,
    }
  }

  #termBegan(): void {
    const { forum, log } = this.#parts
    const { number: term, node } = forum.state.term
    this.#term = term
    this.#link.termBegan()
    log.info({ term, leader: node }, 'term_began')
  }

  #tailFrom(next: number): StreamTail {
    const { stream, forum, journal, log, onFailed } = this.#parts
    const { number: term, nonce } = forum.state.term
    return new StreamTail({
      stream,
      receiver: this.#ownLog,
      next,
      term: { term, nonce, store: journal.storeId },
      onFailed,
      onInterrupted: (error) => log.warn({ why: error.message }, 'stream_interrupted'),
    })
  }

  async #note(): Promise<void> {
    const { stream, node, forum, role } = this.#parts
    const seen = forum.stamps.clock.wall()
    const note: FollowerNote = { version: 1, position: role.durable, seen }
    // If a write fails, the next one makes up for it.
    await stream.notes.write(followerKey(node), note).catch(() => {})
  }
}
