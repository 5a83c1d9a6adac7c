// Gives the index the messages that it requests, from the text of the forum. Text in memory is
// copied; the rest is read from disk as for a request (kernel/text/block-loads.ts).
//
// E1. Only durable messages are given, and none while a removal is not durable, because a crash
//     could take it back.
// E2. There is one small batch at a time, so nothing queues here, however far the index lags.
// E3. Text that is damaged beyond repair is left out.

import {
  BlockLoads,
  type Loaded,
  type TextSource,
  unreadDisk,
} from '../../kernel/text/block-loads.ts'
import type { Forum } from '../forum.ts'
import { firstBefore } from '../threads/queries.ts'
import type { Texts, Want } from './protocol.ts'

const batchBytesMax = 256 << 10
/** How often blocks of the text may be missing again, for example after a checkpoint in between. */
const roundsMax = 8
/**
 * Completes the entry of a thread, which ends before its number of messages
 * (forum/threads/table.ts).
 */
const threadEnd = Buffer.from('0}')

/** Messages for the index. If `bytes` is 0, the text cannot be read. */
export interface TextBatch {
  message: Omit<Texts, 'type' | 'isBusy'>
  texts: Uint8Array
}

export class Feeder {
  readonly #forum: Forum
  readonly #source: TextSource
  readonly #loads: BlockLoads

  constructor(forum: Forum) {
    const { state, textDisk: disk = unreadDisk } = forum
    const { text } = state
    this.#forum = forum
    this.#source = { blocks: text.blocks, placeOf: (block) => text.placeOf(block), disk }
    this.#loads = new BlockLoads(this.#source)
  }

  /** The number of durable messages. */
  get durable(): number {
    const { state, journal } = this.#forum
    return firstBefore(state, journal.durable + 1)
  }

  /** Returns the requested messages, or some; null if they cannot be read, or given, now. */
  async batch({ from, limit }: Want): Promise<TextBatch | null> {
    const { blocks } = this.#source
    let held: { block: number; slot: number }[] = []
    try {
      for (let round = 0; round < roundsMax; round++) {
        if (this.#mustWait) return null // a removal may have come while texts were read
        const batch = this.#collect(from, limit)
        const missing = blocks.takeMissing()
        if (missing.length === 0) return batch
        const slots = missing.map((block) => ({ block, slot: blocks.hold(block) }))
        held = [...held, ...slots]
        const outcome = await this.#load(slots)
        if (outcome === 'failed') return null
        if (outcome === 'loaded') continue
        if (limit === 1) return this.#withoutText(from)
        limit = 1 // to find out which message is damaged
      }
      return null
    } finally {
      for (const { slot } of held) blocks.release(slot)
    }
  }

  /** Whether nothing may be given now (E1). */
  get #mustWait(): boolean {
    const { state, journal } = this.#forum
    return state.erasedPosition > journal.durable
  }

  #load(slots: readonly { block: number; slot: number }[]): Promise<Loaded> {
    return new Promise((resolve) => this.#loads.load(slots, resolve))
  }

  #collect(from: number, limit: number): TextBatch {
    const { state } = this.#forum
    const { messages, threads } = state
    const end = Math.min(from + limit, this.durable)
    const [message, pieces] = [emptyAt(from), [] as { address: number; from: number; to: number }[]]
    let bytes = 0
    for (let number = from; number < end && bytes < batchBytesMax; number++) {
      const thread = messages.thread(number)
      message.lastId = messages.id(number)
      message.authors.push(messages.author(number))
      message.threads.push(thread)
      if (messages.isForgotten(number)) {
        for (const lengths of [message.bytes, message.threadBytes]) lengths.push(0)
        continue
      }
      const isFirst = threads.message(thread, 0) === number
      const entry = isFirst ? threads.entry(thread) : { address: 0, bytes: 0 }
      const ends = messages.bytes(number)
      pieces.push({ address: messages.address(number), from: 1, to: ends }) // without the comma
      if (isFirst) pieces.push({ address: entry.address, from: 0, to: entry.bytes })
      message.bytes.push(ends - 1)
      message.threadBytes.push(isFirst ? entry.bytes + threadEnd.length : 0)
      if (!threads.isPublic(thread)) message.members.push([number, membersOf(state, thread)])
      bytes += ends + entry.bytes
    }
    const sum = (lengths: number[]) => lengths.reduce((all, length) => all + length, 0)
    const texts = Buffer.allocUnsafeSlow(sum(message.bytes) + sum(message.threadBytes))
    let at = 0
    for (const piece of pieces) {
      state.text.copy(piece.address, piece.from, piece.to, texts, at)
      at += piece.to - piece.from
      if (piece.from === 0) at += threadEnd.copy(texts, at)
    }
    return { message, texts }
  }

  #withoutText(from: number): TextBatch {
    const { messages } = this.#forum.state
    const message = emptyAt(from)
    message.lastId = messages.id(from)
    for (const list of [message.bytes, message.threadBytes]) list.push(0)
    message.authors.push(messages.author(from))
    message.threads.push(messages.thread(from))
    return { message, texts: new Uint8Array() }
  }
}

function emptyAt(from: number): TextBatch['message'] {
  return {
    from,
    lastId: '',
    bytes: [],
    authors: [],
    threads: [],
    threadBytes: [],
    members: [],
  }
}

/** Returns the identities that take part in a private thread. */
function membersOf({ threads }: Forum['state'], thread: number): number[] {
  const author = threads.actors.columns.author.get(thread)
  return [...new Set([author, ...threads.participants(thread)])]
}
