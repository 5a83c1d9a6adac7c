// Exports what is public on a node that agent-forum export reaches through the interface.
//
//   threads, newest first ─▶ their messages ─┐
//   proposals ─▶ their reviews ──────────────┼─▶ spool, a temporary file ─▶ lines, sorted by kind
//   identities that these name ──────────────┘                              and seq
//
// U1. The lines show one instant: nothing after the position at which the export began is in them,
//     except removals, locks and claims, which are those of the end.
// U2. So the position of the archive is that at which it ended. An act of an operator has the
//     position of what it is about, or the next one that is free, since the interface does not show
//     its own.
// U3. A thread that expires meanwhile is in the archive as far as it was read, or not at all.

import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ForumError } from '../client/errors.ts'
import type { AgentForum } from '../client/forum.ts'
import type { ListedThread, Message, Proposal } from '../client/types.ts'
import { lineKinds } from '../forum/archive.ts'

/** The number of threads, proposals or identities that are read at the same time. */
const atOnce = 20

/** The lines of a kind, in the order in which they were added: their keys and their places. */
interface Lines {
  order: number[]
  offset: number[]
  length: number[]
}

/** Opens a temporary file without a name: nothing of it is left, however the process ends. */
function openUnnamed(): number {
  const directory = mkdtempSync(join(tmpdir(), 'agent-forum-export-'))
  try {
    return openSync(join(directory, 'lines'), 'wx+', 0o600)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Sorts more lines than fit into the memory: of each, only three numbers are held. */
class Spool {
  readonly #file = openUnnamed()
  readonly #kinds = new Map<string, Lines>()
  #bytes = 0

  /** Adds a line; those of a kind are sorted by `order`, which is a seq or a time. */
  add(kind: string, order: number, fields: object): void {
    const line = Buffer.from(JSON.stringify({ [kind]: fields }))
    writeSync(this.#file, line, 0, line.length, this.#bytes)
    const lines = this.#linesOf(kind)
    lines.order.push(order)
    lines.offset.push(this.#bytes)
    lines.length.push(line.length)
    this.#bytes += line.length
  }

  count(kind: string): number {
    return this.#linesOf(kind).order.length
  }

  *lines(kind: string): Iterable<string> {
    const { order, offset, length } = this.#linesOf(kind)
    const sorted = Float64Array.from(order.keys()).sort((a, b) => order[a] - order[b])
    for (const i of sorted) {
      const line = Buffer.alloc(length[i])
      readSync(this.#file, line, 0, line.length, offset[i])
      yield line.toString()
    }
  }

  #linesOf(kind: string): Lines {
    const lines = this.#kinds.get(kind) ?? { order: [], offset: [], length: [] }
    this.#kinds.set(kind, lines)
    return lines
  }

  close(): void {
    closeSync(this.#file)
  }
}

export class PublicContent {
  /** The position of the archive (U2). */
  position = 0
  readonly #forum: AgentForum
  readonly #spool = new Spool()
  /** The ids of all identities that lines name. */
  readonly #named = new Set<string>()
  readonly #acts: { seq: number; at: number; kind: string; id: string }[] = []
  /** Nothing with a greater seq is in the archive (U1). */
  #end = 0

  constructor(forum: AgentForum) {
    this.#forum = forum
  }

  /** Reads everything. `onProgress` receives positions. Rejects with ForumError. */
  async read(onProgress: (done: number, total: number) => void): Promise<void> {
    const forum = this.#forum
    this.#end = (await forum.status()).position
    await inGroups(forum.threads({ limit: atOnce }), async (thread) => {
      if (thread.visibility !== 'public') return
      const seq = await this.#readThread(thread)
      onProgress(this.#end - Math.min(seq, this.#end), this.#end)
    })
    await inGroups(forum.proposals(), (proposal) => this.#readProposal(proposal))
    await inGroups(this.#named, async (id) => {
      const { kind, display_name, created_at, expires_at } = await forum.identity(id)
      const identity = { id, kind, display_name, created_at, expires_at, listed: false }
      this.#spool.add('identity', created_at, identity)
    })
    this.position = (await forum.status()).position
    this.#addActs()
  }

  /** Yields the lines between the first and the last one of an archive. */
  *lines(): Iterable<string> {
    for (const kind of Object.keys(lineKinds)) yield* this.#spool.lines(kind)
  }

  count(kind: string): number {
    return this.#spool.count(kind)
  }

  close(): void {
    this.#spool.close()
  }

  /** Returns the seq of the thread's first message. */
  async #readThread(thread: ListedThread): Promise<number> {
    let first = 0
    let ttl_seconds: number | undefined
    try {
      if (thread.expires_at !== undefined) ttl_seconds = await this.#ttlOf(thread.id)
      for await (const message of this.#forum.messages(thread.id, { limit: 100 })) {
        if (message.seq > this.#end) break
        if (first === 0) first = message.seq
        this.#addMessage(thread.id, message)
      }
    } catch (error) {
      if (!(error instanceof ForumError && error.code === 'not_found')) throw error // U3
    }
    if (first === 0) return this.#end
    const shown: Record<string, unknown> = { ...thread, seq: first }
    if (ttl_seconds !== undefined) shown.ttl_seconds = ttl_seconds
    const names = threadFields.filter((name) => name in shown)
    const fields = Object.fromEntries(names.map((name) => [name, shown[name]]))
    this.#spool.add('thread', first, fields)
    if (thread.claim !== undefined) {
      this.#named.add(thread.claim.holder_id)
      this.#spool.add('claim', thread.claim.fence, { thread_id: thread.id, ...thread.claim })
    }
    const { id, created_at: at } = thread
    if (thread.locked) this.#acts.push({ seq: first, at, kind: 'locked', id })
    return first
  }

  /** Returns for how long a thread lives after its newest message; one answer has both times. */
  async #ttlOf(threadId: string): Promise<number> {
    const { thread, messages } = await this.#forum.messages(threadId, { before: 'end', limit: 1 })
    return (thread.expires_at! - messages[0].created_at) / 1000
  }

  #addMessage(threadId: string, message: Message): void {
    const { seq, id, author_id, created_at: at, mention_ids = [], removed } = message
    for (const named of [author_id, ...mention_ids]) this.#named.add(named)
    this.#spool.add('message', seq, { thread_id: threadId, ...message })
    if (removed) this.#acts.push({ seq, at, kind: 'removed', id })
  }

  async #readProposal(proposal: Proposal): Promise<void> {
    if (proposal.seq > this.#end) return
    this.#spool.add('proposal', proposal.seq, proposal)
    this.#named.add(proposal.author_id)
    if (proposal.candidate_id !== undefined) this.#named.add(proposal.candidate_id)
    for await (const review of this.#forum.proposal(proposal.id)) {
      if (review.seq > this.#end) break
      this.#spool.add('review', review.seq, review)
      this.#named.add(review.author_id)
    }
  }

  #addActs(): void {
    let position = 0
    for (const { seq, at, kind, id } of this.#acts.sort((a, b) => a.seq - b.seq)) {
      position = Math.max(position + 1, seq)
      this.#spool.add('act', position, { kind, id, position, at, reason: '' })
    }
  }
}

/** The fields of a thread's line, in their order. */
const threadFields = Object.keys(lineKinds.thread.fields.properties!)

/** Handles the items, several at a time. */
async function inGroups<T>(
  items: AsyncIterable<T> | Iterable<T>,
  handle: (item: T) => Promise<unknown>,
): Promise<void> {
  let group: Promise<unknown>[] = []
  try {
    for await (const item of items) {
      const handled = handle(item)
      handled.catch(() => {}) // it is awaited below, perhaps after the next page of items
      group.push(handled)
      if (group.length < atOnce) continue
      await Promise.all(group)
      group = []
    }
    await Promise.all(group)
  } catch (error) {
    await Promise.allSettled(group) // none writes any more
    throw error
  }
}
