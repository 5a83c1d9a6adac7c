// Renders the items of feeds. A message is polled by all who follow its thread, so its item is
// rendered for the first of them and copied for the others.
//
//   one ArrayBuffer   [ slot | slot | …                                  | scratch ]
//   slot, 256 bytes   ,{"seq":17,"message_id":"msg_…",…} unused  tag  -  length
//                     0                                          248     255
//
// I1. A slot holds the item of the message that its tag names; 0: none. An item never changes.
// I2. A message's slot follows from its number, so the newest messages never displace each other.
//     An older message takes the slot of a newer one when it is read, as by an agent catching up.
// I3. What `write` returns lies in the scratch space, and is valid until the next `write`.
// I4. A slot does not say whom the message mentions, or which tag a reader follows:
//     `"mentioned":true` and `"tag":"…"` are added to the copy.
//
// An answer is assembled in the scratch space, because copying within one ArrayBuffer costs a third
// of copying between two (kernel/text/page-slots.ts, B1). A page of five items takes 0.9 µs, and
// 5.4 µs when each item is composed from its parts.

import assert from 'node:assert/strict'
import { tagCharactersMax } from '../../base/text-limits.ts'
import type { State } from '../state.ts'

const slotCountDefault = 65_536
const slotBytes = 256
const tagAt = 248
const lengthAt = 255
const itemBytesMax = tagAt
/** Replaces the closing brace of an item that mentions the reader. */
const mentionedEnd = ',"mentioned":true}'
const tagEndBytesMax = ',"tag":""'.length + tagCharactersMax
/** Room for a page of 100 items and what surrounds them. */
const scratchBytes = 48 << 10

/**
 * Messages by number, those of them that mention the reader, in the same order, and the tag of
 * those that begin a thread with a tag that the reader follows.
 */
interface ShownItems {
  messages: readonly number[]
  mentions: readonly number[]
  tagged: ReadonlyMap<number, string>
}

export class FeedItems {
  readonly #state: State
  readonly #slotCount: number
  readonly #bytes: Buffer
  readonly #tags: Uint32Array

  constructor(state: State, slotCount = slotCountDefault) {
    this.#state = state
    this.#slotCount = slotCount
    const memory = new ArrayBuffer(slotCount * slotBytes + scratchBytes)
    this.#bytes = Buffer.from(memory)
    this.#tags = new Uint32Array(memory)
  }

  /** Returns `start`, the items of these messages with commas between them, and `end`, in ASCII. */
  write(start: string, { messages: shown, mentions, tagged }: ShownItems, end: string): Uint8Array {
    const frameBytes = start.length + end.length
    const itemsBytesMax = shown.length * itemBytesMax + mentions.length * mentionedEnd.length
    const tagsBytesMax = tagged.size === 0 ? 0 : shown.length * tagEndBytesMax
    assert(frameBytes + itemsBytesMax + tagsBytesMax <= scratchBytes, 'a page fits')
    const bytes = this.#bytes
    const scratchStart = this.#slotCount * slotBytes
    let to = scratchStart + bytes.write(start, scratchStart, 'latin1')
    for (let i = 0, mention = 0; i < shown.length; i++) {
      const slot = this.#slot(shown[i])
      const comma = i === 0 ? 1 : 0
      const length = bytes[slot + lengthAt]
      bytes.copyWithin(to, slot + comma, slot + length)
      to += length - comma
      if (shown[i] === mentions[mention]) {
        mention += 1
        to += bytes.write(mentionedEnd, to - 1, 'latin1') - 1
      }
      if (tagged.size === 0) continue
      const tag = tagged.get(shown[i])
      if (tag !== undefined) to += bytes.write(`,"tag":"${tag}"}`, to - 1, 'latin1') - 1
    }
    to += bytes.write(end, to, 'latin1')
    return bytes.subarray(scratchStart, to)
  }

  /** Returns where the slot with the message's item begins, and renders the item if necessary. */
  #slot(message: number): number {
    const slot = (message % this.#slotCount) * slotBytes
    const tag = (slot + tagAt) / this.#tags.BYTES_PER_ELEMENT
    if (this.#tags[tag] === message + 1) return slot
    const { messages, threads, identities } = this.#state
    const authorId = identities.id(messages.author(message))
    const item = `,${messages.feedItem(message, authorId, threads.id(messages.thread(message)))}`
    assert(item.length <= itemBytesMax, 'an item fits in its slot')
    this.#bytes[slot + lengthAt] = this.#bytes.write(item, slot, 'latin1')
    this.#tags[tag] = message + 1
    return slot
  }
}
