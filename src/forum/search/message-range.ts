// The range of messages that one shard holds, and the shards that exist of it.
//
//   empty ──▶ searched, grows ──full, without removed messages──▶ searched, sealed
//                   │                                                    │
//                   └───a message is removed───▶ searched, and renewed ◀─┘
//                                                          └──as far as the searched──▶ replaces
//
// T1. The searched shard takes new messages first, even while a renewed one is built, so that a
//     wave of removals does not delay them. Removed messages in it are hidden.
// T2. A renewed shard is built to its end, whatever is removed meanwhile. What is removed from it
//     is hidden when it is searched, and is gone with the next one. So removals gather.
// T3. All messages of the range before `covered` are found.

import type { Shard } from './shard.ts'

export interface Built {
  shard: Shard
  /** The number of the next message to add, and the id of the one before. */
  next: number
  lastId: string
  /** It holds no text that was removed at or before this position. */
  erased: number
  /** Messages in it that were removed later. */
  hidden: Set<number>
  /** The file; it takes no more messages. Null: it is not sealed. */
  file: SealedFile | null
}

export interface SealedFile {
  name: string
  crc: number
  bytes: number
  /** Size, modification time and inode. If one of them differs, the content may differ. */
  stamp: string
  /** Whether the content has been compared with the CRC. */
  isChecked: boolean
}

export class MessageRange {
  readonly first: number
  /** The number after the last message that belongs here. */
  readonly limit: number
  searched: Built | null = null
  /** The shard that will replace it. */
  renewed: Built | null = null

  constructor(first: number, limit: number) {
    this.first = first
    this.limit = limit
  }

  get covered(): number {
    return this.searched?.next ?? this.first
  }

  /** Whether some text that was removed is still here. */
  get isDirty(): boolean {
    return this.searched !== null && this.searched.hidden.size > 0
  }

  /** Returns the next message to index, of `count` messages in all, or -1 if there is none. */
  next(count: number): number {
    const isSealed = this.searched !== null && this.searched.file !== null
    if (!isSealed && this.covered < this.end(count)) return this.covered
    if (this.renewed !== null) return this.renewed.next
    return this.isDirty ? this.first : -1
  }

  /** Returns the number after the last message here, of `count` messages in all. */
  end(count: number): number {
    return Math.min(this.limit, count)
  }

  /** Applies the removal of a message by the record at this position. */
  remove(message: number, position: number): void {
    for (const built of [this.searched, this.renewed]) {
      if (built !== null && message < built.next && built.erased < position) {
        built.hidden.add(message)
      }
    }
  }

  /** Makes searches use this shard, or none. Returns the file of the previous one. */
  replace(newer: Built | null): SealedFile | null {
    const file = this.searched?.file ?? null
    this.searched?.shard.close()
    if (this.renewed !== newer) this.renewed?.shard.close()
    this.searched = newer
    this.renewed = null
    return file
  }
}
