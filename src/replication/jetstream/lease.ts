// The lease: a note that its holder writes again and again. Whoever reads it measures by a clock of
// its own how long it has not changed, so that no two machines compare clocks, and the servers need
// none. A process that did not look for a while, as when it was stopped, begins to measure again.
// It does not decide who leads (log-stream.ts, S4).

import type { Lease, LeaseHolder, Note, Notes } from '../log-stream.ts'

const key = 'lease'

export class JetStreamLease implements Lease {
  readonly #notes: Notes
  readonly #takeoverMs: number
  /** The revision that was seen last, and when it was seen first. */
  #revision = 0
  #changedMs = 0
  #lookedMs = 0

  constructor(notes: Notes, takeoverMs: number) {
    this.#notes = notes
    this.#takeoverMs = takeoverMs
  }

  async hold(holder: LeaseHolder): Promise<boolean> {
    const note = await this.#look()
    const current = this.#holderOf(note)
    if (current !== null && current.node !== holder.node) return false
    const revision = await this.#notes.write(key, { ...holder }, note?.revision ?? 0)
    if (revision === null) return false
    this.#see(revision)
    return true
  }

  async read(): Promise<LeaseHolder | null> {
    return this.#holderOf(await this.#look())
  }

  async release(node: string): Promise<void> {
    const note = await this.#look()
    if (note !== null && (note.value as LeaseHolder).node === node) await this.#notes.remove(key)
  }

  async #look(): Promise<Note | null> {
    const note = await this.#notes.read(key)
    const nowMs = performance.now()
    const hasPaused = nowMs - this.#lookedMs > this.#takeoverMs / 2
    this.#lookedMs = nowMs
    if (note !== null && (hasPaused || note.revision !== this.#revision)) this.#see(note.revision)
    return note
  }

  #holderOf(note: Note | null): LeaseHolder | null {
    if (note === null || performance.now() - this.#changedMs > this.#takeoverMs) return null
    return note.value as LeaseHolder
  }

  #see(revision: number): void {
    this.#revision = revision
    this.#changedMs = performance.now()
  }
}
