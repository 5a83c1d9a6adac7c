// Requests that wait for text on disk, and a disk that completes reads when the test says so.

import type { BlockRead, ReadResult, TextDisk } from '../../src/kernel/text/block-loads.ts'
import { blockBytes, coldPageBytesMax, TextBlocks } from '../../src/kernel/text/blocks.ts'
import { type ColdRead, ColdReads } from '../../src/kernel/text/cold-reads.ts'

const good: ReadResult = { kind: 'good', why: '' }

/** A disk read that has not completed. */
interface Asked {
  reads: readonly BlockRead[]
  done: (results: readonly ReadResult[]) => void
}

/** A disk whose blocks are filled with their own numbers. */
class Disk implements TextDisk {
  readonly asked: Asked[] = []
  readonly mended: number[] = []
  isMendable = true
  readonly blocks: TextBlocks

  constructor(blocks: TextBlocks) {
    this.blocks = blocks
  }

  read(reads: readonly BlockRead[], done: Asked['done']): void {
    this.asked.push({ reads, done })
  }

  async mend({ block }: BlockRead): Promise<Uint8Array | null> {
    this.mended.push(block)
    return this.isMendable ? new Uint8Array(blockBytes).fill(block) : null
  }

  close(): void {}

  /** Completes the oldest read. */
  finish(result: ReadResult = good): boolean {
    const first = this.asked.shift()
    if (first === undefined) return false
    if (result.kind === 'good') {
      for (const { slot, block } of first.reads) this.blocks.bytesOf(slot).fill(block)
    }
    first.done(first.reads.map(() => result))
    return true
  }
}

export class Scene {
  readonly blocks: TextBlocks
  readonly disk: Disk
  readonly reads: ColdReads
  /** The file of each block. The default is file 1. */
  readonly files = new Map<number, number>()
  /** The outcome of each request, in order. */
  readonly ended: string[] = []
  readonly gone = new Set<string>()
  isInMemory = false
  roundsMax = 0

  constructor({ cached = 0, parkedMax = 8, bytesMax = coldPageBytesMax } = {}) {
    this.blocks = new TextBlocks(cached * blockBytes)
    this.disk = new Disk(this.blocks)
    const placeOf = (block: number) => {
      if (this.isInMemory) return null
      const file = this.files.get(block) ?? 1
      return { file, offset: block * blockBytes, bytes: blockBytes, crc: 0 }
    }
    const limits = { parkedMax, bytesMax }
    this.reads = new ColdReads({ blocks: this.blocks, placeOf, disk: this.disk }, limits)
  }

  /** Sends a request that shows these blocks. It is run again until it has seen all of them. */
  request(name: string, caller: number, wanted: readonly number[], bodyBytes = 0): void {
    const { gone } = this
    const connection = {
      get isGone() {
        return gone.has(name)
      },
    }
    const run = () => {
      const shown = wanted.map((block) => this.isInMemory || this.blocks.get(block)?.[5])
      if (!this.reads.isNeeded) {
        const isRight = shown.every((byte, i) => byte === true || byte === (wanted[i] & 0xff))
        this.ended.push(isRight ? name : `${name} shows ${shown}`)
        return
      }
      this.reads.park({ caller, connection, bodyBytes }, (outcome) => {
        if ('rejected' in outcome) this.ended.push(`${name}: ${outcome.rejected}`)
        else {
          this.roundsMax = Math.max(this.roundsMax, outcome.round)
          this.reads.runAgain(outcome as ColdRead, run)
        }
      })
    }
    run()
  }

  /** Completes all reads, and the reads that follow from them. */
  async finishAll(result = good): Promise<void> {
    while (this.disk.finish(result)) await undefined
    await new Promise((resolve) => setImmediate(resolve))
    if (this.disk.asked.length > 0) await this.finishAll(result)
  }

  get isAtRest(): boolean {
    return this.reads.length === 0 && this.reads.bytes === 0
  }
}
