// A slot of the index: the messages of one shard, and what there is of them.
//
//   empty ──▶ building ──full──▶ sealed ──a message is removed──▶ sealed, and building anew
//                │                                                    │          │
//                └──a message is removed──▶ frozen, and building anew ┘◀─replaced┘
//
// T1. What is searched is the older of the two while there are two: it has all messages that the
//     newer one still lacks. Removed messages in it are hidden.
// T2. `covered` says up to which message the slot is complete.

import type { Shard } from './shard.ts'

/** A shard that is being built. */
export interface Building {
  shard: Shard
  /** The number of the message that it takes next, and the id of the one before. */
  next: number
  lastId: string
  /** Removals up to this position are known to it. */
  erased: number
}

/** A shard that takes no more messages. */
export interface Finished {
  shard: Shard
  /** The number behind its last message. */
  end: number
  erased: number
  /** The file; null: it was frozen before it had one. */
  file: SealedFile | null
}

export interface SealedFile {
  name: string
  crc: number
  bytes: number
  /** Size, time of change and inode: another one of these is another content. */
  stamp: string
  /** Whether the content was compared with the CRC. */
  isChecked: boolean
}

export class Slot {
  readonly first: number
  /** The number behind the last message that belongs here. */
  readonly limit: number
  finished: Finished | null = null
  building: Building | null = null
  /** Removed messages that the finished shard has. */
  readonly hidden = new Set<number>()

  constructor(first: number, limit: number) {
    this.first = first
    this.limit = limit
  }

  /** What is searched. */
  get shard(): Shard | null {
    return this.finished?.shard ?? this.building?.shard ?? null
  }

  get covered(): number {
    return this.finished?.end ?? this.building?.next ?? this.first
  }

  /** The next message to index, where `count` are known; -1: there is nothing to do. */
  next(count: number): number {
    const end = this.end(count)
    const isDone = this.hidden.size === 0 && this.finished !== null && this.finished.end >= end
    const next = this.building?.next ?? this.first
    return isDone || next >= end ? -1 : next
  }

  /** The number behind the last message here, where `count` are known. */
  end(count: number): number {
    return Math.min(this.limit, count)
  }

  /**
   * A message was removed by the record at this position. Returns whether something here has to be
   * built again.
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

  /** What is being built begins anew; meanwhile it is searched, unless there is an older one. */
  #takeBack({ shard, next, erased }: Building): void {
    this.building = null
    if (this.finished === null) this.finished = { shard, end: next, erased, file: null }
    else shard.close()
  }

  /** The newer shard takes the place of the older one, whose file is returned. */
  replace(): SealedFile | null {
    const file = this.finished?.file ?? null
    this.finished?.shard.close()
    this.finished = null
    this.hidden.clear()
    return file
  }

  /** Closes and forgets everything; returns the file that is not to be used again. */
  clear(): SealedFile | null {
    this.building?.shard.close()
    this.building = null
    return this.replace()
  }
}
