// A slot of the index: the messages of one shard, and the shards that exist of them.
//
//   empty ──▶ building ──full──▶ sealed ──a message is removed──▶ sealed, and building anew
//                │                                                    │          │
//                └──a message is removed──▶ frozen, and building anew ┘◀─replaced┘
//
// T1. While there are two shards, the older one is searched, because it has all messages that the
//     newer one still lacks. Removed messages in it are hidden.
// T2. The slot is complete for all messages before `covered`.

import type { Shard } from './shard.ts'

/** A shard that is being built. */
export interface Building {
  shard: Shard
  /** The number of the next message to add, and the id of the one before. */
  next: number
  lastId: string
  /** It holds no text that was removed at or before this position. */
  erased: number
}

/** A shard that takes no more messages. */
export interface Finished {
  shard: Shard
  /** The number after its last message. */
  end: number
  erased: number
  /** The file; null: the shard was frozen before it had one. */
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

export class Slot {
  readonly first: number
  /** The number after the last message that belongs here. */
  readonly limit: number
  finished: Finished | null = null
  building: Building | null = null
  /** Removed messages that are still in the finished shard. */
  readonly hidden = new Set<number>()

  constructor(first: number, limit: number) {
    this.first = first
    this.limit = limit
  }

  /** The shard that is searched. */
  get shard(): Shard | null {
    return this.finished?.shard ?? this.building?.shard ?? null
  }

  get covered(): number {
    return this.finished?.end ?? this.building?.next ?? this.first
  }

  /** Returns the next message to index, of `count` messages in all, or -1 if there is none. */
  next(count: number): number {
    const end = this.end(count)
    const isDone = this.hidden.size === 0 && this.finished !== null && this.finished.end >= end
    const next = this.building?.next ?? this.first
    return isDone || next >= end ? -1 : next
  }

  /** Returns the number after the last message here, of `count` messages in all. */
  end(count: number): number {
    return Math.min(this.limit, count)
  }

  /**
   * Applies the removal of a message by the record at this position. Returns whether something here
   * has to be built again.
   */
  remove(message: number, position: number): boolean {
    const { building, finished } = this
    const isIn = (end: number, erased: number) => message < end && erased < position
    const isBuilt = building !== null && isIn(building.next, building.erased)
    const isFinished = finished !== null && isIn(finished.end, finished.erased)
    if (isBuilt) this.#takeBack(building)
    if (isFinished || (isBuilt && finished === null)) this.hidden.add(message)
    return isFinished || isBuilt
  }

  /** Starts the build anew. Meanwhile the shard is searched, unless there is an older one. */
  #takeBack({ shard, next, erased }: Building): void {
    this.building = null
    if (this.finished === null) this.finished = { shard, end: next, erased, file: null }
    else shard.close()
  }

  /** Drops the older shard, which the newer one replaces. Returns the older one's file. */
  replace(): SealedFile | null {
    const file = this.finished?.file ?? null
    this.finished?.shard.close()
    this.finished = null
    this.hidden.clear()
    return file
  }

  /** Closes and forgets everything. Returns the file that must not be used again. */
  clear(): SealedFile | null {
    this.building?.shard.close()
    this.building = null
    return this.replace()
  }
}
